// What a test may set about the fake of cloud B: how long replicas lag, how small pages are, which
// limits hold. Faults of single calls are in faults.ts.

import type { Surface } from "./model.ts";

/** Unseen until both have passed: so many seconds on the fake's clock, so many attempts to see it. */
export interface Delay {
  readonly seconds?: number;
  readonly attempts?: number;
}

/** Who does not see what yet. */
export type Lag =
  | "applicationToReads" // GET, addPassword and DELETE of a new application
  | "applicationToPrincipals" // POST /servicePrincipals for a new application
  | "principalToReads" // GET and DELETE of a new principal
  | "principalToPasswords" // addPassword of a new principal
  | "principalToGroups" // adding a new principal to a group
  | "principalToArm" // assigning a role to a new principal, unless principalType came along
  | "passwordToTokens" // the token endpoint and a new password
  | "deletedItems" // what was just deleted, among the deleted items
  | "deletionToReads"; // GET still finds what was deleted

export interface Settings {
  readonly lags: Readonly<Partial<Record<Lag, Delay>>>;
  /** While a password spreads, every other attempt succeeds for as long again. */
  readonly flapping: boolean;
  /** How POST /servicePrincipals says that it does not see the application. */
  readonly hiddenApplication: "badRequest" | "forbidden" | "notFound";
  readonly pageSize: number;
  readonly tokenSeconds: number;
  /** Of one application or principal. */
  readonly passwordLimit: number;
  /** The tenant's policy on how long a password may live; null for none. */
  readonly passwordSeconds: number | null;
  /** How long one change of passwords takes: a second one meanwhile is a conflict. */
  readonly busyMilliseconds: number;
  /** Actions that are refused for want of permission. */
  readonly denied: readonly string[];
  /** Calls in one second of the fake's clock before 429. */
  readonly perSecond: Readonly<Partial<Record<Surface, number>>>;
  readonly retryAfter: number;
  /** Scopes below which nothing may be deleted. */
  readonly locks: readonly string[];
  /** The base addresses by which clients know it, where names lead here by other ways. */
  readonly knownAs: Readonly<Record<Surface, string>>;
}

export function usualSettings(knownAs: Readonly<Record<Surface, string>>): Settings {
  return {
    lags: {},
    flapping: false,
    hiddenApplication: "badRequest",
    pageSize: 100,
    tokenSeconds: 3599,
    passwordLimit: 300,
    passwordSeconds: null,
    busyMilliseconds: 5,
    denied: [],
    perSecond: {},
    retryAfter: 1,
    locks: [],
    knownAs,
  };
}

/** What replicas have seen so far. */
export class Replicas {
  readonly #attempts = new Map<string, number>();
  readonly #known = new Set<string>();
  readonly #settings: () => Settings;
  readonly #now: () => number;

  constructor(settings: () => Settings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  /** What has been there for long: all of them have seen it. */
  know(ids: Iterable<string>): void {
    for (const id of ids) this.#known.add(id);
  }

  /** Whether whatever happened to `id` at `since` is seen there by now. Counts as an attempt. */
  sees(lag: Lag, id: string, since: number): boolean {
    const { lags, flapping } = this.#settings();
    const { seconds = 0, attempts = 0 } = lags[lag] ?? {};
    if ((seconds === 0 && attempts === 0) || this.#known.has(id)) return true;
    const key = `${lag} ${id}`;
    const attempt = this.#attempts.get(key) ?? 0;
    this.#attempts.set(key, attempt + 1);
    const age = this.#now() - since;
    if (age < seconds * 1000 || attempt < attempts) return false;
    const spreading = age < 2 * seconds * 1000 || attempt < 2 * attempts;
    return !(flapping && lag === "passwordToTokens" && spreading) || attempt % 2 === 0;
  }
}
