// Healing: rows and leaves that are damaged here are taken from another cluster of the same log. Nothing that it sends is
// believed: a row must be that of the leaf that is here, and where leaves are gone or wrong as well, the sum of their
// subpage, which the head vouches for, must come out right with it. So sums, totals and roots never change by it.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../commit/slices.ts";
import type { LeafChange } from "../commit/tip.ts";
import type { Leaf, LeafRow } from "../engines/engine.ts";
import type { AdoptedRow } from "../following/adopting.ts";
import { classOf, hasClass, isLegalKey } from "../key.ts";
import { CORE_SCOPE, SCOPE_BYTES } from "../rows/log-entry.ts";
import { sha256, slotAt, slotOf, sumOf } from "../rows/merkle.ts";
import type { Mending, Store } from "../store.ts";
import type { StoredChange } from "../transaction.ts";
import type { CheckReport } from "./check.ts";

const GROUP_KEYS = 32; // of one question: each may be a record of megabytes
const GROUP_SLOTS = 64;
const MAX_NAMED = 1000;

/** Another cluster that follows this log, or that this one follows. */
export interface Replica {
  readonly name: string;
  /** The keys that it has in these slots. */
  keys(slots: readonly number[]): Promise<readonly string[]>;
  /** What it has at these keys; without those that it cannot tell. */
  rows(keys: readonly string[]): Promise<readonly AdoptedRow[]>;
}

/** At most 1,000 keys are named; the counts are complete. */
export interface HealReport {
  /** Keys whose row and leaf are right again. */
  readonly healed: { readonly count: number; readonly keys: readonly string[] };
  /** Keys for which somebody has sent another record than the one that was stored here. */
  readonly refused: readonly { readonly replica: string; readonly key: string }[];
  /** Subpages whose stored sum was written again. */
  readonly sums: number;
  /** Who did not answer, and why. */
  readonly silent: readonly { readonly replica: string; readonly cause: unknown }[];
}

export interface HealWorld {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** What a check has found is made right where somebody has it; what nobody has stays as it is. */
export async function healStore(
  store: Pick<Store, "mend">,
  found: CheckReport,
  replicas: readonly Replica[],
  world: HealWorld,
): Promise<HealReport> {
  const healing = new Healing(store, found);
  const slices = new Slices(world);
  for (const slot of healing.left) {
    await healing.fromOwnRows(slot);
    await slices.pause();
  }
  for (const replica of replicas) await healing.from(replica, slices);
  return healing.report;
}

class Healing {
  readonly #store: Pick<Store, "mend">;
  /** Slots in which something is wrong. */
  readonly left: Set<number>;
  readonly #surplus: ReadonlyMap<number, readonly string[]>;
  readonly #healed = new Set<string>();
  readonly #refused: { replica: string; key: string }[] = [];
  readonly #silent: { replica: string; cause: unknown }[] = [];
  #sums = 0;

  constructor(store: Pick<Store, "mend">, found: CheckReport) {
    this.#store = store;
    const { wrongSubpages, missing, surplus, different } = found;
    const named = [...missing, ...surplus, ...different].filter(hasPlace).map(placeOf);
    this.left = new Set([...wrongSubpages.map(slotAt), ...named]);
    this.#surplus = Map.groupBy(surplus.filter(hasPlace), placeOf);
  }

  get report(): HealReport {
    return {
      healed: { count: this.#healed.size, keys: [...this.#healed].slice(0, MAX_NAMED) },
      refused: this.#refused,
      sums: this.#sums,
      silent: this.#silent,
    };
  }

  /** A leaf that is wrong beside a row that is whole needs nobody else. */
  async fromOwnRows(slot: number): Promise<void> {
    await this.#settle(slot, (mending, state) => {
      const leaves = new Map(state.own.map((leaf) => [leaf.key, leaf]));
      return [...state.wrong, ...state.surplus].flatMap((key) => {
        const value = mending.value(key);
        return value === null ? [] : [{ key, value, scope: leaves.get(key)?.scope ?? CORE_SCOPE }];
      });
    });
  }

  /** First what is known to be wrong, for as long as that brings something: one answer may not hold everything. Then all that
   *  is in a subpage: one row may be as old as its leaf. */
  async from(replica: Replica, slices: Slices): Promise<void> {
    for (const isAll of [false, true]) {
      for (let before = -1; before < this.#healed.size && this.left.size > 0;) {
        before = this.#healed.size;
        const slots = [...this.left];
        for (let at = 0; at < slots.length; at += GROUP_SLOTS) {
          try {
            await this.#ask(replica, slots.slice(at, at + GROUP_SLOTS), isAll);
          } catch (cause) {
            this.#silent.push({ replica: replica.name, cause });
            return;
          }
          await slices.pause();
        }
      }
    }
  }

  async #ask(replica: Replica, slots: readonly number[], isAll: boolean): Promise<void> {
    const wanted = new Map<number, Set<string>>();
    const unsure = new Map<number, Set<string>>(); // with the keys that have a leaf
    for (const slot of slots) {
      const state = await this.#look(slot);
      const own = state.own.map(({ key }) => key);
      const known = isAll && !state.addsUp ? own : state.wrong;
      wanted.set(slot, new Set([...known, ...state.surplus]));
      if (!state.addsUp) unsure.set(slot, new Set(own));
    }
    // A row that went with its leaf has no name here any more.
    const theirs = unsure.size === 0 ? [] : await replica.keys([...unsure.keys()]);
    for (const key of theirs.filter(leavesCluster)) {
      const slot = placeOf(key);
      if (unsure.get(slot)?.has(key) === false) wanted.get(slot)!.add(key);
    }
    for (const group of groupsOf(wanted)) {
      const all = [...group.values()].flatMap((keys) => [...keys]);
      const rows = await replica.rows(all.filter(leavesCluster));
      for (const [slot, keys] of group) {
        const sent = rows.filter((row) => keys.has(row.key) && isRow(row));
        // Nobody has a record of a name that cannot be written.
        const illegal = [...keys].filter((key) => !leavesCluster(key)).map(absent);
        const refused = await this.#settle(slot, () => [...sent, ...illegal]);
        for (const key of refused) this.#refuse(replica.name, key);
      }
    }
  }

  #refuse(replica: string, key: string): void {
    const isKnown = this.#refused.some((one) => one.replica === replica && one.key === key);
    if (!isKnown && this.#refused.length < MAX_NAMED) this.#refused.push({ replica, key });
  }

  async #look(slot: number): Promise<SlotState> {
    const found: { state?: SlotState } = {};
    await this.#store.mend((mending) => {
      found.state = this.#stateOf(mending, slot);
      return null;
    });
    return found.state!;
  }

  #stateOf(mending: Mending, slot: number): SlotState {
    return stateOf(mending, slot, this.#surplus.get(slot) ?? []);
  }

  /** Takes of the rows what is proved, in one transaction; gives the keys of those that are not what was stored. */
  async #settle(
    slot: number,
    rowsFor: (mending: Mending, state: SlotState) => readonly AdoptedRow[],
  ): Promise<readonly string[]> {
    const outcome = { refused: [] as string[], healed: new Set<string>(), isDone: false };
    await this.#store.mend((mending) => {
      const state = this.#stateOf(mending, slot);
      const rows = rowsFor(mending, state).filter(({ key }) => state.isSuspect(key));
      const taken = proved(mending, state, rows);
      const healed = new Set(taken.rows.map(({ key }) => key));
      const other = rows.filter((row) => !healed.has(row.key) && isOther(mending, state, row));
      const isRest = [...state.wrong, ...state.surplus].some((key) => !healed.has(key));
      outcome.healed = healed;
      outcome.refused = other.map(({ key }) => key);
      outcome.isDone = taken.addsUp && !isRest;
      if (healed.size === 0 && !outcome.isDone) return null;
      return changesOf(mending, slot, state, taken);
    });
    const { healed, refused, isDone } = outcome;
    for (const key of healed) this.#healed.add(key);
    if (isDone) this.left.delete(slot);
    if (isDone && healed.size === 0) this.#sums++;
    return refused;
  }
}

/** A slot after everything accepted. */
interface SlotState {
  readonly slot: number;
  /** The leaves of keys that belong here. */
  readonly own: readonly LeafRow[];
  /** Leaves of others. */
  readonly strays: readonly LeafRow[];
  /** Keys whose row is not that of their leaf, or is gone. */
  readonly wrong: readonly string[];
  /** Keys with a row and no leaf. */
  readonly surplus: readonly string[];
  /** The leaves are those that the tree knows. */
  readonly addsUp: boolean;
  /** Whether a row at this key would mend something. */
  readonly isSuspect: (key: string) => boolean;
}

function stateOf(mending: Mending, slot: number, named: readonly string[]): SlotState {
  const leaves = mending.leavesFrom(slot).bySlot.get(slot) ?? [];
  const own = leaves.filter(({ key }) => hasPlace(key) && placeOf(key) === slot);
  const strays = leaves.filter((leaf) => !own.includes(leaf));
  const wrong = own.filter((leaf) => !isWhole(mending, leaf)).map(({ key }) => key);
  const known = new Set(own.map(({ key }) => key));
  const surplus = named.filter((key) => !known.has(key) && mending.has(key));
  const suspects = new Set([...wrong, ...surplus]);
  const addsUp = strays.length === 0 && isSumOf(mending, slot, own);
  return {
    slot,
    own,
    strays,
    wrong,
    surplus,
    addsUp,
    // Where the leaves are wrong any of them may be, and there may have been others.
    isSuspect: (key) => suspects.has(key) || (!addsUp && (known.has(key) || !mending.has(key))),
  };
}

function isWhole(mending: Mending, { key, scope, hash }: LeafRow): boolean {
  const value = mending.value(key);
  return value !== null && equalBytes(mending.tip.leafHash(key, scope, sha256(value)), hash);
}

function isSumOf(mending: Mending, slot: number, leaves: readonly Leaf[]): boolean {
  const { sum, count } = sumOf(
    slot,
    leaves.map(({ hash }) => hash),
  );
  const right = mending.tip.sum(slot);
  return count === right.count && equalBytes(sum, right.sum);
}

/** Whether somebody sends a record that is neither the one that is here nor the one that was. */
function isOther(mending: Mending, state: SlotState, row: AdoptedRow): boolean {
  const leaf = leafOf(mending, row);
  const known = state.own.find(({ key }) => key === row.key);
  return leaf !== null && (known === undefined || !equalBytes(leaf.hash, known.hash));
}

interface Taken {
  readonly rows: readonly (AdoptedRow & { readonly leaf: Leaf | null })[];
  /** With them the leaves are those that the tree knows: what is no leaf of a key here goes. */
  readonly addsUp: boolean;
}

/** All of them where the sum of the slot is right with them; else those that are what their leaf says. */
function proved(mending: Mending, state: SlotState, rows: readonly AdoptedRow[]): Taken {
  const candidates = rows.map((row) => ({ ...row, leaf: leafOf(mending, row) }));
  const leaves = new Map<string, Leaf>(state.own.map((leaf) => [leaf.key, leaf]));
  for (const { key, leaf } of candidates) {
    if (leaf === null) leaves.delete(key);
    else leaves.set(key, leaf);
  }
  const own = new Map(state.own.map((leaf) => [leaf.key, leaf]));
  const wrong = new Set(state.wrong);
  const isSame = (leaf: Leaf | null, known: Leaf | undefined) =>
    leaf !== null && known !== undefined && equalBytes(leaf.hash, known.hash);
  if (isSumOf(mending, state.slot, [...leaves.values()])) {
    const changed = candidates.filter(
      ({ key, leaf }) => wrong.has(key) || !isSame(leaf, own.get(key)),
    );
    return { rows: changed, addsUp: true };
  }
  const single = candidates.filter(({ key, leaf }) => {
    const known = own.get(key);
    if (known === undefined) return leaf === null && state.addsUp;
    return wrong.has(key) && isSame(leaf, known);
  });
  return { rows: single, addsUp: state.addsUp };
}

function leafOf(mending: Mending, { key, scope, value }: AdoptedRow): Leaf | null {
  if (value === null) return null;
  return { hash: mending.tip.leafHash(key, scope, sha256(value)), scope };
}

/** The tree knows the right sum already: rows, leaves and the stored sum follow it. */
function changesOf(mending: Mending, slot: number, state: SlotState, taken: Taken) {
  const changes = new Map<string, StoredChange>();
  const leaves: LeafChange[] = [];
  for (const { key, scope, value, leaf } of taken.rows) {
    if (value !== null || mending.has(key)) {
      changes.set(key, { value, scope, plain: null, fresh: false });
    }
    leaves.push({ slot, key, leaf });
  }
  const strays = taken.addsUp ? state.strays : [];
  leaves.push(...strays.map(({ key }) => ({ slot, key, leaf: null })));
  const sums = new Map(taken.addsUp ? [[slot, mending.tip.sum(slot)]] : []);
  return { changes, leaves, sums };
}

/** Whole slots, up to so many keys; at least one. */
function* groupsOf(
  wanted: ReadonlyMap<number, ReadonlySet<string>>,
): Generator<Map<number, ReadonlySet<string>>> {
  let group = new Map<number, ReadonlySet<string>>();
  let count = 0;
  for (const [slot, keys] of wanted) {
    if (keys.size === 0) continue;
    if (count > 0 && count + keys.size > GROUP_KEYS) {
      yield group;
      group = new Map();
      count = 0;
    }
    group.set(slot, keys);
    count += keys.size;
  }
  if (count > 0) yield group;
}

/** Whether it has a slot; a damaged one may have one that no transaction would have written. */
function hasPlace(key: string): boolean {
  return hasClass(key) && classOf(key) !== "ignored";
}

function leavesCluster(key: string): boolean {
  return isLegalKey(key) && classOf(key) !== "ignored";
}

function placeOf(key: string): number {
  return slotOf(classOf(key), key)!;
}

function absent(key: string): AdoptedRow {
  return { key, scope: CORE_SCOPE, value: null };
}

function isRow({ key, scope, value }: AdoptedRow): boolean {
  return leavesCluster(key) && (value === null || scope.length === SCOPE_BYTES);
}
