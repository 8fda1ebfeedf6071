// The tokens of the server: one store, whatever the API they are seen through. Here its parts are put
// together and opened; what a token may do is not decided here.

import { HOUR, MINUTE } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Secret } from "@holdfast/shared/secret";
import { someNames } from "@holdfast/shared/text/some-names";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import type { Follower } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type { Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { Job } from "../house/room.ts";
import { BootstrapDoor, type BootstrapUse } from "./bootstrap/bootstrap.ts";
import { Bootstrapping, type ResetFile } from "./bootstrap/bootstrapping.ts";
import { Closing, type LoginMounts } from "./life/closing.ts";
import { Collection } from "./life/collection.ts";
import { Cascade } from "./life/cascade.ts";
import { type TokenEnding, TokenExpiry } from "./life/expiry.ts";
import { policiesUnknown, tokensClosed } from "./failures.ts";
import { FirstTokenMint, type FirstTokenOptions } from "./bootstrap/first-tokens.ts";
import { type NamespacesById, TokenLookup } from "./lookup.ts";
import type { Lifetimes, NewToken } from "./token-rules.ts";
import { TokenFollower } from "./rows/derived-rows.ts";
import { OneTimeRows } from "./rows/one-time-rows.ts";
import type { OwnIndexes } from "./rows/own-indexes.ts";
import { OneTimeTokens } from "./one-time-tokens.ts";
import { Salt, SALT_KEY } from "./rows/salt.ts";
import type { Token } from "./token.ts";
import { TokenRanges } from "./rows/token-ranges.ts";
import { type LeftSet, type TokenPlace, TokenRows } from "./rows/token-rows.ts";
import { Minting, TokenWrites } from "./token-writes.ts";
import { Uses } from "./life/uses.ts";

export type { NamespacesById } from "./lookup.ts";

const MAX_CACHED = 10_000;
const OF_WRAPPINGS = "response-wrapping";
const WRAPPINGS_ALONE = `${OF_WRAPPINGS} is the policy of wrapping tokens: it lets a token read cubbyhole/response and unwrap, and nothing else`;
const MAX_UNENDING = 101; // as many as are told, and one more
const ALL_OPEN: LoginMounts = { isOpen: () => true, at: () => [] };
const LIFETIMES: Lifetimes = { min: MINUTE, max: 24n * HOUR };

export interface KnownPolicies {
  /** What a name on a token stands for; null when for nothing. */
  kindOf(namespaceId: string, name: string): "acl" | "rgp" | null;
}

export interface TokensOptions {
  /** Of everything below shared/, and below local/. */
  readonly shared: View;
  readonly local: View;
  readonly namespaces: NamespacesById;
  /** Default: every login stays open. */
  readonly logins?: LoginMounts | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** What goes with a token. Default: nothing hangs on one. */
  readonly ending?: TokenEnding | undefined;
  readonly firstToken?: FirstTokenOptions | undefined;
  /** For warnings about names that no policy has. Default: every name is known. */
  readonly policies?: KnownPolicies | undefined;
  /** Default: from a minute to a day. */
  readonly lifetimes?: Lifetimes | undefined;
  /** How long after its expiry a token is collected. Default 1 h. */
  readonly gcThreshold?: Nanos | undefined;
  /** Default open. */
  readonly bootstrap?: BootstrapUse | undefined;
  /** Default: bootstrap cannot be reset. */
  readonly resetFile?: ResetFile | undefined;
  /** The set that this cluster has left; null: none. Default: it never did. */
  readonly left?: (() => LeftSet | null) | undefined;
  /** How many callers are kept in memory. Default 10,000, about 10 MB. */
  readonly maxCached?: number | undefined;
}

export class Tokens {
  /** For the keeper of the seal; works before the room is open. */
  readonly first: FirstTokenMint;
  readonly bootstrap: Bootstrapping;
  readonly oneTime: OneTimeTokens;
  readonly collection: Collection;
  /** Ends what came through a login. */
  readonly closing: Closing;
  /** Tokens in order, for lists. */
  readonly ranges: TokenRanges;
  /** Who wants to know of changes: onTable, onToken. */
  readonly rows: TokenRows;
  /** What follows from the records of global tokens, where another cluster writes them. */
  readonly follower: Follower<Token>;
  /** Makes, changes and ends them; the ModifyIndex is the index of the write. */
  readonly writes: TokenWrites;
  readonly #options: TokensOptions;
  readonly #indexes: OwnIndexes;
  readonly #lookup: TokenLookup;
  readonly #minting: Minting;
  readonly #cascade: Cascade;
  readonly #uses: Uses;
  readonly #door: BootstrapDoor;
  readonly #expiry: TokenExpiry;
  #salt: Salt | null = null;
  #unwatchSalt = () => {};
  #unending: readonly TokenPlace[] | null = null;
  #unwatch: () => void = () => {};

  constructor(options: TokensOptions) {
    const { shared, local, clock, timers, random, namespaces } = options;
    const { lifetimes = LIFETIMES, bootstrap: use = "open", firstToken = {} } = options;
    const {
      ending: onEnd = { ends: () => {} },
      gcThreshold = HOUR,
      maxCached = MAX_CACHED,
      logins: mounts = ALL_OPEN,
    } = options;
    const log = options.log.child("tokens");
    const oneTime = new OneTimeRows(local);
    const ends: TokenEnding["ends"] = (tx, token) => ending.ends(tx, token);
    const follower = new TokenFollower({ local, oneTime, ending: { ends } });
    const rows = new TokenRows(shared, local, follower, options.left ?? (() => null));
    const ranges = new TokenRanges(rows);
    const minting = new Minting(rows, random);
    const salt = () => this.#unsealed();
    const lookup = new TokenLookup({ rows, namespaces, mounts, salt, clock, log, maxCached });
    const ending: Cascade = new Cascade({
      rows,
      ending: onEnd,
      readable: (place, tx) => lookup.readable(place, tx),
      remove: (tx, token) => writes.remove(tx, token),
      timers,
      log,
    });
    const writes: TokenWrites = new TokenWrites({
      rows,
      ranges,
      minting,
      lookup,
      lifetimes,
      salt,
      removing: (token) => this.closing.removing(token),
    });
    this.closing = new Closing({
      rows,
      mounts,
      readable: (place, tx) => lookup.readable(place, tx),
      remove: (tx, token) => writes.remove(tx, token),
      settled: () => ending.settled(),
      timers,
    });
    this.#options = options;
    this.follower = follower;
    this.#indexes = follower.indexes;
    this.rows = rows;
    this.ranges = ranges;
    this.#lookup = lookup;
    this.writes = writes;
    this.#minting = minting;
    this.#cascade = ending;
    this.first = new FirstTokenMint(rows, minting, random, firstToken);
    this.#door = new BootstrapDoor({ shared, use, timers, log });
    const reset = options.resetFile ?? null;
    this.bootstrap = new Bootstrapping({ rows, minting, use, reset, salt, log });
    const usable: TokenLookup["usable"] = (place, tx) => lookup.usable(place, tx);
    this.oneTime = new OneTimeTokens({ rows, oneTime, random, salt, usable });
    this.#uses = new Uses({ rows, usable, remove: (tx, token) => writes.remove(tx, token) });
    this.#expiry = new TokenExpiry({ rows, ending, clock, timers, log });
    this.collection = new Collection({
      rows,
      oneTime,
      timers,
      log,
      threshold: gcThreshold,
      readable: (place, tx) => lookup.readable(place, tx),
      remove: (tx, token) => writes.remove(tx, token),
    });
  }

  // --- life ---

  /** After the barrier is open and before anything is served. */
  open(): void {
    const { shared } = this.#options;
    this.#salt = Salt.read(shared);
    this.#unwatchSalt = shared.watch(SALT_KEY, () => this.#followSalt());
    this.#indexes.open();
    this.#lookup.open();
    this.#door.open();
    this.#unwatch = this.rows.onUnending(() => {
      this.#unending = null;
    });
  }

  /** A secondary whose primary was restored is sent another one, with other tokens: those are found by it. */
  #followSalt(): void {
    const before = this.#salt;
    const now = Salt.stored(this.#options.shared);
    if (now === null) return;
    this.#salt = now;
    before?.wipe();
  }

  close(): void {
    this.#unwatch();
    this.#unwatchSalt();
    this.#unending = null;
    this.#door.close();
    this.#lookup.close();
    this.#indexes.close();
    this.#salt?.wipe();
    this.#salt = null;
  }

  /** Each cluster does it for the tokens that it holds, local ones among them. */
  get jobs(): readonly Job[] {
    const when = "while-active";
    return [
      { name: "end the children of tokens", when, work: this.#cascade },
      { name: "end expired tokens", when, work: this.#expiry },
      { name: "collect tokens", when, work: this.collection },
    ];
  }

  /** Whether the first caller may still make itself management. */
  get bootstrapOpen(): boolean {
    return this.#door.isOpen;
  }

  /** How many callers are kept in memory. */
  get cached(): number {
    return this.#lookup.cached;
  }

  /** Management tokens that never end, of all namespaces: the first of them. Read again after a change alone. */
  get unending(): readonly TokenPlace[] {
    this.#unending ??= this.rows.unending(MAX_UNENDING);
    return this.#unending;
  }

  // --- finding ---

  /**
   * The owner of a secret; null for unknown, deleted and expired ones alike. Its namespace is for the
   * pipeline to compare. The same Caller for the same token until that changes.
   */
  find(secret: string): Caller | null {
    return this.#lookup.find(secret);
  }

  /** Whether it is the secret of a token that has expired and is not yet collected. */
  hasExpired(secret: string): boolean {
    return this.#lookup.hasExpired(secret);
  }

  /** The id of the namespace of a global token with that salted hash of its secret that lets somebody in; null where there is none. */
  namespaceOfGlobal(hash: string): string | null {
    const caller = this.#lookup.byHash(hash);
    return caller?.global === true ? caller.namespace.id : null;
  }

  /** Expired ones too, until they are collected. */
  byAccessor(namespaceId: string, accessor: string): Token | null {
    return isUuid(accessor) ? this.rows.byAccessor(namespaceId, accessor.toLowerCase()) : null;
  }

  /** Where what is written of a token belongs; `global` says so of one that is not there yet. */
  belongs(namespaceId: string, accessor: string, global = false): WritesTo {
    return (this.byAccessor(namespaceId, accessor)?.global ?? global) ? "shared" : "local";
  }

  /** Whether a token of this cluster alone has the secret: a cluster that makes global ones for all does not know that. */
  isLocalSecret(secret: string): boolean {
    if (secret === "") return false;
    return this.rows.placeOf(this.#unsealed().hashOf(secret))?.global === false;
  }

  /** Who would ask with the token of this accessor; null where nobody could. */
  callerBy(namespace: NamespaceRef, accessor: string): Caller | null {
    return isUuid(accessor) ? this.#lookup.callerBy(namespace, accessor.toLowerCase()) : null;
  }

  /** Whether a token of this accessor is there, as the transaction sees it, and counts for something. */
  isThere(tx: Tx, { namespaceId, accessor }: Omit<TokenPlace, "global">): boolean {
    const token = this.rows.byAccessor(namespaceId, accessor, tx);
    return token !== null && !this.rows.hasEnded(token, tx) && this.#lookup.isOpen(token);
  }

  /** Whether the way that it came by, if it was a login, is open. */
  isOpen(token: Pick<Token, "origin">): boolean {
    return this.#lookup.isOpen(token);
  }

  /** Index of the last change to the tokens of a namespace. Never 0, also where there was none: a
   *  client that asks for what is newer than 0 means now, and would ask without end. */
  tableIndex(namespaceId: string): bigint {
    const index = this.rows.tableIndex(namespaceId);
    return index > 0n ? index : 1n;
  }

  // --- making, changing and ending: the ModifyIndex is the index of the write ---

  /** In a transaction of the caller's, for what must begin with the token. Any lifetime will do. */
  mint(tx: Tx, spec: NewToken, secret?: Secret<string>): Token {
    return this.#minting.mint(tx, this.#unsealed(), spec, { secret, lifetimes: null });
  }

  /** Ends a token that may be used, in a transaction of the caller's, which has then had its last use;
   *  null where there is none. */
  take(tx: Tx, place: TokenPlace): Token | null {
    const token = this.#lookup.usable(place, tx);
    if (token !== null) this.writes.remove(tx, token);
    return token;
  }

  /** With the tokens that it made, and theirs. */
  async deleteTree(namespaceId: string, accessor: string): Promise<void> {
    const place = { namespaceId, accessor: accessor.toLowerCase() };
    const isParent = this.#cascade.hasChildren(place);
    await this.writes.delete(namespaceId, accessor);
    if (isParent || this.#cascade.hasChildren(place)) await this.#cascade.settled();
  }

  /** Leaves the tokens that it made to themselves. */
  deleteAlone(place: TokenPlace): Promise<void> {
    return this.#cascade.deleteAlone(place);
  }

  /** Takes one use of a counted token: how many are left, or null when there was none. */
  use(caller: Caller): Promise<number | null> {
    return this.#uses.take(caller);
  }

  /** The owner of a counted token that has taken a use for a request, as of now: also after the last one. Null
   *  where the token was revoked or has run out. */
  underWay(caller: Caller): Caller | null {
    return this.#lookup.underWay(caller);
  }

  /** Calls when its token was changed, deleted or ended. */
  onChange({ namespace, accessor }: Caller, call: () => void): () => void {
    const ends = [
      this.rows.onToken({ namespaceId: namespace.id, accessor }, call),
      this.rows.onEnded((one) => {
        if (one === accessor) call();
      }),
    ];
    return () => ends.forEach((end) => end());
  }

  /** Deletes a token whose last use is over, and what it made. */
  spent(caller: Caller): Promise<void> {
    return this.#uses.end(caller);
  }

  /** What its maker should know. */
  warningsOn({ namespaceId, policies }: Token): readonly string[] {
    const { policies: known } = this.#options;
    if (known === undefined) return [];
    const kinds = policies.map((name) => known.kindOf(namespaceId, name));
    const unknown = policies.filter((_, i) => kinds[i] === null);
    const bare = kinds.includes("rgp") && !kinds.includes("acl");
    return [
      ...(unknown.length === 0 ? [] : [`unknown policies: ${someNames(unknown)}`]),
      ...(bare ? ["token has no ACL policy"] : []),
      ...(policies.includes(OF_WRAPPINGS) ? [WRAPPINGS_ALONE] : []),
    ];
  }

  /** For callers who want to be refused where others are warned. */
  checkPolicies(namespaceId: string, names: readonly string[]): void {
    const { policies: known } = this.#options;
    const unknown = names.filter((name) => known?.kindOf(namespaceId, name) === null);
    if (unknown.length > 0) throw policiesUnknown(unknown);
  }

  /** By which secrets are found. */
  get salt(): Salt {
    return this.#unsealed();
  }

  #unsealed(): Salt {
    if (this.#salt === null) throw tokensClosed();
    return this.#salt;
  }
}
