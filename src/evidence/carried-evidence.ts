// Evidence on its way to data of other keys: its rows, the report that ends it, and how it goes on. How rows are carried,
// compared and removed is not decided here.

import { bytesCodec } from "@holdfast/shared/codec";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import type { Letter } from "../carried/letter.ts";
import type { Envelope } from "../signed/envelope.ts";
import * as rows from "./evidence-rows.ts";
import type { Evidence } from "./evidence.ts";
import type { Receipts } from "./receipts.ts";
import { unprovenReport, unprovenRing } from "./unproven-rows.ts";

const READ_AT_ONCE = 64;

export interface CarriedEvidenceOptions {
  /** core/evidence/ */
  readonly view: View;
  readonly evidence: Pick<Evidence, "handOver">;
  readonly receipts: Pick<Receipts, "signedFor">;
}

export interface GoingOn {
  /** As it was carried; null where there was none, or not everything came. */
  readonly head: Uint8Array | null;
  /** The keys before. */
  readonly ring: rows.Ring;
  /** The private half of the key that goes on. */
  readonly secret: Buffer;
}

export interface UnprovenRow {
  readonly key: string;
  readonly value: Uint8Array;
  readonly maxRowBytes: number;
}

interface UnprovenRing {
  /** As it lay there; null where there was none. */
  readonly ring: Uint8Array | null;
  readonly maxRowBytes: number;
}

export class CarriedEvidence {
  readonly headKey = rows.HEAD;
  readonly ringKey = rows.RING;
  /** Where reports lie, those of earlier exchanges too. */
  readonly reportFolders = [rows.EARLIER, rows.REPORTS];
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

  /** Throws where what tells how far it has come is damaged. */
  check(): void {
    const { view } = this.#options;
    rows.readHead(view);
    rows.readRing(view);
  }

  /** A row that was carried, to its place. Those without which nobody uses the others come when all are there. */
  copy(tx: Tx, key: string, value: Uint8Array): void {
    const isLater = key === rows.HEAD || key === rows.RING || key.startsWith(rows.SECRETS);
    if (!isLater) tx.on(this.#options.view).put(key, value, bytesCodec);
  }

  /** From the report of the letter on, which this process has signed. */
  goOn(tx: Tx, letter: Letter, { head, ring, secret }: GoingOn): void {
    const { view, receipts } = this.#options;
    const own = tx.on(view);
    const { fingerprint, publicKey, envelope, report } = letter;
    if (head !== null) rows.putHead(own, rows.headIn(head));
    else rows.putBareHead(own, report.number - 1, report.previous ?? "");
    rows.putRing(own, ring);
    this.#putLetter(own, letter);
    const record = { fingerprint, publicKey, made: report.made_at, statement: envelope };
    rows.putKey(own, record, timeOf(letter, tx), secret);
    // What lay in clear is never signed for here: the report that ended it has its digest.
    receipts.signedFor(tx);
  }

  /** From the number of a letter that nobody vouches for. It is kept where keys lead to it: its own, which is the last of
   *  them, has no private half any more. */
  goOnFrom(tx: Tx, letter: Letter, { ring: bytes, maxRowBytes }: UnprovenRing): void {
    const own = tx.on(this.#options.view);
    const { number } = letter.report;
    const ring = bytes === null ? null : unprovenRing(bytes, letter, maxRowBytes);
    rows.putBareHead(own, number, letter.digest);
    if (ring === null) return;
    rows.putRing(own, { ...ring, since: String(timeOf(letter, tx)) });
    rows.putEarlier(own, { number, envelope: letter.envelope }, maxRowBytes);
  }

  /** A row that may be a report from before the letter, to be read. */
  keep(tx: Tx, letter: Letter, { key, value, maxRowBytes }: UnprovenRow): void {
    const report = unprovenReport(key, value);
    if (report === null || report.number >= letter.report.number) return;
    rows.putEarlier(tx.on(this.#options.view), report, maxRowBytes);
  }

  #putLetter(own: Tx, letter: Letter): void {
    const { report, digest, envelope } = letter;
    const kept = rows.keptReport(report, { digest, envelope }, timeOf(letter, own));
    rows.putReport(own, report.number, kept);
  }
}

/** Whoever wrote a letter may have said anything. */
function timeOf({ at }: Letter, { time }: Tx): Instant {
  return at < time ? at : time;
}
