// A consistent copy of everything stored, streamed: all data rows as of one index, and what is needed
// to go on from there. Log, leaves and sums are left out; they are made anew from the data.

import type { Clock, Timers } from "@holdfast/shared/world";
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
import { afterKey } from "./key.ts";
import { MalformedBytes } from "./rows/row-bytes.ts";
import { Slices } from "./commit/slices.ts";

const CHUNK_ROWS = 16; // each may have megabytes, and a chunk lies in memory whole

export class Snapshot {
  readonly head: Head;
  readonly timeline: Timeline;
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
    this.#view = view;
    this.#world = world;
  }

  /** The rows in key order, pulled in chunks; may be read more than once until closed. */
  async *rows(signal?: AbortSignal): AsyncGenerator<readonly Row[], void, undefined> {
    const slices = new Slices(this.#world, signal);
    let from = "";
    for (;;) {
      const chunk = this.#view.rows({ from, to: null, limit: CHUNK_ROWS });
      if (chunk.length > 0) yield chunk;
      if (chunk.length < CHUNK_ROWS) return;
      from = afterKey(chunk.at(-1)!.key);
      await slices.pause();
    }
  }

  close(): void {
    this.#view.close();
  }
}
