// The public keys of evidence, as the server gives them to anybody, and what links them: each key but the first is
// named in a report that the key before it and the key itself have signed. So who trusts one of them can follow the
// links to all others, until one is missing: a key that nobody vouched for begins anew, and says so.

import type { KeyObject } from "node:crypto";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import {
  fingerprintOf,
  isSignedBy,
  type OpenEnvelope,
  openEnvelope,
  readPublicKey,
} from "./envelope.ts";
import { KEY_MADE } from "./kinds.ts";
import { EVIDENCE_TYPE, readReport, type Report } from "./report.ts";

export interface KnownKey {
  readonly fingerprint: string;
  readonly publicKey: KeyObject;
  /** The report that named it. */
  readonly made: Report;
  /** Fingerprint of the first key that leads to it by links. */
  readonly root: string;
  /** Number of the report that named the key after it; null for the last. */
  readonly until: number | null;
}

export interface KeyList {
  readonly keys: ReadonlyMap<string, KnownKey>;
  /** Of a list that is not what a server gives. */
  readonly problem: string | null;
}

interface Named {
  readonly fingerprint: string;
  readonly publicKey: KeyObject;
  readonly envelope: OpenEnvelope;
  readonly made: Report;
}

const MAX_KEYS = 1000;

/** Of what `sys/evidence/keys` answers. */
export function readKeyList(value: JsonValue | undefined): KeyList {
  const list = isObject(value) ? value["keys"] : undefined;
  if (!Array.isArray(list) || list.length === 0) return refused("it holds no keys");
  if (list.length > MAX_KEYS) return refused(`it holds more than ${MAX_KEYS} keys`);
  const named: Named[] = [];
  for (const [i, one] of list.entries()) {
    const key = readNamed(one);
    if (typeof key === "string") return refused(`key ${i + 1}: ${key}`);
    if (named.some(({ fingerprint }) => fingerprint === key.fingerprint)) {
      return refused(`key ${i + 1} stands there twice`);
    }
    named.push(key);
  }
  named.sort((a, b) => a.made.number - b.made.number);
  return linked(named);
}

function linked(named: readonly Named[]): KeyList {
  const keys = new Map<string, KnownKey>();
  for (const [i, { fingerprint, publicKey, envelope, made }] of named.entries()) {
    const previous = made.result["previous_key"];
    const before = typeof previous === "string" ? keys.get(previous) : undefined;
    if (typeof previous === "string" && before === undefined) {
      return refused(`the key before ${fingerprint} is missing`);
    }
    if (before !== undefined && !isSignedBy(envelope, before)) {
      return refused(`the key before ${fingerprint} has not signed for it`);
    }
    const until = named[i + 1]?.made.number ?? null;
    const root = before?.root ?? fingerprint;
    keys.set(fingerprint, { fingerprint, publicKey, made, root, until });
  }
  return { keys, problem: null };
}

function readNamed(value: JsonValue): Named | string {
  if (!isObject(value) || typeof value["public_key"] !== "string") return "it has no public_key";
  const publicKey = readPublicKey(value["public_key"]);
  if (publicKey === null) return "its public_key is no Ed25519 key in PEM";
  const fingerprint = fingerprintOf(publicKey);
  if (value["fingerprint"] !== fingerprint) return "its fingerprint is that of another key";
  const envelope = openEnvelope(value["statement"]);
  if (envelope === null || envelope.payloadType !== EVIDENCE_TYPE) return "it has no statement";
  if (!isSignedBy(envelope, { fingerprint, publicKey })) return "its statement is not its own";
  const made = readReport(envelope.payload);
  if (made === null || made.kind !== KEY_MADE.kind) return "its statement is of another kind";
  if (made.subject["fingerprint"] !== fingerprint) return "its statement names another key";
  return { fingerprint, publicKey, envelope, made };
}

function refused(problem: string): KeyList {
  return { keys: new Map(), problem };
}
