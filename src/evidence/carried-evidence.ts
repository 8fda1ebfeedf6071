// Evidence on its way to data of other keys: its rows, the report that ends it, and how it goes on. How rows are carried,
// compared and removed is not decided here.

import { bytesCodec } from "@holdfast/shared/codec";
import type { Tx, View } from "../barrier/view.ts";
import type { Letter } from "../carried/letter.ts";
import type { Envelope } from "../signed/envelope.ts";
import { EvidenceRowsCheck } from "./rows-check.ts";
import * as rows from "./evidence-rows.ts";
import type { Evidence } from "./evidence.ts";
import type { Receipts } from "./receipts.ts";

const READ_AT_ONCE = 64;

export interface CarriedEvidenceOptions {
  /** core/evidence/ */
  readonly view: View;
  readonly evidence: Pick<Evidence, "handOver">;
  readonly receipts: Pick<Receipts, "signedFor">;
}

export interface GoingOn {
  /** Of what came whole; null where it did not. */
  readonly head: rows.EvidenceHead | null;
  /** The keys before; null where nobody knows them. */
  readonly ring: rows.Ring | null;
  /** The private half of the key that goes on; null where it is lost. */
  readonly secret: Buffer | null;
}

export class CarriedEvidence {
  readonly #options: CarriedEvidenceOptions;

  constructor(options: CarriedEvidenceOptions) {
    this.#options = options;
  }

  /** Where everything of it lies. */
  get view(): View {
    return this.#options.view;
  }

  /** Data that comes with a snapshot has none. */
  get isThere(): boolean {
    return rows.hasPosition(this.#options.view);
  }

  /** In the order of their keys, without private halves. */
  *rows(): Generator<{ readonly key: string; readonly value: Uint8Array }> {
    const { view } = this.#options;
    for (let after: string | undefined; ;) {
      const page = { limit: READ_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const found = view.records("", bytesCodec, page);
      after = found.at(-1)?.key;
      if (after === undefined) return;
      for (const row of found) if (!row.key.startsWith(rows.SECRETS)) yield row;
    }
  }

  /** The report that ends what is here, and what goes on with it. Nothing is written. */
  handOver(about: Parameters<Evidence["handOver"]>[0]): {
    readonly envelope: Envelope;
    readonly ring: rows.Ring;
    readonly secret: Buffer;
  } {
    const { view, evidence } = this.#options;
    const { envelope, der } = evidence.handOver(about);
    return { envelope, ring: rows.readRing(view) ?? rows.NO_KEYS, secret: der };
  }

  check(letter: Letter): EvidenceRowsCheck {
    return new EvidenceRowsCheck(letter);
  }

  copy(tx: Tx, key: string, value: Uint8Array): void {
    tx.on(this.#options.view).put(key, value, bytesCodec);
  }

  /** From the report of the letter on. Where nobody knows the keys before, its number is all that is taken from it. */
  goOn(tx: Tx, letter: Letter, { head, ring, secret }: GoingOn): void {
    const { view, receipts } = this.#options;
    const own = tx.on(view);
    const { report, digest, envelope, fingerprint, publicKey } = letter;
    const { number, previous, made_at: made } = report;
    if (ring === null) return rows.putBareHead(own, number, digest);
    const at = letter.at < tx.time ? letter.at : tx.time; // whoever wrote it may have said anything
    if (head === null) rows.putBareHead(own, number - 1, previous ?? "");
    else rows.putHead(own, head);
    rows.putRing(own, ring);
    rows.putReport(own, number, rows.keptReport(report, { digest, envelope }, at));
    rows.putKey(own, { fingerprint, publicKey, made, statement: envelope }, at, secret);
    // What lay in clear is never signed for here: the report that ended it has its digest.
    receipts.signedFor(tx);
  }
}
