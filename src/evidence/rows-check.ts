// Whether rows of evidence that lay in clear are such as this room would have written, and lead to the letter that came with
// them. Whoever had the disk while no process held the keys can have made all of it, signatures too: who holds the
// fingerprint finds that. Here it is made sure that nothing of it breaks what is written from here on.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Letter } from "../carried/letter.ts";
import { type Envelope, envelopeOf, openEnvelope, sha256 } from "../signed/envelope.ts";
import { readKeyList } from "../signed/key-list.ts";
import { readReport } from "../signed/report.ts";
import { isLegalKey } from "../storage/key.ts";
import * as rows from "./evidence-rows.ts";
import { ReceiptRowsCheck } from "./receipt-rows-check.ts";
import { unprovenJson } from "../signed/unproven-json.ts";

const MAX_NUMBER = 999_999_999_999; // 12 digits
const BLOCK_BYTES = 32_000;
const NUMBER = "([0-9]{12})";
const RECEIPTS = "receipts/";

type FormCheck = (found: RegExpExecArray, value: Uint8Array) => boolean;

export class EvidenceRowsCheck {
  readonly #letter: Letter;
  readonly #receipts = new ReceiptRowsCheck();
  readonly #forms: readonly (readonly [RegExp, FormCheck])[] = [
    [/^dropped\/[0-9]{12}$/, (_, value) => isBlock(value)],
    [/^ids\/([^/]+)$/, ([, id = ""], value) => isUuid(id) && isNumber(unprovenJson(value))],
    [new RegExp(`^lists/[^/]+/${NUMBER}$`), (_, value) => isListed(unprovenJson(value))],
    [new RegExp(`^reports/${NUMBER}$`), ([, number], value) => this.#isNext(Number(number), value)],
  ];
  #ring: Uint8Array | null = null;
  #head: rows.EvidenceHead | null;
  #isFormed = true;
  /** Of the reports so far. */
  #next: number | null = null;
  #digest: string | null = null;
  #bytes = 0;

  constructor(letter: Letter) {
    this.#letter = letter;
    const { number } = letter.report;
    this.#head = number === 1 ? { number: 0, digest: "", first: 1, bytes: 0 } : null;
  }

  /** In the order of their keys. False for a row that is not copied as it is. */
  add(key: string, value: Uint8Array): boolean {
    const position = rows.positionOf(key);
    if (position === "ring") this.#ring = value;
    if (position === "head") this.#head = this.#readHead(value);
    if (position !== null) return false;
    const isSecret = key.startsWith(rows.SECRETS); // none was carried
    this.#isFormed &&= !isSecret && this.#isForm(key, value);
    return !isSecret;
  }

  /** That the letter goes on from; null where there is none. */
  get head(): rows.EvidenceHead | null {
    return this.#head;
  }

  /** Once all were added. */
  get isGood(): boolean {
    const head = this.#head;
    if (!this.#isFormed || head === null || this.ring(true) === null) return false;
    if (!this.#receipts.isGood) return false;
    if (head.bytes !== this.#bytes || (this.#next ?? head.first) !== head.number + 1) return false;
    return this.#digest === null || this.#digest === head.digest;
  }

  /** The keys before that of the letter: all of them, or those that lead to it. Null where it does not follow them. */
  ring(isWhole: boolean): rows.Ring | null {
    const records = this.#ring === null ? null : recordsOf(this.#ring);
    if (records === null) return null;
    const { fingerprint, publicKey, envelope, report } = this.#letter;
    const own = { fingerprint, publicKey, made: report.made_at, statement: envelope };
    const list = [...records, own].map((one) => ({
      fingerprint: one.fingerprint,
      public_key: one.publicKey,
      statement: one.statement,
    }));
    const { keys: known } = readKeyList({ keys: list } as unknown as JsonValue); // none where one is wrong
    const inOrder = Array.from(known.keys());
    if (list.some((one, i) => one.fingerprint !== inOrder[i])) return null;
    const root = known.get(fingerprint)?.root;
    const kept = isWhole
      ? records
      : records.filter((one) => known.get(one.fingerprint)?.root === root);
    const keys = kept.map((one) => ({
      ...one,
      made: known.get(one.fingerprint)?.made.made_at ?? "",
    }));
    return { keys, since: rows.NO_KEYS.since };
  }

  #readHead(value: Uint8Array): rows.EvidenceHead | null {
    const found = unprovenJson(value);
    if (!isObject(found)) return null;
    const { number, digest, first, bytes } = found;
    const { number: next, previous } = this.#letter.report;
    if (number !== next - 1 || digest !== (previous ?? "")) return null;
    if (!isCount(first) || first < 1 || first > number + 1 || !isCount(bytes)) return null;
    return { number, digest, first, bytes };
  }

  #isForm(key: string, value: Uint8Array): boolean {
    if (key.startsWith(RECEIPTS)) return this.#receipts.add(key.slice(RECEIPTS.length), value);
    return this.#forms.some(([form, is]) => {
      const found = form.exec(key);
      return found !== null && is(found, value);
    });
  }

  /** Reports come without a gap, each naming the one before it. The head stands before all of them. */
  #isNext(number: number, value: Uint8Array): boolean {
    const found = unprovenJson(value);
    if (!isObject(found) || this.#head === null) return false;
    const { id, kind, namespace, made, digest, at } = found;
    const envelope = openEnvelope(found["envelope"]);
    const report = envelope === null ? null : readReport(envelope.payload);
    if (envelope === null || report === null || !isObject(namespace)) return false;
    const isSame =
      report.number === number &&
      report.id === id &&
      isUuid(report.id) &&
      report.kind === kind &&
      report.made_at === made &&
      report.namespace.id === namespace["id"] &&
      report.namespace.path === namespace["path"] &&
      sha256(envelope.payload) === digest;
    const follows =
      number === (this.#next ?? this.#head.first) &&
      (this.#digest === null || this.#digest === report.previous);
    if (!isSame || !follows || typeof at !== "string" || !/^[0-9]{1,20}$/.test(at)) return false;
    if (!isName(report.namespace.id)) return false;
    this.#next = number + 1;
    this.#digest = digest;
    this.#bytes += (found["envelope"] as JsonObject & { payload: string }).payload.length;
    return true;
  }
}

/** As they are written; null for what is none. */
function recordsOf(value: Uint8Array): readonly rows.KeyRecord[] | null {
  const found = unprovenJson(value);
  const keys = isObject(found) ? found["keys"] : undefined;
  if (!Array.isArray(keys)) return null;
  const read = keys.flatMap((one: JsonValue): rows.KeyRecord[] => {
    if (!isObject(one)) return [];
    const { fingerprint, publicKey, made } = one;
    const statement = envelopeIn(one["statement"]);
    if (typeof fingerprint !== "string" || typeof publicKey !== "string") return [];
    if (typeof made !== "string" || statement === null) return [];
    return [{ fingerprint, publicKey, made, statement }];
  });
  return read.length === keys.length ? read : null;
}

function envelopeIn(value: JsonValue | undefined): Envelope | null {
  const opened = openEnvelope(value);
  if (opened === null) return null;
  return envelopeOf(opened.payloadType, opened.payload, opened.signatures);
}

function isListed(value: JsonValue | undefined): boolean {
  if (!isObject(value)) return false;
  return ["id", "kind", "made", "digest"].every((name) => typeof value[name] === "string");
}

function isBlock({ length }: Uint8Array): boolean {
  return length <= BLOCK_BYTES && length % 32 === 0;
}

function isNumber(value: JsonValue | undefined): boolean {
  return isCount(value) && value >= 1 && value <= MAX_NUMBER;
}

/** One part of a key. */
function isName(name: string): boolean {
  return !name.includes("/") && isLegalKey(`core/${name}`);
}

function isCount(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
