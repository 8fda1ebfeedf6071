// A consistent copy of everything stored, streamed: all data rows with their scopes as of one index, and what
// is needed to go on from there. Log, leaf hashes and sums are left out; they are made anew from the data.

import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { orAborted } from "../base/or-aborted.ts";
import type { ReadView, Row, ViewApart } from "./engines/engine.ts";
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
import { RecordReading } from "./record-reading.ts";
import type { PackedRecords } from "./rows/packed-records.ts";
import { MalformedBytes } from "./rows/row-bytes.ts";
import { Slices } from "./commit/slices.ts";

/** It goes on for many seconds, and each write meanwhile waits for two or three of these. */
const SLICE: Nanos = 300_000n;
const CHUNK_ROWS = 16; // each may have megabytes, and a chunk lies in memory whole

/** Everything stored, as of one index. The caller closes it. */
export interface SnapshotSource {
  readonly head: Head;
  /** As stored. */
  readonly headRow: Uint8Array;
  /** As stored. */
  readonly timelineRow: Uint8Array;
  /** All rows but those at and below some keys, in order and packed; once. Bytes are there until more are asked for. */
  packed(
    without: readonly string[],
    signal?: AbortSignal,
  ): AsyncGenerator<PackedRecords, void, undefined>;
  close(): void | Promise<void>;
}

interface StoredHead {
  readonly head: Head;
  readonly headRow: Uint8Array;
  readonly timeline: Timeline;
  readonly timelineRow: Uint8Array;
}

function readHead(meta: (name: string) => Uint8Array | null): StoredHead {
  const [headRow, timelineRow] = [meta(HEAD_ROW), meta(TIMELINE_ROW)];
  if (headRow === null || timelineRow === null) {
    throw headDamaged("it or the timeline is missing");
  }
  try {
    return {
      head: decodeHead(headRow),
      headRow,
      timeline: decodeTimeline(timelineRow),
      timelineRow,
    };
  } catch (error) {
    throw error instanceof MalformedBytes ? headDamaged(error.message) : error;
  }
}

const expectedOf = ({ shared, local }: Head) => shared.count + local.count;

/** Read here, in slices. */
export class Snapshot implements SnapshotSource {
  readonly head: Head;
  readonly headRow: Uint8Array;
  readonly timeline: Timeline;
  readonly timelineRow: Uint8Array;
  readonly #view: ReadView;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };

  constructor(view: ReadView, world: { readonly clock: Clock; readonly timers: Timers }) {
    const found = readHead((name) => view.meta(name));
    this.head = found.head;
    this.headRow = found.headRow;
    this.timeline = found.timeline;
    this.timelineRow = found.timelineRow;
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

  async *packed(
    without: readonly string[],
    signal?: AbortSignal,
  ): AsyncGenerator<PackedRecords, void, undefined> {
    const slices = new Slices(this.#world, signal, SLICE);
    const which = { expected: expectedOf(this.head), without };
    const reading = await RecordReading.begin(this.#view, which, slices);
    for (let found = reading.next(); found !== null; found = reading.next()) {
      if (found.count > 0) yield found;
      await slices.pause();
    }
  }

  close(): void {
    this.#view.close();
  }
}

/** Read where the engine has a place for that; who uses the store meanwhile is not held up by it. */
export class SnapshotApart implements SnapshotSource {
  readonly head: Head;
  readonly headRow: Uint8Array;
  readonly timelineRow: Uint8Array;
  readonly #view: ViewApart;

  constructor(view: ViewApart) {
    const found = readHead((name) => view.meta(name));
    this.head = found.head;
    this.headRow = found.headRow;
    this.timelineRow = found.timelineRow;
    this.#view = view;
  }

  async *packed(
    without: readonly string[],
    signal?: AbortSignal,
  ): AsyncGenerator<PackedRecords, void, undefined> {
    await orAborted(this.#view.begin({ expected: expectedOf(this.head), without }), signal);
    let next = this.#view.next();
    for (;;) {
      const found = await orAborted(next, signal);
      if (found === null) return;
      next = this.#view.next(); // while what is there is used
      next.catch(() => {}); // whoever awaits it hears of it
      if (found.count > 0) yield found;
    }
  }

  close(): Promise<void> {
    return this.#view.close();
  }
}
