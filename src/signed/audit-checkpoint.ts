// A checkpoint in an audit file: a line of type "checkpoint" whose envelope says which bytes of the file were written
// as which records. The chain of the file needs a key of the server; this needs none.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { type Envelope, type OpenEnvelope, openEnvelope, sha256 } from "./envelope.ts";
import { quote } from "@holdfast/shared/json/json-text";
import { AUDIT_CHECKPOINT } from "./kinds.ts";
import { isOrdinal, readReport, type Report } from "./report.ts";

/** The bytes from the end of the record before `first` to the end of the line of record `last`. */
export interface CheckpointRegion {
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
  readonly digest: string;
}

export interface Checkpoint extends CheckpointRegion {
  readonly device: string;
  readonly number: number;
  /** Of its payload. */
  readonly own: string;
  readonly previous: string | null;
  /** What the server found wrong with the chain when it went on after a crash; null for nothing. */
  readonly problem: string | null;
  readonly envelope: OpenEnvelope;
}

const LINE = '"type":"checkpoint"';
export const CHECKPOINT_MARK: Uint8Array = Buffer.from(LINE);

export function checkpointLine(time: string, device: string, envelope: Envelope): string {
  return `{"time":"${time}",${LINE},"device":${quote(device)},"envelope":${JSON.stringify(envelope)}}`;
}

/** What a checkpoint line says, or null for a line of another type. It proves nothing before its signature does. */
export function readCheckpointLine(line: string): Checkpoint | null {
  const value = checkpointIn(line);
  if (value === null) return null;
  const envelope = openEnvelope(value["envelope"]);
  if (envelope === null) return null;
  const report = readReport(envelope.payload);
  if (report === null || report.kind !== AUDIT_CHECKPOINT.kind) return null;
  return checkpointOf(report, envelope);
}

/** Whether a line calls itself one, whatever is in it. */
export function isCalledCheckpoint(line: string): boolean {
  return checkpointIn(line) !== null;
}

function checkpointIn(line: string): JsonObject | null {
  const start = line.indexOf("{"); // behind the prefix that the device may have
  if (start < 0 || !line.includes(LINE)) return null;
  const value = parsed(line.slice(start));
  return isObject(value) && value["type"] === "checkpoint" ? value : null;
}

function checkpointOf(report: Report, envelope: OpenEnvelope): Checkpoint | null {
  const { first, last, bytes, problem = null } = report.result;
  const { device } = report.subject;
  const digest = report.inputs[0]?.digest;
  if (!isOrdinal(first) || !isOrdinal(last) || !isOrdinal(bytes) || last < first) return null;
  if (typeof device !== "string" || digest === undefined) return null;
  const { number, previous } = report;
  return {
    first,
    last,
    bytes,
    digest,
    device,
    number,
    previous,
    envelope,
    own: sha256(envelope.payload),
    problem: typeof problem === "string" ? problem : null,
  };
}

/** The members of the report that are about the region. */
export function regionReport(
  device: string,
  deviceId: string,
  region: CheckpointRegion,
  problem: string | null,
): {
  readonly subject: JsonObject;
  readonly result: JsonObject & { readonly state: string };
  readonly inputs: readonly { readonly name: string; readonly digest: string }[];
  readonly statement: string;
} {
  const { first, last, bytes, digest } = region;
  const state = problem === null ? "intact" : "broken";
  return {
    subject: { device, device_id: deviceId },
    result: { state, first, last, bytes, ...(problem === null ? {} : { problem }) },
    inputs: [{ name: "bytes of the file", digest }],
    statement:
      `Records ${first} to ${last} of the audit device ${device} are ${bytes} bytes of its file with this digest` +
      (problem === null ? "." : `; when the server went on after a stop it found: ${problem}.`),
  };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
