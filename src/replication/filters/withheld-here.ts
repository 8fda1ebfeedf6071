// What a secondary is not sent, as it was told last: requests find none of it from the moment that this is stored, and what is here of it
// goes before anything else is taken. The rows are local to the cluster, so that who stands in for it knows it too.

import { fromHex, hex } from "@holdfast/shared/bytes";
import { HOUR, MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { mountScope, namespaceScope } from "../../barrier/scope.ts";
import { Slices } from "../../storage/commit/slices.ts";
import type { ScopeRow } from "../../storage/engines/engine.ts";
import { isSlotOf } from "../../storage/rows/merkle.ts";
import type { AdoptedRow, Store } from "../../storage/store.ts";
import type { Withheld } from "./filter.ts";
import type { WithheldAnswer, WithheldPlace } from "../stream/messages.ts";
import {
  putStand,
  putWithheld,
  storedStand,
  storedWithheld,
  type StoredWithheld,
} from "./withheld-rows.ts";

/** What was given by mounts that go is revoked before; for so long at most. */
const EVACUATED_WITHIN: Nanos = 5n * MINUTE;
/** Own secondaries may need the log still in which it was written; for so long at most. */
const SCRUBBED_WITHIN: Nanos = HOUR;
const PAGE = 128;

/** Up to which index the log is not kept for longer than others need it; null where nothing has gone from it. */
export function scrubOf(view: View, now: Instant): { index: bigint; isLate: boolean } | null {
  const { scrub } = storedStand(view);
  if (scrub === undefined) return null;
  return { index: BigInt(scrub.index), isLate: now - BigInt(scrub.since) > SCRUBBED_WITHIN };
}

export interface WithheldHereParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Of local/replication/performance/. */
  readonly view: View;
  /** Mounts are withheld, or no more: the room looks at them again. */
  readonly changed: (mounts: readonly string[]) => void;
  /** Resolves when nothing is left that was given by these. */
  readonly evacuated: (mounts: readonly string[], signal: AbortSignal) => Promise<void>;
  /** Something is withheld that was not: copies that are no rows may hold it. */
  readonly anew: () => void;
  /** What was given up for another primary, and is of these scopes, goes. `found`: called before each part that goes. */
  readonly purge: (scopes: ReadonlySet<string>, steps: PurgeSteps) => Promise<void>;
  /** Namespaces that are not withheld any more, with their paths: those that are not here by now are gone. Said again after a crash. */
  readonly lifted: (
    namespaces: readonly { readonly id: string; readonly path: string }[],
  ) => Promise<void>;
}

export interface PurgeSteps {
  readonly pause: () => Promise<void>;
  readonly found: () => Promise<void>;
}

export class WithheldHere {
  readonly #parts: WithheldHereParts;
  #now: StoredWithheld | null = null;

  constructor(parts: WithheldHereParts) {
    this.#parts = parts;
  }

  get #stored(): StoredWithheld {
    return (this.#now ??= storedWithheld(this.#parts.view));
  }

  /** Another cluster may have written it, whose data is here. */
  reread(): void {
    this.#now = null;
  }

  get version(): string {
    return this.#stored.version;
  }

  /** Whether rows are here, or are missing, that should not be. */
  get isDue(): boolean {
    return this.#stored.isDue;
  }

  /** Of mounts and namespaces. */
  get count(): number {
    const { mounts, namespaces } = this.#stored;
    return Object.keys(mounts).length + Object.keys(namespaces).length;
  }

  get now(): Withheld {
    const { mounts, namespaces } = this.#stored;
    return {
      mounts: new Map(Object.entries(mounts)),
      namespaces: new Map(Object.entries(namespaces)),
    };
  }

  isMount(uuid: string): boolean {
    return Object.hasOwn(this.#stored.mounts, uuid);
  }

  isNamespace(id: string): boolean {
    return Object.hasOwn(this.#stored.namespaces, id);
  }

  /** From when this resolves requests find nothing of it. `isOtherLog`: the log of the primary is not the one that was followed here up to now. What
   *  had gone in that one may be there again, in a restore or where a stand-in was behind: no row here tells of it, and the own log has it. */
  async install(
    { version, mounts, namespaces }: WithheldAnswer,
    isOtherLog: boolean,
  ): Promise<void> {
    const before = this.#stored;
    const { scrub, mounts: had, namespaces: ofThen } = before;
    const now = pathsOf(namespaces);
    const until = Object.entries({ ...before.lifted, ...before.namespaces });
    const lifted = until.filter(([id]) => !Object.hasOwn(now, id));
    const isAnew =
      mounts.some(({ id }) => !Object.hasOwn(had, id)) ||
      namespaces.some(({ id }) => !Object.hasOwn(ofThen, id));
    const hasGone = before.hasGone === true || (isAnew && isOtherLog);
    const next: StoredWithheld = {
      version,
      mounts: pathsOf(mounts),
      namespaces: now,
      isDue: true,
      ...(hasGone ? { hasGone } : {}),
      ...(lifted.length === 0 ? {} : { lifted: Object.fromEntries(lifted) }),
      ...(scrub === undefined ? {} : { scrub }),
    };
    await this.#parts.view.write((tx) => putWithheld(tx, next), { essential: true });
    this.#now = next;
    if (isAnew) this.#parts.anew();
    this.#parts.changed([...new Set([...Object.keys(before.mounts), ...Object.keys(next.mounts)])]);
  }

  /** This cluster has led since it was told: a restore brought back what is withheld, and it may be here, in copies, or in the own log alone. It goes
   *  as if it were told now, also where the primary tells the same. */
  async sinceItLed(): Promise<void> {
    if (this.count === 0) return;
    const next = { ...this.#stored, isDue: true, hasGone: true } as const;
    await this.#parts.view.write((tx) => putStand(tx, next), { essential: true });
    this.#now = next;
    this.#parts.anew();
    this.#parts.changed(Object.keys(next.mounts));
  }

  /** Something is about to go that may be withheld, by now or soon: when it is settled next the own log goes up to there. */
  async going(): Promise<void> {
    if (this.#stored.hasGone === true) return;
    const next = { ...this.#stored, hasGone: true } as const;
    await this.#parts.view.write((tx) => putStand(tx, next), { essential: true });
    this.#now = next;
  }

  /** What is here of it, in parts, those first by which mounts are found. What was given by mounts is revoked before. */
  async *remains(signal: AbortSignal): AsyncGenerator<AdoptedRow[]> {
    const { store } = this.#parts;
    const { mounts } = this.#stored;
    const entries = Object.keys(mounts).flatMap((uuid) => {
      const key = `shared/mounts/${uuid}`;
      const isHere = store.get(key) !== null;
      return isHere ? [{ uuid, key, scope: mountScope(uuid), value: null }] : [];
    });
    if (entries.length > 0)
      await this.#evacuated(
        entries.map(({ uuid }) => uuid),
        signal,
      );
    if (entries.length > 0) await this.going();
    for (let at = 0; at < entries.length; at += PAGE) yield entries.slice(at, at + PAGE);
    const scopes = this.#scopes;
    if (scopes.size > 0) yield* this.#within(scopes, signal);
  }

  /** Of what was given up for another primary. */
  async purge(signal: AbortSignal): Promise<void> {
    const scopes = this.#scopes;
    if (scopes.size === 0) return;
    const slices = new Slices(this.#parts, signal);
    const pause = async () => await slices.pause();
    await this.#parts.purge(scopes, { pause, found: () => this.going() });
  }

  get #scopes(): Set<string> {
    const { mounts, namespaces } = this.#stored;
    return new Set([
      ...Object.keys(mounts).map((uuid) => hex(mountScope(uuid))),
      ...Object.keys(namespaces).map((id) => hex(namespaceScope(id))),
    ]);
  }

  /** Everything is as the primary says. Where something has gone the log of this cluster still has it. */
  async settle(): Promise<void> {
    const { store, clock } = this.#parts;
    const { lifted = {}, hasGone = false, scrub: before, ...stored } = this.#stored;
    await this.#parts.lifted(
      Object.entries(lifted).map(([id, path]) => ({ id, path: path.replace(/\/$/, "") })),
    );
    // What went before and is in the log yet waits no longer for what went now.
    const isOpen = before !== undefined && store.tail!.first <= BigInt(before.index);
    const since = isOpen ? before.since : String(clock.now());
    const scrub = hasGone ? { index: String(store.index), since } : before;
    const next = { ...stored, isDue: false, ...(scrub === undefined ? {} : { scrub }) };
    await this.#parts.view.write((tx) => putWithheld(tx, next), { essential: true });
    this.#now = next;
  }

  async *#within(scopes: ReadonlySet<string>, signal: AbortSignal): AsyncGenerator<AdoptedRow[]> {
    const { store, clock, timers } = this.#parts;
    const slices = new Slices({ clock, timers }, signal);
    for (let after: ScopeRow | null = null; ;) {
      const page = viewed(store, after);
      const found = page.filter(({ slot, scope }) => isSlotOf("shared", slot) && scopes.has(scope));
      if (found.length > 0) {
        await this.going();
        yield found.map(({ key, scope }) => ({ key, scope: fromHex(scope)!, value: null }));
      }
      after = page.at(-1) ?? null;
      if (page.length < PAGE || !isSlotOf("shared", after!.slot)) return;
      await slices.pause();
    }
  }

  async #evacuated(mounts: readonly string[], signal: AbortSignal): Promise<void> {
    const { timers, evacuated } = this.#parts;
    const late = new AbortController();
    const timer = timers.after(EVACUATED_WITHIN, () => late.abort());
    const both = AbortSignal.any([signal, late.signal]);
    try {
      await evacuated(mounts, both);
    } catch (error) {
      if (!late.signal.aborted) throw error;
    } finally {
      timer.cancel();
    }
    signal.throwIfAborted();
  }
}

function pathsOf(places: readonly WithheldPlace[]): Record<string, string> {
  return Object.fromEntries(places.map(({ id, path }) => [id, path]));
}

function viewed(store: Store, after: ScopeRow | null): ScopeRow[] {
  const view = store.view();
  try {
    return view.scopes(after, PAGE);
  } finally {
    view.close();
  }
}
