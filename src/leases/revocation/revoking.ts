// Ends leases because somebody asks for it: one, all below a prefix, all of a mount or of a namespace.
// Queued, it is sure to happen and no more; at once, it is done when it is answered.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import * as failures from "../failures.ts";
import type { LeaseEnded, LeaseLogins, RevocationResult } from "../ports.ts";
import type { Lease, LeaseCause, LeaseOwner, LeasePlace } from "../lease.ts";
import { isKeyText, isLeaseIdOf } from "../rows/lease-id.ts";
import type { Found, LeaseRows } from "../rows/lease-rows.ts";
import type { Outcome } from "./outcomes.ts";
import type { Job, Revocations } from "./revocations.ts";
import { queued, type Sweeps } from "./sweeps.ts";
import { unlessAborted } from "./waiting.ts";

const AT_ONCE = 64; // as many as may run
const FORGOTTEN_AT_ONCE = 16; // see outcomes.ts
const MAX_WARNINGS = 100;
const MIN_PAUSE: Nanos = 100n * MILLISECOND;

export interface Revoke {
  /** Whether to wait until it is done. */
  readonly sync: boolean;
  /** Nobody waits any more. */
  readonly signal: AbortSignal;
}

/** Places in some order; `after` is the key of the last one seen. */
type Order = (tx: Tx, after: string | undefined) => readonly Found[];

interface Page {
  readonly found: readonly Found[];
  readonly jobs: readonly Job[];
  /** How many of those found cannot be read. */
  readonly unreadable: number;
}

export interface RevokingParts {
  readonly rows: LeaseRows;
  readonly revocations: Revocations;
  readonly sweeps: Sweeps;
  readonly now: () => Instant;
  readonly timers: Timers;
  readonly log: Log;
  readonly count: (result: RevocationResult) => void;
  readonly logins: LeaseLogins;
  readonly ended: LeaseEnded;
}

export class Revoking {
  readonly #parts: RevokingParts;

  constructor(parts: RevokingParts) {
    this.#parts = parts;
  }

  /** One that is not there is revoked already: false. */
  async revoke(namespace: NamespaceRef, id: string, how: Revoke): Promise<boolean> {
    const place = this.#leaseNamed(namespace, id);
    if (place !== null) await this.#one(place, how);
    return place !== null;
  }

  /** The lease of this id, or all below the path. Below the path of a login it is the tokens, gone when
   *  this resolves; what they leave behind is revoked like the rest. False: there was nothing. */
  async revokePrefix(namespace: NamespaceRef, prefix: string, how: Revoke): Promise<boolean> {
    if (await this.revoke(namespace, prefix, how)) return true;
    const folder = folderOf(prefix);
    const leases = this.#anyBelow(namespace, folder);
    const { owners, tokens } = await this.#endLogins(namespace, prefix, how.signal);
    if (how.sync) {
      for (const owner of owners) await this.revokeOwner(owner, how.signal);
      await this.#all(this.#below(namespace.id, folder), "revoke", how.signal);
    } else await this.#parts.sweeps.below(namespace.id, folder);
    return leases || tokens > 0;
  }

  /** All of a token. Rejects when one cannot be revoked, or when the signal says to stop. */
  async revokeOwner(owner: LeaseOwner, signal: AbortSignal): Promise<void> {
    const { rows } = this.#parts;
    if (rows.ownedBy(owner, { limit: 1 }).length === 0) return; // most have none
    const order: Order = (tx, after) => rows.ownedBy(owner, { limit: AT_ONCE, after }, tx);
    await this.#all(order, "token", signal);
  }

  /** Whatever the engine says: gives what may remain outside. Null: there was nothing. */
  async revokeForce(
    namespace: NamespaceRef,
    prefix: string,
    signal: AbortSignal,
  ): Promise<readonly string[] | null> {
    const place = this.#leaseNamed(namespace, prefix);
    if (place === null) {
      const leases = this.#anyBelow(namespace, folderOf(prefix));
      const { tokens } = await this.#endLogins(namespace, prefix, signal);
      if (!leases && tokens === 0) return null;
    }
    const order = place === null ? this.#below(namespace.id, folderOf(prefix)) : this.#just(place);
    const warnings: string[] = [];
    for (let after: string | undefined; ;) {
      const { found, jobs } = await this.#page(order, after, "revoke");
      const last = found.at(-1);
      if (last === undefined) return capped(warnings);
      after = last.key;
      const outcomes = await this.#outcomes(jobs, signal);
      const read = new Set(jobs.map(({ lease }) => lease.id));
      for (const { id, namespaceId } of found) {
        const outcome = outcomes.get(id);
        if (outcome?.kind === "revoked") continue;
        const why = outcome?.failure.message ?? (read.has(id) ? "" : "its record cannot be read");
        warnings.push(`${id}: ${why}; what it stands for may remain`);
        this.#parts.log.warn("a lease was given up by force", { id, namespace: namespaceId });
      }
      await this.#forget(found.filter(({ id }) => outcomes.get(id)?.kind !== "revoked"));
    }
  }

  /** Rejects when one cannot be revoked, or when the signal says to stop. */
  async revokeMount(
    mountUuid: string,
    signal: AbortSignal,
    progress: (left: number) => void,
  ): Promise<void> {
    const { rows } = this.#parts;
    const order: Order = (tx, after) => rows.timed(mountUuid, { limit: AT_ONCE, after }, tx);
    await this.#all(order, "unmount", signal, () => progress(rows.countOf(mountUuid).leases));
    await rows.local.write((tx) => rows.settleCount(tx, mountUuid), { essential: true });
  }

  /** Some of those of a namespace that goes away. True when none is left. */
  async wipe(namespaceId: string, signal: AbortSignal): Promise<boolean> {
    const page = await this.#page(this.#below(namespaceId, ""), undefined, "unmount");
    if (page.found.length === 0) return true;
    const throttled = await this.#trouble(page.jobs, 0, signal);
    if (page.unreadable > 0) throw failures.unreadable(page.unreadable);
    if (throttled !== null) await this.#until(throttled, signal);
    return false;
  }

  // --- inside ---

  /** Gives how many tokens ended, and those of them that have leases. */
  async #endLogins(
    namespace: NamespaceRef,
    prefix: string,
    signal: AbortSignal,
  ): Promise<{ readonly owners: Iterable<LeaseOwner>; readonly tokens: number }> {
    const { logins, rows } = this.#parts;
    const owners = new Map<string, LeaseOwner>();
    let tokens = 0;
    const ended = (owner: LeaseOwner) => {
      tokens++;
      if (rows.ownedBy(owner, { limit: 1 }).length > 0) owners.set(owner.accessor, owner);
    };
    await logins.endBelow(namespace, prefix, { signal, ended });
    return { owners: owners.values(), tokens };
  }

  async #one(place: LeasePlace, { sync, signal }: Revoke): Promise<void> {
    const { rows } = this.#parts;
    if (!sync) {
      const queue = (tx: Tx) => {
        const lease = rows.at(place, tx);
        const now = this.#parts.now();
        if (lease !== null) rows.change(tx, lease, queued(lease, now, "revoke"), now);
      };
      await rows.local.write(queue, { essential: true });
      return;
    }
    const { jobs } = await this.#page(this.#just(place), undefined, "revoke");
    for (const outcome of (await this.#outcomes(jobs, signal)).values()) {
      if (outcome.kind !== "revoked") throw failures.notRevoked(outcome.failure);
    }
  }

  /** One page after the other; stops at the first that cannot be revoked. */
  async #all(
    order: Order,
    cause: LeaseCause,
    signal: AbortSignal,
    progress = () => {},
  ): Promise<void> {
    let done = 0;
    let unreadable = 0;
    for (let after: string | undefined; ;) {
      if (signal.aborted) throw failures.requestOver();
      const page = await this.#page(order, after, cause);
      const last = page.found.at(-1);
      if (last === undefined) break;
      const throttled = await this.#trouble(page.jobs, done, signal);
      done += page.jobs.length;
      unreadable += page.unreadable;
      progress();
      if (throttled === null) after = last.key;
      else {
        await this.#until(throttled, signal); // and once more from the first
        [after, unreadable] = [undefined, 0];
      }
    }
    if (unreadable > 0) throw failures.unreadable(unreadable);
  }

  async #page(order: Order, after: string | undefined, cause: LeaseCause): Promise<Page> {
    const { rows, revocations } = this.#parts;
    let found: readonly Found[] = [];
    let unreadable = 0;
    const find = (tx: Tx): Lease[] => {
      found = order(tx, after);
      unreadable = 0;
      return found.flatMap((place) => {
        const lease = rows.readable(place, tx);
        if (lease !== null) return [this.#revivable(tx, lease, cause)];
        if (rows.isThere(place, tx)) unreadable++;
        else rows.drop(tx, place.key); // nothing stands behind it any more
        return [];
      });
    };
    const jobs = await revocations.take(find, { urgent: true, cause });
    return { found, jobs, unreadable };
  }

  /** Who asks for it by hand begins its tries anew. */
  #revivable(tx: Tx, lease: Lease, cause: LeaseCause): Lease {
    const { rows } = this.#parts;
    if (!lease.irrevocable) return lease;
    const now = this.#parts.now();
    const after = queued(lease, now, cause);
    rows.change(tx, lease, after, now);
    return after;
  }

  /** Throws for one that failed; gives when to go on if the provider wants to be left alone. */
  async #trouble(jobs: readonly Job[], done: number, signal: AbortSignal): Promise<Instant | null> {
    const outcomes = await this.#outcomes(jobs, signal);
    const revoked = [...outcomes.values()].filter(({ kind }) => kind === "revoked").length;
    let until: Instant | null = null;
    for (const [id, outcome] of outcomes) {
      if (outcome.kind === "revoked") continue;
      if (outcome.kind !== "throttled") throw failures.stopped(done + revoked, id, outcome.failure);
      if (until === null || outcome.due < until) until = outcome.due;
    }
    return until;
  }

  async #outcomes(jobs: readonly Job[], signal: AbortSignal): Promise<Map<string, Outcome>> {
    const all = Promise.all(
      jobs.map(async ({ lease, done }): Promise<[string, Outcome]> => [lease.id, await done]),
    );
    return new Map(await unlessAborted(all, signal));
  }

  async #until(time: Instant, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = time - this.#parts.now();
    const timer = this.#parts.timers.after(wait > MIN_PAUSE ? wait : MIN_PAUSE, resolve);
    try {
      await unlessAborted(promise, signal);
    } finally {
      timer.cancel();
    }
  }

  async #forget(places: readonly LeasePlace[]): Promise<void> {
    const { rows, count, ended } = this.#parts;
    for (let at = 0; at < places.length; at += FORGOTTEN_AT_ONCE) {
      const some = places.slice(at, at + FORGOTTEN_AT_ONCE);
      const forget = (tx: Tx) => {
        const now = this.#parts.now();
        for (const place of some) {
          const lease = rows.readable(place, tx);
          if (lease === null) rows.removeUnread(tx, place);
          else {
            rows.remove(tx, lease, now);
            ended(tx, lease, { cause: "revoke", result: "given-up", requestIds: [], now });
          }
        }
      };
      await rows.local.write(forget, { essential: true });
      for (const _ of some) count("forced");
    }
  }

  #leaseNamed(namespace: NamespaceRef, prefix: string): LeasePlace | null {
    const { rows } = this.#parts;
    if (!isLeaseIdOf(namespace, prefix)) return null;
    const place = { namespaceId: namespace.id, id: prefix };
    return rows.isThere(place) ? place : null;
  }

  #anyBelow(namespace: NamespaceRef, folder: string): boolean {
    return this.#parts.rows.below(namespace.id, folder, { limit: 1 }).length > 0;
  }

  #below(namespaceId: string, folder: string): Order {
    const { rows } = this.#parts;
    return (tx, after) => rows.below(namespaceId, folder, { limit: AT_ONCE, after }, tx);
  }

  #just(place: LeasePlace): Order {
    const { rows } = this.#parts;
    return (tx, after) =>
      after === undefined && rows.isThere(place, tx) ? [{ ...place, key: place.id }] : [];
  }
}

function folderOf(prefix: string): string {
  const path = prefix.replace(/\/$/, "");
  if (!isKeyText(path)) throw failures.prefixInvalid();
  return `${path}/`;
}

function capped(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= MAX_WARNINGS) return warnings;
  const more = warnings.length - MAX_WARNINGS;
  return [...warnings.slice(0, MAX_WARNINGS), `and ${more} more leases whose secrets may remain`];
}
