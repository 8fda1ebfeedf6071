// A report as it is signed: what every one says, whatever its kind. The one form of drills, rotations of keys,
// checkpoints of audit and receipts. docs/formats/evidence.md describes the members.

import { utf8 } from "@holdfast/shared/bytes";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { canonicalJson } from "./canonical-json.ts";
import { unprovenJson } from "./unproven-json.ts";

export const EVIDENCE_TYPE = "application/vnd.holdfast.evidence.v1+json";

/** Something that the report was made from, by its SHA-256. */
export interface ReportInput {
  readonly name: string;
  readonly digest: string;
}

/** How far a device had come: the number of its last record, and the MAC in that record's line. */
export interface AuditAnchor {
  readonly device: string;
  readonly number: number;
  readonly digest: string;
}

export interface Report {
  readonly kind: string;
  readonly id: string;
  readonly number: number;
  /** SHA-256 of the payload before it; null for the first. */
  readonly previous: string | null;
  readonly cluster: { readonly id: string; readonly name: string };
  readonly namespace: { readonly id: string; readonly path: string };
  readonly made_at: string;
  readonly period: { readonly from: string; readonly to: string } | null;
  readonly subject: JsonObject;
  readonly result: JsonObject;
  readonly inputs: readonly ReportInput[];
  readonly audit: readonly AuditAnchor[];
  /** Where the write log stood; null before there is one. */
  readonly log: { readonly index: number; readonly chain: string } | null;
  readonly software: { readonly name: string; readonly version: string };
  readonly statement: string;
  readonly not_proven: readonly string[];
}

export function reportBytes(report: Report): Buffer {
  return utf8(canonicalJson(report as unknown as JsonValue));
}

const DIGEST = /^[0-9a-f]{64}$/;

/** What a payload says, or null for what is no report. Nothing that was signed is taken on trust here. */
export function readReport(payload: Uint8Array): Report | null {
  const value = unprovenJson(payload);
  if (!isObject(value)) return null;
  const { number, previous, cluster, namespace, period, inputs, audit, log, software } = value;
  const texts = [value["kind"], value["id"], value["made_at"], value["statement"]];
  const whole =
    texts.every((one) => typeof one === "string" && one !== "") &&
    isOrdinal(number) &&
    (previous === null ? number === 1 : isDigest(previous)) &&
    hasTexts(cluster, ["id", "name"]) &&
    hasTexts(namespace, ["id", "path"]) &&
    (period === null || hasTexts(period, ["from", "to"])) &&
    isObject(value["subject"]) &&
    isObject(value["result"]) &&
    isListOf(inputs, (one) => hasTexts(one, ["name"]) && isDigest(one["digest"])) &&
    isListOf(
      audit,
      (one) => hasTexts(one, ["device", "digest"]) && Number.isSafeInteger(one["number"]),
    ) &&
    (log === null || (hasTexts(log, ["chain"]) && Number.isSafeInteger(log["index"]))) &&
    hasTexts(software, ["name", "version"]) &&
    saysWhatItDoesNotProve(value["not_proven"]);
  return whole ? (value as unknown as Report) : null;
}

function saysWhatItDoesNotProve(value: JsonValue | undefined): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((one: JsonValue) => typeof one === "string" && one.trim() !== "");
}

/** Numbers of reports and lines begin with 1, and have at most 12 digits: whatever counts on from one stays exact. */
export function isOrdinal(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < 1e12;
}

function isDigest(value: JsonValue | undefined): value is string {
  return typeof value === "string" && DIGEST.test(value);
}

function hasTexts(value: JsonValue | undefined, names: readonly string[]): value is JsonObject {
  return isObject(value) && names.every((name) => typeof value[name] === "string");
}

function isListOf(value: JsonValue | undefined, is: (one: JsonObject) => boolean): boolean {
  return Array.isArray(value) && value.every((one: JsonValue) => isObject(one) && is(one));
}
