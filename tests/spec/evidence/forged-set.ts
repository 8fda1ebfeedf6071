// A set of rows as a server carries it to other keys, made and signed by somebody who has the disk and none of its keys.

import { createHash, randomBytes } from "node:crypto";
import { newSigningKey, signedBy, type SigningKey } from "../../../src/evidence/signing-key.ts";
import { envelopeOf, sha256 } from "../../../src/signed/envelope.ts";
import { EVIDENCE_TYPE, type Report, reportBytes } from "../../../src/signed/report.ts";

export interface Forged {
  /** Of the letter. Default 7. */
  readonly number?: number;
  readonly headNumber?: number;
  readonly headDigest?: string;
  /** Of the report before the letter, as both say. */
  readonly previous?: string;
  readonly head?: object;
  readonly left?: number;
  readonly ringKeys?: number;
  readonly madeAt?: string;
  readonly namespace?: string;
  /** Bytes that the statement of each key has for nothing, and that of the letter. */
  readonly padding?: number;
  readonly letterPadding?: number;
  /** Rows beside ring and head. */
  readonly more?: readonly (readonly [string, string | Buffer])[];
}

const random = { bytes: (length: number) => randomBytes(length) };
const PREVIOUS = "cd".repeat(32);
export const TEMPLATE: Report = {
  kind: "evidence.key",
  id: "11111111-2222-4333-8444-555555555555",
  number: 1,
  previous: null,
  cluster: { id: "x", name: "x" },
  namespace: { id: "root", path: "" },
  made_at: "2026-01-01T00:00:00Z",
  period: null,
  subject: {},
  result: {},
  inputs: [],
  audit: [],
  log: null,
  software: { name: "holdfast", version: "1.2.3" },
  statement: "Forged.",
  not_proven: ["anything"],
};

export class ForgedSet {
  readonly #forged: Forged;
  readonly #keys: readonly SigningKey[];
  readonly ring: { readonly keys: readonly object[]; readonly since: string };

  constructor(forged: Forged = {}) {
    this.#forged = forged;
    const { ringKeys = 1 } = forged;
    this.#keys = Array.from({ length: ringKeys }, () => newSigningKey(random).key);
    const records = this.#keys.map((key, i) => ({
      fingerprint: key.fingerprint,
      publicKey: key.publicKey,
      made: TEMPLATE.made_at,
      statement: this.#key(key, i + 1, "broken", [key], padded(forged.padding)),
    }));
    this.ring = { keys: records, since: "0" };
  }

  /** As the last key of the ring. */
  sign(payload: Uint8Array) {
    const signature = signedBy(this.#keys.at(-1)!, EVIDENCE_TYPE, payload);
    return envelopeOf(EVIDENCE_TYPE, payload, [signature]);
  }

  /** Below the place of what is carried. */
  get rows(): readonly (readonly [string, Buffer])[] {
    const { number = 7, headNumber = number - 1, previous = PREVIOUS, more = [] } = this.#forged;
    const { head = {}, headDigest = previous } = this.#forged;
    const first = { number: headNumber, digest: headDigest, first: headNumber + 1, bytes: 0 };
    const own = [
      ...more,
      ["head", JSON.stringify({ ...first, ...head })] as const,
      ["ring", JSON.stringify(this.ring)] as const,
    ].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const hash = createHash("sha256");
    for (const [key, value] of own) {
      hash
        .update(`${Buffer.byteLength(key)} ${Buffer.byteLength(value)} `)
        .update(key)
        .update(value);
    }
    const next = newSigningKey(random).key;
    const last = this.#keys.at(-1)!;
    const { left = 0 } = this.#forged;
    const letter = this.#key(next, number, "exchanged", [last, next], {
      previous,
      result: { state: "exchanged", previous_key: last.fingerprint, waiting: 0, left },
      inputs: [{ name: "evidence", digest: hash.digest("hex") }],
      made_at: this.#forged.madeAt ?? TEMPLATE.made_at,
      namespace: { id: this.#forged.namespace ?? "root", path: "" },
      ...padded(this.#forged.letterPadding),
    });
    return [
      ...own.map(([key, value]) => [`rows/${key}`, Buffer.from(value)] as const),
      ["letter", Buffer.from(JSON.stringify(letter))],
    ];
  }

  #key(
    { fingerprint, publicKey }: SigningKey,
    number: number,
    state: string,
    signers: readonly SigningKey[],
    more: Partial<Report> = {},
  ) {
    const payload = reportBytes({
      ...TEMPLATE,
      number,
      previous: number === 1 ? null : PREVIOUS,
      subject: { fingerprint, public_key: publicKey },
      result: { state, previous_key: null },
      ...more,
    });
    const signatures = signers.map((signer) => signedBy(signer, EVIDENCE_TYPE, payload));
    return envelopeOf(EVIDENCE_TYPE, payload, signatures);
  }
}

function padded(bytes = 0): Partial<Report> {
  return bytes === 0 ? {} : { statement: "x".repeat(bytes) };
}

/** A report as it is stored, signed by nobody. */
export function forgedReport(
  number: number,
  previous: string | null = PREVIOUS,
  namespaceId = "root",
) {
  const report = { ...TEMPLATE, number, previous, namespace: { id: namespaceId, path: "" } };
  const payload = reportBytes(report);
  const { id, kind, namespace, made_at: made } = report;
  const digest = sha256(payload);
  const envelope = envelopeOf(EVIDENCE_TYPE, payload, []);
  const row = { id, kind, namespace, made, digest, at: "1", envelope };
  return {
    key: `reports/${String(number).padStart(12, "0")}`,
    row,
    digest,
    bytes: envelope.payload.length,
  };
}
