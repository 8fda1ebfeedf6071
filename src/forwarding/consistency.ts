// How far what is to be seen here goes, as a mark that clients hand back: whoever has seen something in one place of a set
// is not answered from before it in another. The layout stands in docs/formats/cluster.md.

import { createHash, type KeyObject } from "node:crypto";
import { alloc, concat, equalBytes } from "@holdfast/shared/bytes";
import { uuidText } from "@holdfast/shared/text/uuid";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { sameBytes } from "../base/same-bytes.ts";
import type { Consistency, Reached } from "../core/seams.ts";
import { deriveKey } from "../crypto/aead.ts";
import { Hmac } from "../crypto/hmac.ts";
import type { Head, Timeline } from "../storage/rows/head.ts";
import type { Primary } from "./primary.ts";

const PURPOSE = "holdfast state mark 1";
const VERSION = 2;
const LINEAGE = 16;
const SET = 8;
const BODY = 1 + LINEAGE + 4 + 8 + 8 + SET + 4;
const MAC = 16;
const MARK = /^[\w-]{87}$/; // of so many bytes in base64url
const NO_SET = alloc(SET);
const AT = { local: 21, shared: 29, set: 37, setEpoch: 45 } as const;

/** Where somebody was when it was answered. */
interface Place {
  /** Of the log there, and its epoch. */
  readonly lineage: Uint8Array;
  readonly epoch: number;
  /** There. */
  readonly local: bigint;
  /** Of the primary. */
  readonly shared: bigint;
  /** Names the set of clusters that share data; zeros for none. */
  readonly set: Uint8Array;
  /** Which primary of the set it was, counted from 1. */
  readonly setEpoch: number;
}

/** Clusters that share data, of which this is one. */
export interface SharingSet {
  readonly id: string;
  /** Of its present primary. */
  readonly epoch: number;
  /** From which index of the one before each later primary has gone on with its own, in their order. */
  readonly forks: readonly { readonly number: number; readonly first: string }[];
  /** Whether what is shared was last written here: by the primary, or by who was it and follows nobody yet. */
  readonly isWrittenHere: boolean;
  /** Which of its primaries has written the last of what is shared here; 0: nobody has kept that. */
  readonly of: number;
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
  /** Null: this cluster shares data with no other. */
  readonly set: () => SharingSet | null;
  readonly timers: Pick<Timers, "after">;
}

export class StateMarks implements Consistency {
  readonly #log: Log;
  readonly #primary: () => Primary | null;
  readonly #set: () => SharingSet | null;
  #named: { readonly id: string; readonly bytes: Uint8Array } = { id: "", bytes: NO_SET };
  readonly #timers: ConsistencyOptions["timers"];
  #mac: Hmac | null = null;
  /** The last that was made: reads between two writes have the same. */
  #last: (Place & { readonly text: string }) | null = null;

  constructor({ log, primary, timers, set }: ConsistencyOptions) {
    this.#log = log;
    this.#timers = timers;
    this.#primary = primary;
    this.#set = set;
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

  mark(written: bigint, by = 0): string | null {
    const { head } = this.#log;
    if (this.#mac === null || head === null) return null;
    const { lineage, epoch, index: local } = head;
    const sharing = this.#set();
    const seen = this.#seen(head, sharing);
    const [here, there] = [wholeUntil(seen, sharing), wholeUntil(written, sharing, by)];
    // Where one of the two is lost with a primary, both are to be told so.
    const [shared, setEpoch] =
      there < here || (there === here && written > seen) ? [written, there] : [seen, here];
    const set = this.#nameOf(sharing);
    const last = this.#last;
    const isSame = last !== null && last.local === local && last.shared === shared;
    const isOfSame = isSame && last.epoch === epoch && equalBytes(last.lineage, lineage);
    if (isOfSame && last.setEpoch === setEpoch && equalBytes(last.set, set)) return last.text;
    const place = { lineage, epoch, local, shared, set, setEpoch };
    const text = encode(place, this.#mac);
    this.#last = { ...place, text };
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
    const sharing = this.#set();
    const isOwn = isOf(place, head);
    const isOfSet = equalBytes(place.set, this.#nameOf(sharing));
    const wasAlone = equalBytes(place.set, NO_SET);
    if (!isOwn && !isOfSet && !wasAlone) return "unknown"; // its indexes are those of others
    if (this.#isUndone(place)) return "lost";
    if (isOwn) {
      if (place.epoch < head.epoch && this.#isLost(place)) return "lost";
      if (place.epoch > head.epoch || place.local > head.index) return "behind";
    }
    if (!isOfSet && !wasAlone) return "reached"; // of the own log, from a set that was left
    if (sharing !== null && isOfSet) {
      // What is here of a primary that was replaced, and the next one never had, is of nobody after it.
      if (place.setEpoch > wholeUntil(this.#seen(head, sharing), sharing)) return "behind";
      if (liesBehindFork(place, sharing)) return "lost";
    }
    return place.shared > this.#shared(head) ? "behind" : "reached";
  }

  /** Whether another cluster went on from before it. */
  #isLost({ epoch, local }: Place): boolean {
    const next = this.#log.timeline?.epochs.find((one) => one.epoch > epoch);
    return next !== undefined && local >= BigInt(next.first);
  }

  /** Whether a restore here went back to before it. */
  #isUndone({ lineage, local }: Place): boolean {
    const origin = this.#log.timeline?.origin;
    if (origin === undefined) return false;
    const { restored, replaced } = origin;
    const name = uuidText(lineage);
    if (restored.lineage === name) return local > BigInt(restored.index);
    return replaced?.lineage === name; // what was restored is from before that log
  }

  #nameOf(set: SharingSet | null): Uint8Array {
    if (set === null) return NO_SET;
    if (this.#named.id !== set.id) {
      const bytes = createHash("sha256").update(set.id).digest().subarray(0, SET);
      this.#named = { id: set.id, bytes };
    }
    return this.#named.bytes;
  }

  /** What is local alone says nothing to others, and is not lost where another one takes over. */
  #seen({ lastPerf }: Head, sharing: SharingSet | null): bigint {
    const primary = sharing?.isWrittenHere === true ? null : this.#primary();
    return primary?.applied ?? lastPerf;
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
      local: body.readBigUInt64BE(AT.local),
      shared: body.readBigUInt64BE(AT.shared),
      set: body.subarray(AT.set, AT.set + SET),
      setEpoch: body.readUInt32BE(AT.setEpoch),
    };
  }
}

function isOf({ lineage }: Place, head: Head): boolean {
  return equalBytes(lineage, head.lineage);
}

/** Whether it was shared by a primary in whose place another went on from before it. */
function liesBehindFork({ setEpoch, shared }: Place, { forks }: SharingSet): boolean {
  const next = forks.find(({ number }) => number > setEpoch);
  return next !== undefined && shared >= BigInt(next.first);
}

/** The last primary of the set in whose log all is, up to an index, that an earlier one has written. */
function wholeUntil(index: bigint, sharing: SharingSet | null, by = sharing?.of ?? 0): number {
  if (sharing === null) return 0;
  const { epoch, forks } = sharing;
  const next = forks.find(({ number, first }) => number > by && index >= BigInt(first));
  return by === 0 || next === undefined ? epoch : next.number - 1;
}

function encode({ lineage, epoch, local, shared, set, setEpoch }: Place, mac: Hmac): string {
  const body = alloc(BODY);
  body[0] = VERSION;
  body.set(lineage, 1);
  body.writeUInt32BE(epoch, 1 + LINEAGE);
  body.writeBigUInt64BE(local, AT.local);
  body.writeBigUInt64BE(shared, AT.shared);
  body.set(set, AT.set);
  body.writeUInt32BE(setEpoch, AT.setEpoch);
  return concat(body, macOf(body, mac)).toString("base64url");
}

function macOf(body: Uint8Array, mac: Hmac): Uint8Array {
  return mac.bytesOf(body).subarray(0, MAC);
}
