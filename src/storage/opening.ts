// Opening a store whose keys have arrived: the head must be authentic, the log must end where the
// head says, and the sums must add up to the totals under the head's MAC. Sums that do not are
// recomputed from the leaves, which heals them if the leaves are whole. What else is wrong is mended
// only on an operator's word (`repair`), and said. Also how a store begins, and whether it has begun.

import type { KeyObject } from "node:crypto";
import { concat, equalBytes } from "@holdfast/shared/bytes";
import { uuidBytes } from "@holdfast/shared/text/uuid";
import type { StorageEngine, Reads, SumRow } from "./engines/engine.ts";
import { headDamaged } from "./failures.ts";
import {
  decodeHead,
  decodeTail,
  decodeTimeline,
  encodeTail,
  encodeTimeline,
  firstTimeline,
  type Head,
  HEAD_ROW,
  headIsAuthentic,
  LEAF_FORM,
  LEAF_FORM_ROW,
  sameTotal,
  type Tail,
  TAIL_ROW,
  TIMELINE_ROW,
} from "./rows/head.ts";
import { decodeEntry, firstChain } from "./rows/log-entry.ts";
import { Forest, isSlot, isSumRow, TREES } from "./rows/merkle.ts";
import { MalformedBytes, u8 } from "./rows/row-bytes.ts";
import { SYNC_ROW } from "./rows/sync.ts";
import type { Slices } from "./commit/slices.ts";
import { Tip } from "./commit/tip.ts";

const PAGE_ROWS = 1024;

export interface Opened {
  readonly tip: Tip;
  /** The same sums once more, to follow what becomes durable. */
  readonly durable: Forest;
  /** Rows that differ from what is stored and have to be written. */
  readonly mendedSums: readonly SumRow[];
  /** The log cannot be used: everything below is to be removed, and this is the tail from then on. */
  readonly abandoned: { readonly below: bigint; readonly tail: Tail } | null;
  /** What was found wrong and mended, in words. */
  readonly mended: readonly string[];
}

/** Sums that were read before the key came, without holding anybody up, and the head that they go with. */
export interface ReadSums {
  readonly headRow: Uint8Array;
  readonly sums: Forest;
  readonly durable: Forest;
}

/** Null where there is no head yet. */
export async function readSums(engine: Reads, slices: Slices): Promise<ReadSums | null> {
  const headRow = engine.meta(HEAD_ROW);
  if (headRow === null) return null;
  const sums = await storedSums(engine, slices);
  for (const name of TREES) {
    sums[name].total(); // adds them up, which unlocking then finds done
    await slices.pause();
  }
  return { headRow, sums, durable: sums.copy() };
}

/** `ahead`: what was read before; of no use when something was committed since. */
export function openTip(
  engine: StorageEngine,
  treeKey: KeyObject,
  repair: boolean,
  ahead: ReadSums | null = null,
): Opened {
  const mended: string[] = [];
  let head = authenticHead(engine, treeKey);
  if (head === null) {
    if (!repair) throw headDamaged("its MAC does not match");
    head = headFromLog(engine);
    mended.push("head rebuilt from the last log entry");
  }
  const wrong = wrongEnd(engine, head) ?? (repair ? wrongTail(engine) : null);
  if (wrong !== null && !repair) throw headDamaged(wrong);
  if (wrong !== null) mended.push(`log given up: ${wrong}`);
  const abandoned = wrong === null ? null : logAbandoned(engine, head);

  const known = ahead !== null && isOfHead(engine, ahead) ? ahead : null;
  const stored = known?.sums ?? storedSumsNow(engine);
  if (mended.length === 0 && addUp(stored, head)) {
    const durable = known?.durable ?? stored.copy();
    return { tip: new Tip(treeKey, head, stored), durable, mendedSums: [], abandoned, mended };
  }
  const recomputed = sumsOfLeaves(engine);
  if (!addUp(recomputed, head)) {
    if (!repair) throw headDamaged("the leaves do not add up to its totals");
    head = { ...head, ...totalsOf(recomputed) };
    mended.push("totals taken from the leaves");
  }
  const wrongSlots = recomputed.differing(stored);
  const mendedSums = wrongSlots.map((slot) => recomputed.of(slot).row(slot));
  if (mendedSums.length > 0) mended.push("sums recomputed from the leaves");
  const durable = recomputed.copy();
  return { tip: new Tip(treeKey, head, recomputed), durable, mendedSums, abandoned, mended };
}

/**
 * Position and sums without the key, for a store that follows while it is locked. The head is believed
 * until the key is there.
 */
export function openCopy(engine: StorageEngine): Pick<Opened, "tip" | "durable"> {
  const head = readHead(engine.meta(HEAD_ROW));
  if (head === null) throw headDamaged("it makes no sense");
  const wrong = wrongEnd(engine, head);
  if (wrong !== null) throw headDamaged(wrong);
  const stored = storedSumsNow(engine);
  const sums = addUp(stored, head) ? stored : sumsOfLeaves(engine);
  if (!addUp(sums, head)) throw headDamaged("the leaves do not add up to its totals");
  return { tip: new Tip(null, head, sums), durable: sums.copy() };
}

function authenticHead(engine: Reads, treeKey: KeyObject): Head | null {
  const bytes = engine.meta(HEAD_ROW);
  if (bytes === null || !headIsAuthentic(bytes, treeKey)) return null;
  const head = orNull(() => decodeHead(bytes));
  // Ours, but of a form that we do not know: no repair may touch what a later version wrote.
  if (head === null) throw headDamaged("it was written by another version");
  return head;
}

/** The last entry must be the one the head speaks of. Null when it is. */
function wrongEnd(engine: Reads, head: Head): string | null {
  const last = engine.lastLog();
  if (last !== null && last > head.index) return "the log goes beyond it";
  const row = head.index === 0n ? undefined : engine.logs(head.index, 1)[0];
  if (row === undefined) {
    const tail = tailOf(engine);
    const trimmed = tail !== null && tail.first > head.index;
    return head.index > 0n && !trimmed ? "the last log entry is missing" : null;
  }
  const entry = orNull(() => decodeEntry(row.entry));
  const same = entry !== null && equalBytes(entry.chain, head.chain);
  return same ? null : "the last log entry is another one";
}

function wrongTail(engine: Reads): string | null {
  return tailOf(engine) === null ? "its tail is damaged" : null;
}

function tailOf(engine: Reads): Tail | null {
  const bytes = engine.meta(TAIL_ROW);
  return bytes === null ? null : orNull(() => decodeTail(bytes));
}

/** The head stands; the entries before it are removed, and secondaries are repaired by diff. */
function logAbandoned(engine: Reads, head: Head): Opened["abandoned"] {
  const last = engine.lastLog() ?? 0n;
  const below = (last > head.index ? last : head.index) + 1n;
  const { chain, logBytes } = head;
  return {
    below,
    tail: { first: head.index + 1n, chainBefore: chain, logBytesBefore: logBytes },
  };
}

function headFromLog(engine: Reads): Head {
  const last = engine.lastLog();
  const timeline = engine.meta(TIMELINE_ROW);
  if (last === null || timeline === null) {
    throw headDamaged("and there is no log to rebuild it from");
  }
  const lineage = orNull(() => uuidBytes(decodeTimeline(timeline).lineage));
  const entry = orNull(() => decodeEntry(engine.logs(last, 1)[0]!.entry));
  if (lineage === null || entry === null || entry.index !== last) {
    throw headDamaged("and so is the timeline or the last log entry");
  }
  const { epoch, index, chain } = entry;
  const position = { lineage, epoch, index, chain, lastDr: index, lastPerf: index };
  return { ...position, logBytes: retainedBytes(engine), ...totalsOf(new Forest()) };
}

function retainedBytes(engine: Reads): bigint {
  let bytes = tailOf(engine)?.logBytesBefore ?? 0n;
  let from = 0n;
  for (;;) {
    const rows = engine.logs(from, 16); // few at a time: an entry may have many megabytes
    if (rows.length === 0) return bytes;
    for (const row of rows) bytes += BigInt(row.entry.length);
    from = rows.at(-1)!.index + 1n;
  }
}

function orNull<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}

function totalsOf(forest: Forest): Pick<Head, "shared" | "local"> {
  return { shared: forest.shared.total(), local: forest.local.total() };
}

function addUp(forest: Forest, head: Head): boolean {
  const totals = totalsOf(forest);
  return sameTotal(totals.shared, head.shared) && sameTotal(totals.local, head.local);
}

function isOfHead(engine: Reads, { headRow }: ReadSums): boolean {
  const now = engine.meta(HEAD_ROW);
  return now !== null && equalBytes(now, headRow);
}

/** The sums as they are stored. There may be 131,072 of them, so others get their turns meanwhile. */
export async function storedSums(reads: Reads, slices: Slices): Promise<Forest> {
  const forest = new Forest();
  for (const rows of pagesOfSums(reads)) {
    for (const row of rows) forest.of(row.slot).set(row);
    await slices.pause();
  }
  return forest;
}

function storedSumsNow(engine: Reads): Forest {
  const forest = new Forest();
  for (const rows of pagesOfSums(engine)) for (const row of rows) forest.of(row.slot).set(row);
  return forest;
}

function* pagesOfSums(reads: Reads): Generator<SumRow[]> {
  for (let from: number | undefined; ;) {
    const page = reads.sums(from, PAGE_ROWS);
    yield page.filter(isSumRow);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return;
    from = last.slot + 1;
  }
}

/** The sums as the leaf rows give them. */
function sumsOfLeaves(engine: Reads): Forest {
  const forest = new Forest();
  let after: { slot: number; key: string } | null = null;
  for (;;) {
    const page = engine.leaves(after, PAGE_ROWS);
    for (const row of page.filter(({ slot }) => isSlot(slot))) {
      forest.of(row.slot).replace(row.slot, null, row.hash);
    }
    if (page.length < PAGE_ROWS) return forest;
    const last = page.at(-1)!;
    after = { slot: last.slot, key: last.key };
  }
}

/** A head that vanished must not make a store look new: creating one would overwrite its keys. Nor does one that is
 *  being filled. */
export function hasBegun(engine: Reads): boolean {
  const rows = [HEAD_ROW, TAIL_ROW, TIMELINE_ROW, SYNC_ROW];
  return rows.some((name) => engine.meta(name) !== null) || engine.lastLog() !== null;
}

/** Before the keys are there only the position is told; a head that makes no sense is null until then. */
export function readHead(bytes: Uint8Array | null): Head | null {
  try {
    return bytes === null ? null : decodeHead(bytes);
  } catch (error) {
    if (error instanceof MalformedBytes) return null;
    throw error;
  }
}

export interface Identity {
  readonly lineage: Uint8Array; // 16 bytes
  readonly cluster: string;
}

/** The rows of a store that begins: an empty log of its own lineage. */
export function creation(treeKey: KeyObject, identity: Identity) {
  const none = { sum: new Uint8Array(32), count: 0 };
  const head: Head = {
    lineage: concat(identity.lineage),
    epoch: 1,
    index: 0n,
    chain: firstChain(identity.lineage),
    lastDr: 0n,
    lastPerf: 0n,
    logBytes: 0n,
    shared: none,
    local: none,
  };
  const tail = { first: 1n, chainBefore: head.chain, logBytesBefore: 0n };
  const meta = new Map([
    [TAIL_ROW, encodeTail(tail)],
    [TIMELINE_ROW, encodeTimeline(firstTimeline(head, identity.cluster))],
    [LEAF_FORM_ROW, u8(LEAF_FORM)],
  ]);
  return { tip: new Tip(treeKey, head, new Forest()), meta };
}
