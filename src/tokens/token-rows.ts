// The rows of a token and their keys. The record and the way to it from the hash of the secret are of
// the token's class; what is derived from a record in this cluster (order of creation and of expiry,
// the index of the table) is local for global tokens too (decision 27).

import { jsonCodec } from "../base/codec.ts";
import type { Instant } from "../base/world.ts";
import type { Page, Tx, View, ViewReads } from "../barrier/view.ts";
import { type Token, tokenCodec } from "./token.ts";

/** Where the record of a token lies. */
export interface TokenPlace {
  readonly namespaceId: string;
  readonly accessor: string;
  readonly global: boolean;
}

const placeCodec = jsonCodec<TokenPlace>();
const tableCodec = jsonCodec<{ readonly index: string }>();

const HASHES = "tokens/by-hash/";
const EXPIRIES = "tokens/by-expiry/";
const ENDED = "tokens/ended/";

/** Below its class. */
export function recordsOf(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/by-accessor/`;
}

/** Oldest first: the order of lists. */
function creationKey({ namespaceId, createIndex, accessor }: Token): string {
  return `ns/${namespaceId}/tokens/by-creation/${digits(createIndex)}/${accessor}`;
}

function tableKey(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/table`;
}

function timed(folder: string, expires: Instant, accessor: string): string {
  return `${folder}${digits(expires)}/${accessor}`;
}

/** Of one length, so that their order as text is that of the numbers. */
function digits(value: bigint): string {
  return String(value).padStart(20, "0");
}

export class TokenRows {
  readonly shared: View;
  readonly local: View;

  /** Views of everything below shared/ and below local/. */
  constructor(shared: View, local: View) {
    this.shared = shared;
    this.local = local;
  }

  put(tx: Tx, token: Token, hash: string): void {
    const { namespaceId, accessor, global, expires } = token;
    const own = tx.on(global ? this.shared : this.local);
    const local = tx.on(this.local);
    const place: TokenPlace = { namespaceId, accessor, global };
    own.put(recordsOf(namespaceId) + accessor, token, tokenCodec);
    own.put(HASHES + hash, place, placeCodec);
    local.put(creationKey(token), place, placeCodec);
    if (expires !== null) local.put(timed(EXPIRIES, expires, accessor), place, placeCodec);
    local.put(tableKey(namespaceId), { index: String(tx.index) }, tableCodec);
  }

  remove(tx: Tx, token: Token, hash: string): void {
    const { namespaceId, accessor, global, expires } = token;
    const own = tx.on(global ? this.shared : this.local);
    const local = tx.on(this.local);
    own.delete(recordsOf(namespaceId) + accessor);
    own.delete(HASHES + hash);
    local.delete(creationKey(token));
    if (expires !== null) {
      local.delete(timed(EXPIRIES, expires, accessor));
      local.delete(timed(ENDED, expires, accessor));
    }
    local.put(tableKey(namespaceId), { index: String(tx.index) }, tableCodec);
  }

  /** The record alone, where it cannot be read and so does not say what else it has. */
  removeUnread(tx: Tx, { namespaceId, accessor, global }: TokenPlace): void {
    tx.on(global ? this.shared : this.local).delete(recordsOf(namespaceId) + accessor);
  }

  /** Its time is over. From now on it stays ended, whatever the clock says. False when it was ended
   *  or deleted meanwhile. */
  end(tx: Tx, place: TokenPlace, expires: Instant): boolean {
    const local = tx.on(this.local);
    const key = timed(EXPIRIES, expires, place.accessor);
    if (local.get(key, placeCodec) === null) return false;
    local.delete(key);
    local.put(timed(ENDED, expires, place.accessor), place, placeCodec);
    return true;
  }

  hasEnded({ accessor, expires }: Token, tx?: Tx): boolean {
    if (expires === null) return false;
    return this.#local(tx).get(timed(ENDED, expires, accessor), placeCodec) !== null;
  }

  /** Where the token with this hash of its secret lies. */
  placeOf(hash: string, tx?: Tx): TokenPlace | null {
    return (
      this.#shared(tx).get(HASHES + hash, placeCodec) ??
      this.#local(tx).get(HASHES + hash, placeCodec)
    );
  }

  at({ namespaceId, accessor, global }: TokenPlace, tx?: Tx): Token | null {
    const reads = global ? this.#shared(tx) : this.#local(tx);
    return reads.get(recordsOf(namespaceId) + accessor, tokenCodec);
  }

  byAccessor(namespaceId: string, accessor: string, tx?: Tx): Token | null {
    const key = recordsOf(namespaceId) + accessor;
    return this.#shared(tx).get(key, tokenCodec) ?? this.#local(tx).get(key, tokenCodec);
  }

  /** Those whose time is over and who were not ended yet, the longest over first. */
  due(now: Instant, page: Page): { readonly place: TokenPlace; readonly expires: Instant }[] {
    return this.local
      .records(EXPIRIES, placeCodec, page)
      .map(({ key, value }) => ({ place: value, expires: BigInt(key.split("/")[2] ?? "0") }))
      .filter(({ expires }) => expires < now);
  }

  /** Calls with the accessors of tokens that were ended. */
  onEnded(call: (accessor: string) => void): () => void {
    return this.local.watch(ENDED, ({ keys }) => {
      for (const key of keys) call(key.slice(key.lastIndexOf("/") + 1));
    });
  }

  /** Accessors of a namespace, in each class. */
  accessors(namespaceId: string, limit: number): TokenPlace[] {
    const folder = recordsOf(namespaceId);
    const of = (view: View, global: boolean) =>
      view
        .keys(folder, { limit })
        .map((key) => ({ namespaceId, accessor: key.slice(folder.length), global }));
    return [...of(this.shared, true), ...of(this.local, false)].slice(0, limit);
  }

  /** Index of the last change to the tokens of a namespace; 0 without one. */
  tableIndex(namespaceId: string): bigint {
    return BigInt(this.local.get(tableKey(namespaceId), tableCodec)?.index ?? 0);
  }

  #shared(tx: Tx | undefined): ViewReads {
    return tx === undefined ? this.shared : tx.on(this.shared);
  }

  #local(tx: Tx | undefined): ViewReads {
    return tx === undefined ? this.local : tx.on(this.local);
  }
}
