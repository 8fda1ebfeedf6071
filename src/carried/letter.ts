// The letter that goes along to data of other keys: the report that ends evidence here, in clear and signed. It says what
// the rows beside it are, and how many there were of those that nobody can open. Whoever has the disk can put another one
// there, so it is read in bounds: what it says can be wrong, and never more than the server can take.

import { utf8 } from "@holdfast/shared/bytes";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Failure } from "@holdfast/shared/failure";
import type { JsonValue } from "@holdfast/shared/json/json";
import { parseTime } from "@holdfast/shared/text/time";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Instant } from "@holdfast/shared/world";
import {
  type Envelope,
  envelopeOf,
  fingerprintOf,
  isSignedBy,
  openEnvelope,
  readPublicKey,
  sha256,
} from "../signed/envelope.ts";
import { KEY_MADE } from "../signed/kinds.ts";
import { EVIDENCE_TYPE, readReport, type Report } from "../signed/report.ts";
import { unprovenJson } from "../signed/unproven-json.ts";

/** Of the input that is the digest of the rows. */
export const ROWS_INPUT = "evidence";
const MAX_BYTES = 1 << 20;
/** Numbers have 12 digits where they are stored: so many can follow whatever a letter says. */
const MAX_NUMBER = 99_999_999_999;
const MAX_COUNT = 999_999_999;

export interface Letter {
  readonly envelope: Envelope;
  readonly report: Report;
  /** Of the report as it was signed. */
  readonly digest: string;
  /** Of the rows in clear. */
  readonly rows: string;
  readonly at: Instant;
  /** The key that goes on. */
  readonly fingerprint: string;
  readonly publicKey: string;
  /** What exists outside: sealed rows that went along, and what nobody could end. */
  readonly waiting: number;
  readonly left: number;
}

export function letterBytes(envelope: Envelope): Buffer {
  return utf8(JSON.stringify(envelope));
}

/** Null for what is none. That it is signed by its own key is certain then, and no more. */
export function readLetter(bytes: Uint8Array): Letter | null {
  const opened = bytes.length > MAX_BYTES ? null : openEnvelope(unprovenJson(bytes));
  const report = opened?.payloadType === EVIDENCE_TYPE ? readReport(opened.payload) : null;
  if (opened === null || report === null) return null;
  const { fingerprint, public_key: publicKey } = report.subject;
  const { state, waiting, left } = report.result;
  const at = timeOf(report.made_at);
  const [input, ...more] = report.inputs;
  if (report.kind !== KEY_MADE.kind || state !== "exchanged" || !isUuid(report.id)) return null;
  if (report.number > MAX_NUMBER || !isRoot(report) || at === null) return null;
  if (!isCount(waiting) || !isCount(left)) return null;
  if (input?.name !== ROWS_INPUT || more.length > 0) return null;
  const key = typeof publicKey === "string" ? readPublicKey(publicKey) : null;
  if (key === null || typeof publicKey !== "string" || typeof fingerprint !== "string") return null;
  if (fingerprint !== fingerprintOf(key)) return null;
  if (!isSignedBy(opened, { fingerprint, publicKey: key })) return null;
  return {
    envelope: envelopeOf(EVIDENCE_TYPE, opened.payload, opened.signatures),
    report,
    digest: sha256(opened.payload),
    rows: input.digest,
    at,
    fingerprint,
    publicKey,
    waiting,
    left,
  };
}

function timeOf(made: string): Instant | null {
  try {
    return parseTime(made);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

function isRoot({ namespace }: Report): boolean {
  return namespace.id === ROOT_NAMESPACE.id && namespace.path === ROOT_NAMESPACE.path;
}

function isCount(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_COUNT;
}
