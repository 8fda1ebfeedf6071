// The log as a member hears it that is sent what is shared and nothing else: entries without the rest, and of those that have nothing left
// their number and the place after them, so that it knows that none is missing. One for each stream.

import { concat } from "@holdfast/shared/bytes";
import { decodeHead, type Head } from "../../storage/rows/head.ts";
import { decodeEntryHeader, sharedPart } from "../../storage/rows/log-entry.ts";
import { u32 } from "../../storage/rows/row-bytes.ts";
import type { MemberFilter } from "../filters/filters.ts";
import type { Total } from "../filters/shared-view.ts";
import { NO_WORDS, type Place, type SharedHead, type ToReceiver } from "../stream/messages.ts";

export class SharedLog {
  /** The last index that the other side has heard of. */
  #heard: bigint;
  #skip: Place | null = null; // what it has not heard of has nothing for it, up to here

  /** What the other side is not sent; null: nothing is withheld. */
  readonly #filter: MemberFilter | null;

  constructor(cursor: bigint, filter: MemberFilter | null = null) {
    this.#heard = cursor;
    this.#filter = filter;
  }

  get hasSkipped(): boolean {
    return this.#skip !== null;
  }

  /** What of these is said, and null where that is nothing; then the place after them is still to be told. */
  take(entries: readonly Uint8Array[]): ToReceiver | null {
    const filter = this.#filter;
    const lets = filter === null ? null : (scope: Uint8Array) => filter.lets(scope);
    const parts: Buffer[] = [];
    const skipped: Buffer[] = [];
    for (const bytes of entries) {
      const { index, chain } = decodeEntryHeader(bytes);
      const part = sharedPart(bytes, lets);
      if (part === null) {
        this.#skip = { index, chain };
        continue;
      }
      parts.push(part);
      skipped.push(u32(Number(index - this.#heard - 1n)));
      this.#heard = index;
      this.#skip = null;
    }
    if (parts.length === 0) return null;
    const message = { ...NO_WORDS, batch: { entries: parts }, skipped: concat(...skipped) };
    return this.#skip === null ? message : { ...message, skip: this.#toTell() };
  }

  /** How far the log is where it has nothing for the other side. */
  tell(): ToReceiver {
    return { ...NO_WORDS, skip: this.#toTell() };
  }

  /** The head after what was taken; `total`: of what the other side is sent, where that is not all. */
  compare(head: Uint8Array, total: Total | null = null): ToReceiver {
    return { ...this.tell(), shared: sharedHeadOf(decodeHead(head), total) };
  }

  #toTell(): Place | null {
    const skip = this.#skip;
    if (skip !== null) this.#heard = skip.index;
    this.#skip = null;
    return skip;
  }
}

export function sharedHeadOf(
  { lineage, epoch, index, chain, shared }: Head,
  total: Total | null = null,
): SharedHead {
  const { sum, count } = total ?? shared;
  return { lineage, epoch, index, chain, sum, count: BigInt(count) };
}
