// The calls by which a member takes over rows of the primary, and what each of them may name.

import { EMPTY } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { Peer } from "../../cluster/verify.ts";
import { type Call, type Served, serveStream, serveUnary } from "../../grpc/method.ts";
import { Status, StatusError } from "../../grpc/status.ts";
import { Slices } from "../../storage/commit/slices.ts";
import { encodeTimeline } from "../../storage/rows/head.ts";
import type { Store } from "../../storage/store.ts";
import type { Member } from "../stream/members.ts";
import * as messages from "../stream/messages.ts";
import {
  PAGES_OF_TREE,
  pagesNow,
  readChunk,
  readKeys,
  readLeaves,
  readPages,
  readSubpages,
} from "./reading-rows.ts";
import { mayLeave, type SentPart } from "./sent-part.ts";
import { sharedHeadOf } from "./shared-log.ts";

export interface RowServiceParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly sent: SentPart;
  readonly keysVersion: () => string;
  /** Throws where the epoch is not that of the set, or nobody is known by that name. */
  readonly admit: (epoch: number, call: Call<Peer>) => Member;
}

export function servedRows(parts: RowServiceParts): Served<Peer>[] {
  const { store, sent, admit } = parts;
  const { trees } = sent;
  const pageCount = trees.length * PAGES_OF_TREE;
  return [
    serveUnary(messages.beginDiff, (request, call) => begin(request, call, parts)),
    serveUnary(messages.copyScope, async ({ epoch, after }, call) => {
      admit(epoch, call);
      return readChunk(store, after, trees);
    }),
    serveUnary(messages.subpages, async ({ epoch, pages }, call) => {
      admit(epoch, call);
      return { sums: readSubpages(store, numbersIn(pages, 2, messages.MAX_PAGES, pageCount)) };
    }),
    serveStream(messages.leaves, ({ epoch, slots }, call) => {
      admit(epoch, call);
      const named = numbersIn(slots, 4, messages.MAX_SLOTS, pageCount * 256);
      return turns(readLeaves(store, named), parts);
    }),
    serveStream(messages.fetchKeys, ({ epoch, keys }, call) => {
      admit(epoch, call);
      if (!keys.every((key) => mayLeave(sent, key))) {
        throw new StatusError(Status.invalidArgument, "a key that never leaves");
      }
      return turns(readKeys(store, keys), parts);
    }),
  ];
}

/** Where it begins to take over rows: from here on it needs the log, until it is sent it. */
async function begin(
  { epoch, isCopy }: { readonly epoch: number; readonly isCopy: boolean },
  call: Call<Peer>,
  { store, clock, timers, sent, keysVersion, admit }: RowServiceParts,
): Promise<messages.Begun> {
  const member = admit(epoch, call);
  const { trees } = sent;
  if (!isCopy) await readPages(store, new Slices({ clock, timers }, call.signal), trees);
  // At once: head and hashes are of one moment, and nothing after it goes.
  const pages = isCopy ? EMPTY : pagesNow(store, trees);
  member.pin(store.index + 1n);
  const isWhole = trees.includes("local");
  return {
    head: isWhole ? store.headBytes! : EMPTY,
    timeline: encodeTimeline(store.timeline!),
    pages,
    keysVersion: keysVersion(),
    shared: isWhole ? null : sharedHeadOf(store.head!),
  };
}

/** A chunk at a time, and others have their turn in between. */
async function* turns<T>(
  chunks: Iterable<T>,
  world: { readonly clock: Clock; readonly timers: Timers },
): AsyncGenerator<T> {
  const slices = new Slices(world);
  for (const chunk of chunks) {
    yield chunk;
    await slices.pause();
  }
}

/** Numbers of so many bytes each, below a bound. */
function numbersIn(bytes: Uint8Array, width: 2 | 4, max: number, below: number): number[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.length / width;
  const numbers = Array.from({ length: Math.floor(count) }, (_, i) =>
    view.readUIntBE(i * width, width),
  );
  const isRight = Number.isInteger(count) && count <= max && numbers.every((one) => one < below);
  if (!isRight) throw new StatusError(Status.invalidArgument, "what it names is not there");
  return numbers;
}
