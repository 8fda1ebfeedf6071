// How far what is to be seen here goes, as a mark that clients hand back: whoever has seen something in one place of a set
// is not answered from before it in another. The layout stands in docs/formats/cluster.md.

import type { KeyObject } from "node:crypto";
import { alloc, concat, equalBytes } from "@holdfast/shared/bytes";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { sameBytes } from "../base/same-bytes.ts";
import type { Consistency, Reached } from "../core/seams.ts";
import { deriveKey } from "../crypto/aead.ts";
import { Hmac } from "../crypto/hmac.ts";
import type { Head, Timeline } from "../storage/rows/head.ts";
import type { Primary } from "./primary.ts";

const PURPOSE = "holdfast state mark 1";
const VERSION = 1;
const LINEAGE = 16;
const BODY = 1 + LINEAGE + 4 + 8 + 8;
const MAC = 16;
const MARK = /^[\w-]{71}$/; // of so many bytes in base64url

/** Where somebody was when it was answered. */
interface Place {
  /** Of the log there, and its epoch. */
  readonly lineage: Uint8Array;
  readonly epoch: number;
  /** There. */
  readonly local: bigint;
  /** Of the primary. */
  readonly shared: bigint;
}

/** Of the store. */
interface Log {
  readonly head: Head | null;
  readonly timeline: Timeline | null;
  onIndex(index: bigint, call: () => void): () => void;
}

export interface ConsistencyOptions {
  readonly log: Log;
  readonly primary: () => Primary | null;
  readonly timers: Pick<Timers, "after">;
}

export class StateMarks implements Consistency {
  readonly #log: Log;
  readonly #primary: () => Primary | null;
  readonly #timers: ConsistencyOptions["timers"];
  #mac: Hmac | null = null;
  /** The last that was made: reads between two writes have the same. */
  #last: (Place & { readonly text: string }) | null = null;

  constructor({ log, primary, timers }: ConsistencyOptions) {
    this.#log = log;
    this.#timers = timers;
    this.#primary = primary;
  }

  /** With the key of the trees, which all clusters of a set have for good. */
  open(treeKey: KeyObject): void {
    this.close();
    this.#mac = new Hmac(deriveKey(treeKey, PURPOSE));
  }

  close(): void {
    this.#mac?.wipe();
    this.#mac = null;
    this.#last = null;
  }

  mark(written: bigint): string | null {
    const { head } = this.#log;
    if (this.#mac === null || head === null) return null;
    const { lineage, epoch, index: local } = head;
    const seen = this.#shared(head);
    const shared = seen > written ? seen : written;
    const last = this.#last;
    const isSame = last !== null && last.local === local && last.shared === shared;
    if (isSame && last.epoch === epoch && equalBytes(last.lineage, lineage)) return last.text;
    const text = encode({ lineage, epoch, local, shared }, this.#mac);
    this.#last = { lineage, epoch, local, shared, text };
    return text;
  }

  judge(mark: string): Reached {
    const place = this.#read(mark);
    return place === null ? "unknown" : this.#reached(place);
  }

  async reaches(mark: string, within: Nanos, signal: AbortSignal): Promise<boolean> {
    const place = this.#read(mark);
    const { head } = this.#log;
    if (place === null || head === null) return false;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const timer = this.#timers.after(within, end);
    try {
      await this.#wait(place, head, within, over.signal);
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", end);
    }
    return this.#reached(place) === "reached";
  }

  async #wait(place: Place, head: Head, within: Nanos, signal: AbortSignal): Promise<void> {
    const primary = this.#primary();
    if (isOf(place, head)) await this.#local(place.local, signal);
    if (primary !== null) await primary.appliedUpTo(place.shared, within, signal);
  }

  #reached(place: Place): Reached {
    const { head } = this.#log;
    if (head === null) return "behind";
    if (isOf(place, head)) {
      if (place.epoch < head.epoch && this.#isLost(place)) return "lost";
      if (place.epoch > head.epoch || place.local > head.index) return "behind";
    }
    return place.shared > this.#shared(head) ? "behind" : "reached";
  }

  /** Whether another cluster went on from before it. */
  #isLost({ epoch, local }: Place): boolean {
    const next = this.#log.timeline?.epochs.find((one) => one.epoch > epoch);
    return next !== undefined && local >= BigInt(next.first);
  }

  #shared({ index }: Head): bigint {
    return this.#primary()?.applied ?? index;
  }

  async #local(index: bigint, signal: AbortSignal): Promise<void> {
    const { head } = this.#log;
    if (signal.aborted || (head !== null && head.index >= index)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = this.#log.onIndex(index, resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    forget();
  }

  #read(mark: string): Place | null {
    if (this.#mac === null || !MARK.test(mark)) return null;
    const bytes = Buffer.from(mark, "base64url");
    const body = bytes.subarray(0, BODY);
    if (body[0] !== VERSION || !sameBytes(macOf(body, this.#mac), bytes.subarray(BODY)))
      return null;
    return {
      lineage: body.subarray(1, 1 + LINEAGE),
      epoch: body.readUInt32BE(1 + LINEAGE),
      local: body.readBigUInt64BE(BODY - 16),
      shared: body.readBigUInt64BE(BODY - 8),
    };
  }
}

function isOf({ lineage }: Place, head: Head): boolean {
  return equalBytes(lineage, head.lineage);
}

function encode({ lineage, epoch, local, shared }: Place, mac: Hmac): string {
  const body = alloc(BODY);
  body[0] = VERSION;
  body.set(lineage, 1);
  body.writeUInt32BE(epoch, 1 + LINEAGE);
  body.writeBigUInt64BE(local, BODY - 16);
  body.writeBigUInt64BE(shared, BODY - 8);
  return concat(body, macOf(body, mac)).toString("base64url");
}

function macOf(body: Uint8Array, mac: Hmac): Uint8Array {
  return mac.bytesOf(body).subarray(0, MAC);
}
