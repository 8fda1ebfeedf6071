// A consistent copy of everything stored, streamed: all data rows with their scopes as of one index, and what
// is needed to go on from there. Log, leaf hashes and sums are left out; they are made anew from the data.

import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import type { ReadView, Row } from "./engines/engine.ts";
import {
  decodeHead,
  decodeTimeline,
  type Head,
  HEAD_ROW,
  type Timeline,
  TIMELINE_ROW,
} from "./rows/head.ts";
import { headDamaged } from "./failures.ts";
import { afterKey, classOf, hasClass } from "./key.ts";
import { CORE_SCOPE, LOST_SCOPE } from "./rows/log-entry.ts";
import { slotOf } from "./rows/merkle.ts";
import { MalformedBytes } from "./rows/row-bytes.ts";
import { Slices } from "./commit/slices.ts";
import { ScopesByKey } from "./scopes-by-key.ts";

/** It goes on for many seconds, and each write meanwhile waits for two or three of these. */
const SLICE: Nanos = 300_000n;
const CHUNK_ROWS = 16; // each may have megabytes, and a chunk lies in memory whole

/** A row with the scope of the mount or namespace that it belongs to. */
export interface ScopedRow extends Row {
  readonly scope: Uint8Array; // 16 bytes
}

export class Snapshot {
  readonly head: Head;
  /** As stored. */
  readonly headRow: Uint8Array;
  readonly timeline: Timeline;
  /** As stored. */
  readonly timelineRow: Uint8Array;
  readonly #view: ReadView;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };

  constructor(view: ReadView, world: { readonly clock: Clock; readonly timers: Timers }) {
    const head = view.meta(HEAD_ROW);
    const timeline = view.meta(TIMELINE_ROW);
    if (head === null || timeline === null) throw headDamaged("it or the timeline is missing");
    try {
      this.head = decodeHead(head);
      this.timeline = decodeTimeline(timeline);
    } catch (error) {
      throw error instanceof MalformedBytes ? headDamaged(error.message) : error;
    }
    this.headRow = head;
    this.timelineRow = timeline;
    this.#view = view;
    this.#world = world;
  }

  /** The rows in key order, pulled in chunks; may be read more than once until closed. */
  async *rows(signal?: AbortSignal): AsyncGenerator<readonly Row[], void, undefined> {
    const slices = new Slices(this.#world, signal, SLICE);
    let from = "";
    for (;;) {
      const chunk = this.#view.rows({ from, to: null, limit: CHUNK_ROWS });
      if (chunk.length > 0) yield chunk;
      if (chunk.length < CHUNK_ROWS) return;
      from = afterKey(chunk.at(-1)!.key);
      await slices.pause();
    }
  }

  /** The same, with the scope of each. */
  async *records(signal?: AbortSignal): AsyncGenerator<readonly ScopedRow[], void, undefined> {
    const { shared, local } = this.head;
    const slices = new Slices(this.#world, signal, SLICE);
    const scopes = await ScopesByKey.read(this.#view, shared.count + local.count, slices);
    for await (const chunk of this.rows(signal)) {
      yield chunk.map(({ key, value }) => ({
        key,
        value,
        scope: scopes.of(key) ?? this.#scopeOf(key),
      }));
    }
  }

  /** That of its leaf. A row whose leaf was lost belongs to nobody that we know of. */
  #scopeOf(key: string): Uint8Array {
    const slot = hasClass(key) ? slotOf(classOf(key), key) : null;
    if (slot === null) return CORE_SCOPE;
    return this.#view.leaf(slot, key)?.scope ?? LOST_SCOPE;
  }

  close(): void {
    this.#view.close();
  }
}
