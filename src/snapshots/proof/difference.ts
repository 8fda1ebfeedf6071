// What differs between two archives: which secrets, policies, mounts, roles and namespaces are new, gone or changed, and
// how many tokens and leases there were. Of values only that they differ is told. Both are read once, side by side.

import { equalBytes, wipe } from "@holdfast/shared/bytes";
import type { Clock, Timers } from "@holdfast/shared/world";
import { Slices } from "../../storage/commit/slices.ts";
import { compareKeys } from "../../storage/key.ts";
import { type CountedKind, EntryNames, type NamedEntry } from "./named-entries.ts";
import type { OpenedEntry } from "./opened-entries.ts";

/** Named in a list; the counts are complete. */
const MAX_NAMED = 10_000;

export type Change = "added" | "removed" | "changed";

export interface NamedChange extends NamedEntry {
  readonly change: Change;
}

type Counts = Readonly<Record<Change, number>>;

export interface Difference {
  readonly changes: readonly NamedChange[];
  /** Of all that has a name, those that are not in the list too. */
  readonly named: Counts;
  /** Rows that serve others: indexes, times, versions of secrets. */
  readonly other: Counts;
  readonly tokens: { readonly before: number; readonly after: number };
  readonly leases: { readonly before: number; readonly after: number };
}

export async function differenceOf(
  before: AsyncIterable<OpenedEntry>,
  after: AsyncIterable<OpenedEntry>,
  world: { readonly clock: Clock; readonly timers: Timers; readonly signal?: AbortSignal },
): Promise<Difference> {
  const slices = new Slices(world, world.signal);
  const old = new Side(before);
  const young = new Side(after);
  const tally = new Tally();
  await Promise.all([old.next(), young.next()]);
  try {
    for (let a = old.here, b = young.here; a !== null || b !== null; a = old.here, b = young.here) {
      const order = a === null ? 1 : b === null ? -1 : compareKeys(a.key, b.key);
      if (order <= 0 && a !== null) tally.count("before", a.what);
      if (order >= 0 && b !== null) tally.count("after", b.what);
      if (order < 0 && a !== null) tally.add("removed", a.what);
      else if (order > 0 && b !== null) tally.add("added", b.what);
      else if (a !== null && b !== null && !equalBytes(a.plaintext, b.plaintext)) {
        tally.add("changed", b.what);
      }
      if (order <= 0) await old.next();
      if (order >= 0) await young.next();
      await slices.pause();
    }
    return tally.difference();
  } finally {
    await Promise.all([old.end(), young.end()]);
  }
}

interface Placed extends OpenedEntry {
  readonly what: NamedEntry | CountedKind;
}

/** One of the two, at the entry that is looked at. */
class Side {
  readonly #entries: AsyncIterator<OpenedEntry>;
  readonly #names = new EntryNames();
  /** Null at the end. */
  here: Placed | null = null;

  constructor(entries: AsyncIterable<OpenedEntry>) {
    this.#entries = entries[Symbol.asyncIterator]();
  }

  async next(): Promise<void> {
    wipe(this.here?.plaintext);
    const next = await this.#entries.next();
    this.here = next.done === true ? null : { ...next.value, what: this.#names.nameOf(next.value) };
  }

  async end(): Promise<void> {
    wipe(this.here?.plaintext);
    await this.#entries.return?.();
  }
}

class Tally {
  readonly #changes: NamedChange[] = [];
  readonly #named = { added: 0, removed: 0, changed: 0 };
  readonly #other = { added: 0, removed: 0, changed: 0 };
  readonly #tokens = { before: 0, after: 0 };
  readonly #leases = { before: 0, after: 0 };

  count(side: "before" | "after", what: NamedEntry | CountedKind): void {
    if (what === "tokens") this.#tokens[side]++;
    if (what === "leases") this.#leases[side]++;
  }

  add(change: Change, what: NamedEntry | CountedKind): void {
    if (what === "tokens" || what === "leases") return; // they are counted
    if (what === "other") {
      this.#other[change]++;
      return;
    }
    this.#named[change]++;
    if (this.#changes.length < MAX_NAMED) this.#changes.push({ change, ...what });
  }

  difference(): Difference {
    return {
      changes: this.#changes,
      named: this.#named,
      other: this.#other,
      tokens: this.#tokens,
      leases: this.#leases,
    };
  }
}
