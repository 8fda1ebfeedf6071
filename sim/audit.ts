// Compares every row of an engine with what the naive state says must be there: data, leaves, sums
// (by bigint arithmetic), log entries, chain, head, tail. Run on what a crash has left, before the
// store gets a chance to mend it.

import type { KeyObject } from "node:crypto";
import { EMPTY, equalBytes, hex } from "@holdfast/shared/bytes";
import type { Reads, Row } from "../src/storage/engines/engine.ts";
import * as heads from "../src/storage/rows/head.ts";
import { chainEntry, decodeEntry, encodeEntry, firstChain } from "../src/storage/rows/log-entry.ts";
import { followsFrom, type LogEntry } from "../src/storage/rows/log-entry.ts";
import { leafHash, sha256, slotOf } from "../src/storage/rows/merkle.ts";
import { type Entry, isIgnored, type State, type StateRow, Violation } from "./state.ts";

const MODULUS = 1n << 256n;
const ALL = { from: "", to: null, limit: Infinity };

export interface Identity {
  readonly lineage: Uint8Array;
  readonly cluster: string;
}

/** An entry of the log as it must be stored. */
interface RightEntry {
  readonly bytes: Uint8Array;
  readonly chain: Uint8Array;
}

interface RightLeaf {
  readonly slot: number | null;
  readonly hash: Uint8Array;
  readonly number: bigint;
}

interface Sum {
  sum: bigint;
  count: number;
}

export class Audit {
  readonly #treeKey: KeyObject;
  readonly #identity: Identity;
  // Both are the same whenever they are asked for.
  readonly #known = new WeakMap<Entry, RightEntry>();
  readonly #leaves = new WeakMap<StateRow, RightLeaf>();

  constructor(treeKey: KeyObject, identity: Identity) {
    this.#treeKey = treeKey;
    this.#identity = identity;
  }

  /** Whether the data rows and the position of the log are those of the state. */
  explains(engine: Reads): (state: State) => boolean {
    const rows = engine.rows(ALL);
    const head = engine.meta(heads.HEAD_ROW);
    const tail = engine.meta(heads.TAIL_ROW);
    const index = head === null ? null : heads.decodeHead(head).index;
    return (state) =>
      state.created === (index !== null) &&
      state.index === (index ?? 0n) &&
      firstDifference(rows, state) === null &&
      (tail === null) === (state.tail === null) &&
      (tail === null || heads.decodeTail(tail).first === state.tail?.first);
  }

  /** For a message: how what was found differs from a state. */
  describe(engine: Reads, state: State): string {
    const head = engine.meta(heads.HEAD_ROW);
    const index = head === null ? "no head" : `head ${heads.decodeHead(head).index}`;
    const key = firstDifference(engine.rows(ALL), state);
    return `${index}, against ${state.index}; first difference: ${key ?? "none in the data"}`;
  }

  /** Throws at the first row that is not as the state says. */
  check(engine: Reads, state: State): void {
    const key = firstDifference(engine.rows(ALL), state);
    if (key !== null) throw new Violation(`the data row of ${key} is wrong`);
    if (!state.created) {
      if (engine.lastLog() !== null || engine.leaves(null, 1).length > 0) {
        throw new Violation("a store that was not created has rows");
      }
      return;
    }
    const totals = this.#checkTrees(engine, state);
    const { chain, logBytes, lastPerf } = this.#checkLog(engine, state);
    const stored = engine.meta(heads.HEAD_ROW);
    if (stored === null || !heads.headIsAuthentic(stored, this.#treeKey)) {
      throw new Violation("the head is not authentic");
    }
    const head = heads.decodeHead(stored);
    const right: [string, boolean][] = [
      ["lineage", equalBytes(head.lineage, this.#identity.lineage)],
      ["epoch", head.epoch === 1],
      ["index", head.index === state.index],
      ["chain", equalBytes(head.chain, chain)],
      ["lastDr", head.lastDr === state.index],
      ["lastPerf", head.lastPerf === lastPerf],
      ["logBytes", head.logBytes === logBytes],
      ["shared", BigInt(`0x${hex(head.shared.sum)}`) === totals.shared.sum],
      ["shared count", head.shared.count === totals.shared.count],
      ["local", BigInt(`0x${hex(head.local.sum)}`) === totals.local.sum],
      ["local count", head.local.count === totals.local.count],
    ];
    const wrong = right.find(([, holds]) => !holds);
    if (wrong !== undefined) throw new Violation(`the head has a wrong ${wrong[0]}`);
    const timeline = engine.meta(heads.TIMELINE_ROW);
    if (timeline === null) throw new Violation("the timeline is missing");
    const { epochs } = heads.decodeTimeline(timeline);
    if (epochs.length !== 1 || epochs[0]?.cluster !== this.#identity.cluster) {
      throw new Violation("the timeline is wrong");
    }
  }

  #checkTrees(engine: Reads, state: State): { shared: Sum; local: Sum } {
    const sums = new Map<number, Sum>();
    const totals = { shared: { sum: 0n, count: 0 }, local: { sum: 0n, count: 0 } };
    const leaves = new Map(engine.leaves(null, Infinity).map((leaf) => [leaf.key, leaf]));
    for (const [key, row] of state.rows) {
      if (isIgnored(key)) continue;
      const tree = key.startsWith("shared/") ? "shared" : "local";
      const right = this.#rightLeaf(key, row);
      const leaf = leaves.get(key);
      const same = leaf?.slot === right.slot && equalBytes(leaf.hash, right.hash);
      if (!same || !equalBytes(leaf.scope, row.scope)) {
        throw new Violation(`the leaf of ${key} is wrong`);
      }
      leaves.delete(key);
      let sum = sums.get(leaf.slot);
      if (sum === undefined) sums.set(leaf.slot, (sum = { sum: 0n, count: 0 }));
      for (const part of [sum, totals[tree]]) {
        part.sum = (part.sum + right.number) % MODULUS;
        part.count++;
      }
    }
    const [left] = leaves.keys();
    if (left !== undefined) throw new Violation(`there is a leaf of ${left}, which is not stored`);
    for (const { slot, sum, count } of engine.sums()) {
      const right = sums.get(slot) ?? { sum: 0n, count: 0 };
      if (BigInt(`0x${hex(sum)}`) !== right.sum || count !== right.count) {
        throw new Violation(`the sum of subpage ${slot} is wrong`);
      }
      sums.delete(slot);
    }
    if (sums.size > 0) throw new Violation("a sum row is missing");
    return totals;
  }

  #rightLeaf(key: string, row: StateRow): RightLeaf {
    const known = this.#leaves.get(row);
    if (known !== undefined) return known;
    const slot = slotOf(key.startsWith("shared/") ? "shared" : "local", key);
    const hash = leafHash(this.#treeKey, key, row.scope, sha256(row.value));
    const right = { slot, hash, number: BigInt(`0x${hash.toString("hex")}`) };
    this.#leaves.set(row, right);
    return right;
  }

  #checkLog(
    engine: Reads,
    state: State,
  ): { chain: Uint8Array; logBytes: bigint; lastPerf: bigint } {
    const rows = new Map(engine.logs(0n, Infinity).map(({ index, entry }) => [index, entry]));
    const stored = engine.meta(heads.TAIL_ROW);
    const tail = stored === null ? null : heads.decodeTail(stored);
    let chain: Uint8Array = firstChain(this.#identity.lineage);
    let logBytes = 0n;
    let lastPerf = 0n;
    const checkTail = (index: bigint) => {
      if (tail?.first !== index) return;
      if (!equalBytes(tail.chainBefore, chain) || tail.logBytesBefore !== logBytes) {
        throw new Violation("the tail does not fit what was cut off");
      }
    };
    for (const entry of state.log) {
      const index = entry.index!;
      checkTail(index);
      const right = this.#rightEntry(entry, chain);
      const bytes = rows.get(index);
      const isCut = index < (state.tail?.first ?? 1n);
      if (isCut && bytes !== undefined) {
        throw new Violation(`log entry ${index} should have been cut off`);
      }
      if (!isCut) {
        if (bytes === undefined) throw new Violation(`log entry ${index} is missing`);
        if (!equalBytes(bytes, right.bytes)) {
          checkEntry(decodeEntry(bytes), entry, chain); // says what differs, if it is the content
          throw new Violation(`log entry ${index} is encoded in another way`);
        }
      }
      rows.delete(index);
      chain = right.chain;
      logBytes += BigInt(right.bytes.length);
      const shared = entry.changes.some(({ key }) => key.startsWith("shared/"));
      if (shared || entry.control !== null) lastPerf = index;
    }
    checkTail(state.index + 1n);
    if (tail === null || tail.first > state.index + 1n) throw new Violation("the tail is wrong");
    if (rows.size > 0) throw new Violation(`the log has ${rows.size} entries too many`);
    return { chain, logBytes, lastPerf };
  }

  #rightEntry(entry: Entry, before: Uint8Array): RightEntry {
    const known = this.#known.get(entry);
    if (known !== undefined) return known;
    const operations = entry.changes
      .filter(({ key }) => !isIgnored(key))
      .map(({ key, value, scope }) => ({
        class: key.startsWith("shared/") ? ("shared" as const) : ("local" as const),
        scope,
        key,
        value,
        valueDigest: value === null ? EMPTY : sha256(value),
      }));
    const { index, time, control } = entry;
    const made = chainEntry({ epoch: 1, index: index!, time, operations, control }, before);
    const right = { bytes: encodeEntry(made), chain: made.chain };
    this.#known.set(entry, right);
    return right;
  }
}

/** The first key whose row is not that of the state; null when all rows agree. */
export function firstDifference(rows: readonly Row[], state: State): string | null {
  for (const { key, value } of rows) {
    const right = state.rows.get(key)?.value;
    if (right === undefined || !equalBytes(value, right)) return key;
  }
  if (rows.length === state.rows.size) return null;
  const found = new Set(rows.map(({ key }) => key));
  return [...state.rows.keys()].find((key) => !found.has(key)) ?? null;
}

function checkEntry(found: LogEntry, entry: Entry, before: Uint8Array): void {
  const expected = entry.changes.filter(({ key }) => !isIgnored(key));
  const same =
    found.epoch === 1 &&
    found.index === entry.index &&
    found.time === entry.time &&
    found.control?.type === entry.control?.type &&
    (entry.control === null || equalBytes(found.control!.body, entry.control.body)) &&
    found.operations.length === expected.length &&
    found.operations.every((operation, i) => {
      const { key, value, scope } = expected[i]!;
      const bytes = operation.value;
      return (
        operation.key === key &&
        operation.class === (key.startsWith("shared/") ? "shared" : "local") &&
        equalBytes(operation.scope, scope) &&
        (bytes === null || value === null ? bytes === value : equalBytes(bytes, value))
      );
    });
  if (!followsFrom(found, before)) throw new Violation(`the chain breaks at ${entry.index}`);
  if (!same) throw new Violation(`log entry ${entry.index} is not what the transaction changed`);
}
