// Rows of evidence that lay in clear while no process held the keys: whoever had the disk can have made all of it, signatures
// too. What is read here is bounded, and kept for people who hold a fingerprint or a copy; the server goes by none of it.

import { bytesCodec } from "@holdfast/shared/codec";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { ViewReads } from "../barrier/view.ts";
import type { Letter } from "../carried/letter.ts";
import { envelopeOf, openEnvelope, sha256 } from "../signed/envelope.ts";
import { readKeyList } from "../signed/key-list.ts";
import { EVIDENCE_TYPE, readReport } from "../signed/report.ts";
import { unprovenJson } from "../signed/unproven-json.ts";
import { earlierKey, type EarlierReport, type KeyRecord, type Ring } from "./evidence-rows.ts";

const MAX_KEYS = 128;
const MAX_RING_BYTES = 128 << 10;
const REPORT = /^(?:earlier|reports)\/([0-9]{12})$/;

/** The keys that lead to that of the letter, which is the last; null where it does not follow them, or they are too many to be
 *  kept: of a row there may be half, so that others can follow. */
export function unprovenRing(bytes: Uint8Array, letter: Letter, maxRowBytes: number): Ring | null {
  const max = Math.min(MAX_RING_BYTES, maxRowBytes / 2);
  if (bytes.length > max) return null;
  const found = unprovenJson(bytes);
  const before = isObject(found) ? found["keys"] : undefined;
  if (!Array.isArray(before) || before.length >= MAX_KEYS) return null;
  const { fingerprint, publicKey, envelope: statement } = letter;
  const named = [...before.map(namedIn), { fingerprint, publicKey, statement }];
  const { keys: known } = readKeyList({ keys: named.map(listed) }); // none where one is wrong
  const last = Array.from(known.values()).at(-1);
  if (last?.fingerprint !== fingerprint) return null;
  const keys = named.flatMap((one) => {
    const key = one === null ? undefined : known.get(one.fingerprint);
    if (one === null || key?.root !== last.root) return [];
    return [{ ...one, made: key.made.made_at, unproven: true as const }];
  });
  const ring = { keys, since: "0" };
  return Buffer.byteLength(JSON.stringify(ring)) <= max ? ring : null;
}

type Named = Pick<KeyRecord, "fingerprint" | "publicKey" | "statement">;

function namedIn(record: JsonValue): Named | null {
  if (!isObject(record)) return null;
  const { fingerprint, publicKey } = record;
  const opened = openEnvelope(record["statement"]);
  if (typeof fingerprint !== "string" || typeof publicKey !== "string") return null;
  if (opened === null) return null;
  const statement = envelopeOf(opened.payloadType, opened.payload, opened.signatures);
  return { fingerprint, publicKey, statement };
}

/** As people are shown them. */
function listed(named: Named | null): JsonValue {
  if (named === null) return null;
  const { fingerprint, publicKey, statement } = named;
  return { fingerprint, public_key: publicKey, statement: statement as unknown as JsonValue };
}

/** By the key of its row; null for what is none of this number. */
export function unprovenReport(key: string, bytes: Uint8Array): EarlierReport | null {
  const number = Number(REPORT.exec(key)?.[1] ?? "0");
  const found = unprovenJson(bytes);
  const opened = isObject(found) ? openEnvelope(found["envelope"]) : null;
  const report = opened?.payloadType === EVIDENCE_TYPE ? readReport(opened.payload) : null;
  if (opened === null || report === null) return null;
  if (report.number !== number || !isUuid(report.id)) return null;
  if (!isShallow(report as unknown as JsonValue)) return null; // it could not be shown
  const envelope = envelopeOf(opened.payloadType, opened.payload, opened.signatures);
  const { id, kind, made_at: made } = report;
  return { id, number, kind, made, digest: sha256(opened.payload), envelope };
}

/** Those that are signed here have half as many levels. */
function isShallow(value: JsonValue, levels = 32): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isShallow(one as JsonValue, levels - 1));
}

export function readEarlier(view: ViewReads, number: number): EarlierReport | null {
  const key = earlierKey(number);
  const bytes = view.get(key, bytesCodec);
  return bytes === null ? null : unprovenReport(key, bytes);
}
