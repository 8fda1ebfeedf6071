// Finds the owner of a secret, by its salted hash. Owners are kept in memory until their token
// changes, so that a change counts for the next request.

import { AddressRanges } from "@holdfast/shared/text/address-ranges";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { isOver } from "@holdfast/shared/text/time";
import type { Clock } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import type { Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { LoginMounts } from "./life/closing.ts";
import { RECORD_UNUSABLE } from "./failures.ts";
import { originOf } from "./origin.ts";
import type { Salt } from "./rows/salt.ts";
import type { Token } from "./token.ts";
import { recordsOf } from "./rows/token-keys.ts";
import type { TokenPlace, TokenRows } from "./rows/token-rows.ts";
import { pathOf, type TokenTerms } from "./token-terms.ts";
import { isSpent } from "./life/uses.ts";
import { RecentMap } from "@holdfast/shared/recent-map";

const NOWHERE = AddressRanges.of([]);

export interface NamespacesById {
  /** Null when there is none, or it is being deleted. */
  byId(id: string): NamespaceRef | null;
}

export interface LookupParts {
  readonly rows: TokenRows;
  readonly namespaces: NamespacesById;
  /** What came through a login counts for as long as one may come in there. */
  readonly mounts: Pick<LoginMounts, "isOpen">;
  readonly salt: () => Salt;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxCached: number;
}

export class TokenLookup {
  readonly #parts: LookupParts;
  readonly #cache: TokenCache;
  readonly #followed = new Map<string, () => void>();
  #unwatchEnded = () => {};

  constructor(parts: LookupParts) {
    this.#parts = parts;
    this.#cache = new TokenCache(parts.maxCached);
  }

  get cached(): number {
    return this.#cache.size;
  }

  open(): void {
    this.#unwatchEnded = this.#parts.rows.onEnded((accessor) => this.#cache.drop(accessor));
  }

  close(): void {
    this.#unwatchEnded();
    for (const unfollow of this.#followed.values()) unfollow();
    this.#followed.clear();
    this.#cache.clear();
  }

  /** See Tokens.find. */
  find(secret: string): Caller | null {
    return secret === "" ? null : this.byHash(this.#parts.salt().hashOf(secret));
  }

  /** By the salted hash of its secret. */
  byHash(hash: string): Caller | null {
    const { clock, namespaces } = this.#parts;
    const caller = this.#cache.get(hash) ?? this.#load(hash);
    if (caller === null) return null;
    if (isOver(caller.expires, clock.now()) || !this.isOpen(caller)) return null;
    const current = namespaces.byId(caller.namespace.id);
    if (current === null) return null;
    if (isSame(current, caller.namespace)) return caller;
    this.#cache.drop(caller.accessor);
    return { ...caller, namespace: current };
  }

  /** See Tokens.callerBy. */
  callerBy(namespace: NamespaceRef, accessor: string): Caller | null {
    const { rows, clock } = this.#parts;
    const token = rows.byAccessor(namespace.id, accessor);
    if (token === null || isSpent(token) || rows.hasEnded(token)) return null;
    if (!this.isOpen(token)) return null;
    return isOver(token.expires, clock.now()) ? null : callerOf(token, namespace);
  }

  /** See Tokens.underWay. */
  underWay({ namespace: { id: namespaceId }, accessor, global }: Caller): Caller | null {
    const { rows, clock, namespaces } = this.#parts;
    const token = this.readable({ namespaceId, accessor, global });
    if (token === null || rows.hasEnded(token) || !this.isOpen(token)) return null;
    const namespace = isOver(token.expires, clock.now()) ? null : namespaces.byId(namespaceId);
    return namespace === null ? null : callerOf(token, namespace);
  }

  /** See Tokens.hasExpired. */
  hasExpired(secret: string): boolean {
    if (secret === "") return false;
    const { salt, rows, clock } = this.#parts;
    const token = this.#owner(salt().hashOf(secret));
    return token !== null && (isOver(token.expires, clock.now()) || rows.hasEnded(token));
  }

  /** The token at a place, if it may be used at the time of the transaction. */
  usable(place: TokenPlace, tx: Tx): Token | null {
    const token = this.readable(place, tx);
    if (token === null || isSpent(token) || this.isOver(token, tx)) return null;
    if (!this.isOpen(token)) return null;
    return this.#parts.namespaces.byId(place.namespaceId) === null ? null : token;
  }

  /** Whether the way that it came by, if it was a login, is open. */
  isOpen({ origin }: Pick<Token, "origin">): boolean {
    const mount = origin?.mount ?? null;
    return mount === null || this.#parts.mounts.isOpen(mount);
  }

  /** Whether its time is over, by the clock or for good. */
  isOver(token: Token, tx: Tx): boolean {
    return isOver(token.expires, tx.time) || this.#parts.rows.hasEnded(token, tx);
  }

  /** Null for one that is not there, and for one that nobody may be let in by. */
  readable(place: TokenPlace, tx?: Tx): Token | null {
    const { rows, log } = this.#parts;
    try {
      return rows.at(place, tx);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== RECORD_UNUSABLE) throw error;
      log.error("a stored token is refused", { accessor: place.accessor });
      return null;
    }
  }

  #load(hash: string): Caller | null {
    const { rows, namespaces, clock } = this.#parts;
    const token = this.#owner(hash);
    if (token === null || isSpent(token) || rows.hasEnded(token)) return null;
    const namespace = namespaces.byId(token.namespaceId);
    if (namespace === null) return null;
    const caller = callerOf(token, namespace);
    if (!isOver(caller.expires, clock.now())) this.#cache.put(hash, caller);
    return caller;
  }

  #owner(hash: string): Token | null {
    const place = this.#parts.rows.placeOf(hash);
    if (place === null) return null;
    this.#follow(place.namespaceId);
    const token = this.readable(place);
    // A hash that leads to a record with another secret is nobody's.
    return token !== null && this.#parts.salt().hashOf(token.secret.reveal()) === hash
      ? token
      : null;
  }

  /** From the first look at a namespace's tokens on. */
  #follow(namespaceId: string): void {
    if (this.#followed.has(namespaceId)) return;
    const { shared, local } = this.#parts.rows;
    const folder = recordsOf(namespaceId);
    const drop = ({ keys }: { readonly keys: readonly string[] }) => {
      for (const key of keys) this.#cache.drop(key.slice(folder.length));
    };
    const unfollow = [shared.watch(folder, drop), local.watch(folder, drop)];
    this.#followed.set(namespaceId, () => unfollow.forEach((end) => end()));
  }
}

function callerOf(token: Token, namespace: NamespaceRef): Caller {
  const { accessor, type, name, policies, global, created, expires, terms } = token;
  const origin = originOf(token);
  const seen = { accessor, type, name, policies, namespace, global, created, expires, origin };
  if (terms === undefined) return seen;
  const { usesLeft, period, longest, withoutDefault, wrapping } = terms;
  const boundTo = boundsOf(terms);
  const counted = usesLeft !== null;
  const facts = { usesLeft, period, longest, path: pathOf(token) };
  const wraps = wrapping === undefined ? {} : { wrapping };
  return { ...seen, withoutDefault, counted, boundTo, ...wraps, terms: facts };
}

/** Texts that are none any more bind to nowhere. */
function boundsOf({ boundTo = [] }: TokenTerms): AddressRanges | undefined {
  if (boundTo.length === 0) return undefined;
  return AddressRanges.read(boundTo) ?? NOWHERE;
}

function isSame(a: NamespaceRef, b: NamespaceRef): boolean {
  return a.id === b.id && a.path === b.path && a.created === b.created;
}

// --- token cache ---

// Callers by the hash of their secret, least recently used out first. Only tokens that are there get
// in: a stream of made-up secrets must leave nothing behind (T-B25).

export interface Known {
  readonly caller: Caller;
  readonly hash: string;
}

export class TokenCache {
  readonly #byHash = new RecentMap<string, Known>();
  readonly #byAccessor = new Map<string, Known>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byHash.size;
  }

  get(hash: string): Caller | undefined {
    return this.#byHash.get(hash)?.caller;
  }

  put(hash: string, caller: Caller): void {
    this.drop(caller.accessor);
    const known = { caller, hash };
    this.#byHash.set(hash, known);
    this.#byAccessor.set(caller.accessor, known);
    const { oldest } = this.#byHash;
    if (oldest !== null && this.#byHash.size > this.#max) this.drop(oldest.value.caller.accessor);
  }

  drop(accessor: string): void {
    const known = this.#byAccessor.get(accessor);
    if (known === undefined) return;
    this.#byAccessor.delete(accessor);
    this.#byHash.delete(known.hash);
  }

  clear(): void {
    this.#byHash.clear();
    this.#byAccessor.clear();
  }
}
