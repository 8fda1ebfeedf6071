// Rows of evidence that lay in clear while no process held the keys: whoever had the disk can have made all of it, signatures
// too. What is read here is bounded, and kept for people who hold a fingerprint or a copy; the server goes by none of it.

import { bytesCodec } from "@holdfast/shared/codec";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { ViewReads } from "../barrier/view.ts";
import type { Letter } from "../carried/letter.ts";
import { type Envelope, envelopeOf, openEnvelope, sha256 } from "../signed/envelope.ts";
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
  const { fingerprint, publicKey, envelope } = letter;
  const own = { fingerprint, public_key: publicKey, statement: envelope };
  const list = [...before.map(listed), own] as unknown as readonly JsonValue[];
  const { keys: known } = readKeyList({ keys: list }); // none where one is wrong
  const root = known.get(fingerprint)?.root;
  const keys: KeyRecord[] = [];
  for (const one of list) {
    const key = isObject(one) ? known.get(String(one["fingerprint"])) : undefined;
    const statement = isObject(one) ? envelopeIn(one["statement"]) : null;
    if (key === undefined || statement === null) return null;
    const pem = key.publicKey.export({ format: "pem", type: "spki" }).toString();
    const record = { fingerprint: key.fingerprint, publicKey: pem, made: key.made.made_at };
    if (key.root === root) keys.push({ ...record, statement, unproven: true });
  }
  const isLast = Array.from(known.keys()).at(-1) === fingerprint;
  const ring = { keys, since: "0" };
  return isLast && JSON.stringify(ring).length <= max ? ring : null;
}

/** By the key of its row; null for what is none of this number. */
export function unprovenReport(key: string, bytes: Uint8Array): EarlierReport | null {
  const number = Number(REPORT.exec(key)?.[1] ?? "0");
  const found = unprovenJson(bytes);
  const opened = isObject(found) ? openEnvelope(found["envelope"]) : null;
  const report = opened?.payloadType === EVIDENCE_TYPE ? readReport(opened.payload) : null;
  if (opened === null || report === null) return null;
  if (report.number !== number || !isUuid(report.id)) return null;
  const envelope = envelopeOf(opened.payloadType, opened.payload, opened.signatures);
  const { id, kind, made_at: made } = report;
  return { id, number, kind, made, digest: sha256(opened.payload), envelope };
}

export function readEarlier(view: ViewReads, number: number): EarlierReport | null {
  const key = earlierKey(number);
  const bytes = view.get(key, bytesCodec);
  return bytes === null ? null : unprovenReport(key, bytes);
}

function listed(record: JsonValue): JsonValue {
  if (!isObject(record)) return null;
  const { fingerprint = "", publicKey = "", statement = null } = record;
  return { fingerprint, public_key: publicKey, statement };
}

function envelopeIn(value: JsonValue | undefined): Envelope | null {
  const opened = openEnvelope(value);
  if (opened === null) return null;
  return envelopeOf(opened.payloadType, opened.payload, opened.signatures);
}
