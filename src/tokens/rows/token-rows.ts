// The rows of a token. Below its class (shared/ for global tokens, local/ for the others):
//
//   ns/<namespace>/tokens/by-accessor/<accessor>                             the record; order of accessors
//   tokens/by-hash/<salted hash of the secret>                               where the record lies
//
// and, since it is derived from the record in this cluster (derived-rows.ts writes it), below local/ for all of them:
//
//   ns/<namespace>/tokens/by-creation/<CreateIndex>/<accessor>/<class>       order of creation
//   ns/<namespace>/tokens/management/<ExpirationTime|never>/<accessor>       management tokens only
//   ns/<namespace>/tokens/indexes/<accessor>                                 own-indexes.ts
//   ns/<namespace>/tokens/table                                              index of the last change that
//                                                                            was not a creation
//   tokens/unending/<namespace>/<accessor>/<class>                           management tokens that never end
//   tokens/by-expiry/<ExpirationTime>/<namespace>/<accessor>/<class>         until its time is over
//   tokens/ended/<ExpirationTime>/<namespace>/<accessor>/<class>             from then on
//   tokens/children/<parent's namespace>/<parent>/<namespace>/<accessor>/<class>   made with a parent
//   tokens/by-login/<mount>/<path below it>/<namespace>/<accessor>/<class>   came through a login
//
// Numbers have 20 digits; rows whose key says everything are empty. Global tokens need no order of their
// own: theirs is that of the records below shared/. Ordered reads are in token-ranges.ts.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec, type Codec, jsonCodec } from "@holdfast/shared/codec";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { namespaceScope } from "../../barrier/scope.ts";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import { isEnded, tableCodec, type TokenFollower } from "./derived-rows.ts";
import { type Token, tokenCodec } from "../token.ts";
import * as keys from "./token-keys.ts";
import type { TimedPlace, TokenPlace } from "./token-keys.ts";

export type { TimedPlace, TokenPlace } from "./token-keys.ts";

const placeCodec = jsonCodec<TokenPlace>();

const MAX_TABLES = 1024;

/** A set of clusters that this one has left, with its global tokens. */
export interface LeftSet {
  /** Of this cluster, when it did. */
  readonly index: bigint;
  readonly region: string;
}

export class TokenRows {
  readonly shared: View;
  readonly local: View;
  readonly #follower: TokenFollower;
  readonly #left: () => LeftSet | null;
  readonly #tables = new Map<string, { readonly asOf: bigint; readonly index: bigint }>();

  /** Views of everything below shared/ and below local/. */
  constructor(shared: View, local: View, follower: TokenFollower, left: () => LeftSet | null) {
    this.#left = left;
    this.shared = shared;
    this.local = local;
    this.#follower = follower;
  }

  // --- writing ---

  /** `drawn`: accessor and secret are random bits, and so no row of theirs can be there. */
  put(tx: Tx, token: Token, hash: string, drawn: boolean): void {
    const { namespaceId, accessor, global } = token;
    const place: TokenPlace = { namespaceId, accessor, global };
    const write = <T>(on: Tx, key: string, value: T, codec: Codec<T>) =>
      drawn ? on.add(key, value, codec) : on.put(key, value, codec);
    const home = this.#home(place);
    write(tx.on(home), keys.recordKey(place), token, tokenCodec);
    write(tx.on(home.in(namespaceScope(namespaceId))), keys.HASHES + hash, place, placeCodec);
    this.#follower.derive(tx, place, null, token, drawn);
  }

  /** The same token otherwise: its place, secret and CreateIndex are as before. */
  replace(tx: Tx, before: Token, after: Token): void {
    const { written, modifyIndex: modify } = after;
    const isNew = written !== undefined && modify !== before.modifyIndex;
    const record = isNew ? { ...after, written: { ...written, modify } } : after;
    tx.on(this.#home(record)).put(keys.recordKey(record), record, tokenCodec);
    this.#follower.derive(tx, record, before, record);
  }

  /** With all that hangs on it. */
  remove(tx: Tx, token: Token, hash: string): void {
    const own = tx.on(this.#home(token));
    own.delete(keys.recordKey(token));
    own.delete(keys.HASHES + hash);
    this.#follower.derive(tx, token, token, null);
  }

  /** One that cannot be read and so does not say which rows it has, with all else that hangs on it. */
  removeUnread(tx: Tx, place: TokenPlace): void {
    tx.on(this.#home(place)).delete(keys.recordKey(place));
    this.#follower.derive(tx, place, null, null);
  }

  /** Its time is over. From now on it stays ended, whatever the clock says. False when it was ended,
   *  moved or deleted meanwhile. */
  end(tx: Tx, timed: TimedPlace): boolean {
    const local = tx.on(this.local);
    const key = keys.timedKey(keys.EXPIRIES, timed);
    if (!isMarked(local, key)) return false;
    local.delete(key);
    mark(local, keys.timedKey(keys.ENDED, timed));
    return true;
  }

  dropTimed(tx: Tx, timed: TimedPlace): void {
    const local = tx.on(this.local);
    local.delete(keys.timedKey(keys.EXPIRIES, timed));
    local.delete(keys.timedKey(keys.ENDED, timed));
  }

  // --- reading ---

  hasEnded(token: Token, tx?: Tx): boolean {
    return isEnded(this.#local(tx), token);
  }

  /** Whether it ends with the token that made it. */
  isChild(token: Token): boolean {
    const parent = token.terms?.parent ?? null;
    return parent !== null && isMarked(this.local, keys.childKey(parent, token));
  }

  /** Where the token with this hash of its secret lies. A local one is not displaced by one that another cluster has made with the same,
   *  chosen, secret: its owner would have the rights of that one. */
  placeOf(hash: string, tx?: Tx): TokenPlace | null {
    const key = keys.HASHES + hash;
    return this.#local(tx).get(key, placeCodec) ?? this.#shared(tx).get(key, placeCodec);
  }

  at(place: TokenPlace, tx?: Tx): Token | null {
    const reads = place.global ? this.#shared(tx) : this.#local(tx);
    const token = reads.get(keys.recordKey(place), tokenCodec);
    return token === null ? null : this.withOwnIndexes(token, tx);
  }

  byAccessor(namespaceId: string, accessor: string, tx?: Tx): Token | null {
    const key = keys.recordKey({ namespaceId, accessor });
    const token = this.#shared(tx).get(key, tokenCodec);
    return token === null ? this.#local(tx).get(key, tokenCodec) : this.withOwnIndexes(token, tx);
  }

  /** A record with the indexes that it has in this cluster, and whether it is the copy of a set that was left. */
  withOwnIndexes(record: Token, tx?: Tx): Token {
    const token = this.#follower.indexes.applyTo(this.#local(tx), record);
    const left = token.global ? this.#left() : null;
    if (left === null || token.createIndex > left.index) return token;
    return { ...token, keptFrom: left.region };
  }

  /** Those whose time is over and who were not ended yet, the longest over first. */
  due(now: Instant, limit: number, tx?: Tx, after?: TimedPlace): TimedPlace[] {
    return this.#timed(keys.EXPIRIES, limit, tx, after).filter(({ expires }) =>
      isOver(expires, now),
    );
  }

  /** Those that were ended, the longest over first. */
  ended(limit: number, tx?: Tx, after?: TimedPlace): TimedPlace[] {
    return this.#timed(keys.ENDED, limit, tx, after);
  }

  /** Calls with the accessors of tokens that were ended. */
  onEnded(call: (accessor: string) => void): () => void {
    return this.local.watch(keys.ENDED, (change) => {
      for (const key of change.keys) call(keys.timedPlace(keys.ENDED, key).place.accessor);
    });
  }

  /** Management tokens that never end, of all namespaces. */
  unending(limit: number): TokenPlace[] {
    return this.local.keys(keys.UNENDING, { limit }).map(keys.unendingPlace);
  }

  onUnending(call: () => void): () => void {
    return this.local.watch(keys.UNENDING, call);
  }

  /** Whether a management token of the namespace is valid at `now`. */
  hasManagement(namespaceId: string, now: Instant, tx: Tx): boolean {
    const folder = keys.managementOf(namespaceId);
    const [last] = tx.on(this.local).keys(folder, { limit: 1, reverse: true });
    if (last === undefined) return false;
    const until = keys.managedUntil(namespaceId, last);
    return !isOver(until, now);
  }

  /** Index of the last change to the tokens of a namespace; 0 without one. */
  tableIndex(namespaceId: string): bigint {
    // Ten thousand blocked queries ask for it after each change.
    const known = this.#tables.get(namespaceId);
    const asOf = this.local.index;
    if (known?.asOf === asOf) return known.index;
    const folder = keys.creationOf(namespaceId);
    const [last] = this.local.keys(folder, { limit: 1, reverse: true });
    const created = last === undefined ? 0n : keys.createdAt(namespaceId, last);
    const table = this.local.get(keys.tableKey(namespaceId), tableCodec);
    const touched = BigInt(table?.index ?? 0);
    const index = created > touched ? created : touched;
    if (this.#tables.size >= MAX_TABLES) this.#tables.clear();
    this.#tables.set(namespaceId, { asOf, index });
    return index;
  }

  /** Calls after every change to the tokens of a namespace, with its index. */
  onTable(namespaceId: string, call: (index: bigint) => void): () => void {
    let known = 0n;
    const tell = ({ index }: { readonly index: bigint }) => {
      if (index === known) return; // a deletion changes both places
      known = index;
      call(index);
    };
    const places = [keys.tableKey(namespaceId), keys.creationOf(namespaceId)];
    const ends = places.map((place) => this.local.watch(place, tell));
    return () => ends.forEach((end) => end());
  }

  /** Calls after every change to one token, or its deletion. */
  onToken(place: Omit<TokenPlace, "global">, call: () => void): () => void {
    const key = keys.recordKey(place);
    const ends = [this.shared, this.local].map((view) => view.watch(key, call));
    return () => ends.forEach((end) => end());
  }

  // --- inside ---

  #timed(folder: string, limit: number, tx?: Tx, after?: TimedPlace): TimedPlace[] {
    const page = after === undefined ? { limit } : { limit, after: keys.timedKey(folder, after) };
    return this.#local(tx)
      .keys(folder, page)
      .map((key) => keys.timedPlace(folder, key));
  }

  #home({ global }: Pick<TokenPlace, "global">): View {
    return global ? this.shared : this.local;
  }

  #shared(tx: Tx | undefined): ViewReads {
    return tx === undefined ? this.shared : tx.on(this.shared);
  }

  #local(tx: Tx | undefined): ViewReads {
    return tx === undefined ? this.local : tx.on(this.local);
  }
}

/** A row whose key says everything. */
function mark(local: Tx, key: string): void {
  local.put(key, EMPTY, bytesCodec);
}

function isMarked(local: ViewReads, key: string): boolean {
  return local.get(key, bytesCodec) !== null;
}
