// The calls by which a member takes over rows of the primary, and what each of them may name.

import { EMPTY } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { Peer } from "../../cluster/verify.ts";
import { type Call, type Served, serveStream, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { Slices } from "../../storage/commit/slices.ts";
import { encodeTimeline } from "../../storage/rows/head.ts";
import type { Tree } from "../../storage/rows/merkle.ts";
import type { Store } from "../../storage/store.ts";
import { otherWithheld } from "../filters/failures.ts";
import type { MemberFilter } from "../filters/filters.ts";
import type { Total } from "../filters/shared-view.ts";
import type { Member } from "../stream/members.ts";
import * as messages from "../stream/messages.ts";
import {
  PAGES_OF_TREE,
  pagesNow,
  readAllowed,
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
  /** Throws where the epoch is not that of the set, or nobody is known by that name. */
  readonly admit: (epoch: number, call: Call<Peer>) => Member;
  /** What a member is not sent; null: nothing is withheld. */
  readonly filterOf: (member: Member) => MemberFilter | null;
}

/** The trees as one member is sent what they are of. */
interface Sight {
  /** Whether this is what a member is sent that knows its filter by this version. */
  readonly isOf: (version: string) => boolean;
  readonly tree: (slot: number) => Tree;
  /** Null where it is sent everything. */
  readonly total: () => Total | null;
}

export function servedRows(parts: RowServiceParts): Served<Peer>[] {
  const { store, sent, admit, filterOf } = parts;
  const { trees } = sent;
  const pageCount = trees.length * PAGES_OF_TREE;
  // Asked of every row: what is withheld since a call began does not leave by it.
  const letsOf = (member: Member) => (scope: Uint8Array) => filterOf(member)?.lets(scope) ?? true;
  return [
    serveUnary(messages.beginDiff, (request, call) => begin(request, call, parts)),
    serveUnary(messages.copyScope, async ({ epoch, after }, call) => {
      const member = admit(epoch, call);
      if (filterOf(member) === null) return readChunk(store, after, trees);
      return await readAllowed(store, after, letsOf(member), new Slices(parts, call.signal));
    }),
    serveUnary(messages.subpages, async ({ epoch, pages }, call) => {
      const { tree } = await sightOf(admit(epoch, call), parts);
      return { sums: readSubpages(tree, numbersIn(pages, 2, messages.MAX_PAGES, pageCount)) };
    }),
    serveStream(messages.leaves, ({ epoch, slots }, call) => {
      const lets = letsOf(admit(epoch, call));
      const named = numbersIn(slots, 4, messages.MAX_SLOTS, pageCount * 256);
      return turns(readLeaves(store, named, lets), parts, () => admit(epoch, call));
    }),
    serveStream(messages.fetchKeys, ({ epoch, keys }, call) => {
      const lets = letsOf(admit(epoch, call));
      if (!keys.every((key) => mayLeave(sent, key))) {
        throw new StatusError(Status.invalidArgument, "a key that never leaves");
      }
      return turns(readKeys(store, keys, lets), parts, () => admit(epoch, call));
    }),
  ];
}

async function sightOf(member: Member, { store, filterOf }: RowServiceParts): Promise<Sight> {
  const filter = filterOf(member);
  const { trees } = store;
  if (filter === null) {
    const isOf = (version: string) => version === "" && filterOf(member) === null;
    return { isOf, tree: (slot) => trees.of(slot), total: () => null };
  }
  const view = await filter.view();
  const of = filter.version;
  const isOf = (version: string) => {
    const now = filterOf(member);
    return now !== null && [version, of].every((one) => now.isEqualTo(one));
  };
  return { isOf, tree: () => view.tree, total: () => view.total() };
}

/** Where it begins to take over rows: from here on it needs the log, until it is sent it. */
async function begin(
  request: { readonly epoch: number; readonly isCopy: boolean; readonly filter: string },
  call: Call<Peer>,
  parts: RowServiceParts,
): Promise<messages.Begun> {
  const { epoch, isCopy, filter } = request;
  const { store, clock, timers, sent, admit } = parts;
  const member = admit(epoch, call);
  const { trees } = sent;
  const { tree, total, isOf } = await sightOf(member, parts);
  if (!isCopy) await readPages(tree, new Slices({ clock, timers }, call.signal), trees);
  if (!isOf(filter)) throw otherWithheld();
  // At once: head and hashes are of one moment, and nothing after it goes.
  const pages = isCopy ? EMPTY : pagesNow(tree, trees);
  member.pin(store.index + 1n);
  const isWhole = trees.includes("local");
  return {
    head: isWhole ? store.headBytes! : EMPTY,
    timeline: encodeTimeline(store.timeline!),
    pages,
    shared: isWhole ? null : sharedHeadOf(store.head!, total()),
  };
}

/** A chunk at a time, and others have their turn in between; each is made when it is wanted, for one who may still have it. */
async function* turns<T>(
  chunks: Iterable<T>,
  world: { readonly clock: Clock; readonly timers: Timers },
  admit: () => unknown,
): AsyncGenerator<T> {
  const slices = new Slices(world);
  for (const chunk of chunks) {
    yield chunk;
    await slices.pause();
    admit();
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
