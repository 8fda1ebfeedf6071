// Taking in what lies in clear. What the process holds decides where it holds anything: rows are used if they are the ones
// that it has signed for. Where it holds nothing, anybody may have written them, and nothing of them is acted on.

import { bytesCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import type { CarriedEvidence } from "../evidence/carried-evidence.ts";
import type { Counts } from "./counts.ts";
import type { Handed } from "./held.ts";
import { type Letter, readLetter } from "./letter.ts";
import { countBelow, ESSENTIAL, removeAll, rowsBelow } from "./open-place.ts";
import { RowsDigest } from "./rows-digest.ts";

export const LETTER = "letter";
/** In clear. */
export const ROWS = "rows/";
/** Among them, before all of evidence: where chains of audit files have ended. */
export const CHAINS = "audit/";
export const SEALED = "sealed/";
const MAX_COUNTED = 1_000_000;
const MAX_KEPT_BYTES = 64 << 20; // of reports that nobody vouches for

export interface ClearRowsOptions {
  /** core/ */
  readonly node: View;
  readonly evidence: () => CarriedEvidence;
  /** `to`: where ends of chains go; `own`: where those are that began in this data. */
  readonly chains: { readonly to: View; readonly own: readonly View[] };
  /** Longer values are not stored. */
  readonly maxRowBytes: number;
  readonly timers: Timers;
  readonly log: Log;
}

/** What is known about what was carried, and how evidence goes on. */
export interface Decision extends Pick<Counts, "waiting" | "left" | "isKnown" | "evidence"> {
  readonly goOn: (tx: Tx) => void;
}

export class ClearRows {
  /** As it lies there. */
  readonly #place: View;
  readonly #options: ClearRowsOptions;

  constructor(place: View, options: ClearRowsOptions) {
    this.#place = place;
    this.#options = options;
  }

  get #evidence(): CarriedEvidence {
    return this.#options.evidence();
  }

  /** What lies where copies go, whoever put it there. Nobody has signed or recorded anything in this data yet. */
  async removeCopies(): Promise<void> {
    const { to, own } = this.#options.chains;
    for (const view of [this.#evidence.view, to, ...own]) await removeAll(view);
  }

  /** By what this process holds: rows are used if they are the ones that it has signed for. */
  async proven({ letter, ring, secret }: Handed): Promise<Decision> {
    const { isWhole, head } = await this.#copy(letter);
    if (!isWhole) await this.removeCopies();
    return {
      waiting: letter.waiting,
      left: letter.left,
      isKnown: true,
      evidence: isWhole ? "whole" : "lost",
      goOn: (tx) => this.#evidence.goOn(tx, letter, { head: isWhole ? head : null, ring, secret }),
    };
  }

  /** Each row to its place, sealed; and the very bytes that are there now are what is compared. */
  async #copy(letter: Letter): Promise<{ isWhole: boolean; head: Uint8Array | null }> {
    const { node, chains, maxRowBytes, timers } = this.#options;
    const digest = new RowsDigest();
    let head: Uint8Array | null = null;
    let isStrange = false;
    const parts = rowsBelow(this.#place, ROWS, { maxBytes: maxRowBytes, timers });
    for await (const part of parts) {
      const copies: ((tx: Tx) => void)[] = [];
      for (const { key: path, value } of part) {
        if (value === null) isStrange = true;
        if (value === null || isStrange) break;
        const key = path.slice(ROWS.length);
        digest.add(key, value);
        if (key.startsWith(CHAINS)) {
          const name = key.slice(CHAINS.length);
          copies.push((tx) => tx.on(chains.to).put(name, value, bytesCodec));
        } else copies.push((tx) => this.#evidence.copy(tx, key, value));
        if (key === this.#evidence.headKey) head = value;
      }
      if (isStrange) break;
      await node.write((tx) => copies.forEach((copy) => copy(tx)), ESSENTIAL);
    }
    return { isWhole: !isStrange && digest.end() === letter.rows, head };
  }

  /** By what lies there, which anybody may have written: nothing of it is acted on. */
  async unproven(): Promise<Decision> {
    const { timers, log, maxRowBytes } = this.#options;
    const found = this.#place.get(LETTER, bytesCodec);
    const letter = found === null ? null : readLetter(found);
    if (letter === null) {
      const unknown =
        "it is not known how many leases and write-ahead records of the data that was replaced there were";
      log.error(unknown, { event: "restore.left" });
      const waiting = await countBelow(this.#place, SEALED, { max: MAX_COUNTED, timers });
      return { waiting, left: 0, isKnown: false, evidence: "lost", goOn: () => {} };
    }
    await this.#keepReports(letter);
    const ring = this.#place.get(ROWS + this.#evidence.ringKey, bytesCodec);
    return {
      waiting: letter.waiting,
      left: letter.left,
      isKnown: false,
      evidence: "unproven",
      goOn: (tx) => this.#evidence.goOnFrom(tx, letter, { ring, maxRowBytes }),
    };
  }

  /** Those before the letter, apart from what is signed here. */
  async #keepReports(letter: Letter): Promise<void> {
    const { node, maxRowBytes: maxBytes, timers } = this.#options;
    let bytes = 0;
    for (const folder of this.#evidence.reportFolders) {
      for await (const part of rowsBelow(this.#place, ROWS + folder, { maxBytes, timers })) {
        bytes += part.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
        if (bytes > MAX_KEPT_BYTES) return;
        await node.write((tx) => {
          for (const { key, value } of part) {
            if (value === null) continue;
            this.#evidence.keep(tx, letter, {
              key: key.slice(ROWS.length),
              value,
              maxRowBytes: maxBytes,
            });
          }
        }, ESSENTIAL);
      }
    }
  }
}
