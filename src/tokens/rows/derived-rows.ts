// The rows that follow from the record of a token, below local/ and empty: whoever has the record knows them,
// be it the one who writes it or one who is sent it from another cluster. And what goes with a record that goes:
// its one-time token, its private space, its leases, its children.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { Follower } from "../../barrier/followers.ts";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import { RECORD_UNUSABLE } from "../failures.ts";
import type { TokenEnding } from "../life/expiry.ts";
import { type Indexes, type Token, tokenCodec } from "../token.ts";
import type { OneTimeRows } from "./one-time-rows.ts";
import { isOneToken, OwnIndexes, withIndexes } from "./own-indexes.ts";
import * as keys from "./token-keys.ts";

export const tableCodec = jsonCodec<{ readonly index: string }>();

/** All of them, by their keys. What is written when its time is over is no part of it: that is this cluster's
 *  own knowledge. */
export function derivedKeys(token: Token): string[] {
  const { expires, terms } = token;
  const derived = [keys.creationKey(token)];
  if (expires !== null) derived.push(keys.timedKey(keys.EXPIRIES, { place: token, expires }));
  if (token.type === "management") derived.push(keys.managementKey(token));
  if (token.type === "management" && expires === null) derived.push(keys.unendingKey(token));
  const parent = terms?.parent ?? null;
  if (parent !== null) derived.push(keys.childKey(parent, token));
  const login = keys.cameByLogin(token);
  if (login !== null) derived.push(keys.loginKey(login, token));
  return derived;
}

export interface DerivingParts {
  /** Of everything below local/. */
  readonly local: View;
  readonly oneTime: OneTimeRows;
  /** What else hangs on a token. */
  readonly ending: TokenEnding;
}

/** Whoever changes a record has it write what follows. */
export class TokenFollower implements Follower<Token> {
  readonly folder = keys.recordsOf("*");
  readonly indexes: OwnIndexes;
  readonly #parts: DerivingParts;

  constructor(parts: DerivingParts) {
    this.#parts = parts;
    this.indexes = new OwnIndexes(parts.local);
  }

  decode(stored: Uint8Array): Token | null {
    try {
      return tokenCodec.decode(stored);
    } catch (error) {
      if (error instanceof Failure && error.code === RECORD_UNUSABLE) return null;
      throw error;
    }
  }

  follow(tx: Tx, key: string, before: Token | null, after: Token | null): void {
    const place = keys.recordPlace(key);
    const known = this.indexes.of(tx.on(this.#parts.local), place);
    const old = before === null ? null : withIndexes(before, known);
    const own = after === null ? null : indexesHere(tx, known, before, after);
    this.derive(tx, place, old, after === null ? null : withIndexes(after, own));
  }

  /** Also from the records of local tokens, each with the indexes of this cluster. `drawn`: no row of the new one can be there. */
  derive(
    tx: Tx,
    place: keys.RecordPlace,
    before: Token | null,
    after: Token | null,
    drawn = false,
  ): void {
    const local = tx.on(this.#parts.local);
    if (before !== null && after !== null && isOneToken(before, after)) {
      return this.#change(local, before, after);
    }
    // It may be another token with the same accessor, where not every change is sent.
    if (before !== null || after === null) this.#end(local, place, before);
    if (after === null) return;
    for (const key of derivedKeys(after)) {
      if (drawn) local.add(key, EMPTY, bytesCodec);
      else local.put(key, EMPTY, bytesCodec);
    }
    if (after.written !== undefined) this.#keepIndexes(local, after);
  }

  /** Without a new ModifyIndex it is a change that no list shows: the table stays. */
  #change(local: Tx, before: Token, after: Token): void {
    const [old, now] = [derivedKeys(before), derivedKeys(after)];
    for (const key of old) if (!now.includes(key)) local.delete(key);
    for (const key of now) if (!old.includes(key)) local.put(key, EMPTY, bytesCodec);
    if (before.expires !== after.expires) dropEnded(local, before); // the clock here may be ahead
    if (before.modifyIndex === after.modifyIndex) return;
    this.#touch(local, after);
    if (after.written !== undefined) this.#keepIndexes(local, after);
  }

  #keepIndexes(local: Tx, token: Token): void {
    const { createIndex: create, modifyIndex: modify } = token;
    this.indexes.put(local, token, { create, modify });
  }

  /** Null: one that cannot be read, and so does not say which rows it has. */
  #end(local: Tx, place: keys.RecordPlace, token: Token | null): void {
    const { oneTime, ending } = this.#parts;
    const ended = token !== null && isEnded(local, token);
    if (token !== null) {
      for (const key of derivedKeys(token)) local.delete(key);
      dropEnded(local, token);
    }
    this.#touch(local, place);
    this.indexes.drop(local, place);
    oneTime.removeOf(local, place);
    if (!ended) ending.ends(local, place);
  }

  #touch(local: Tx, { namespaceId }: keys.RecordPlace): void {
    local.put(keys.tableKey(namespaceId), { index: String(local.index) }, tableCodec);
  }
}

/** Of a record that another cluster has written; null: those that it has. */
function indexesHere(
  { index }: Tx,
  known: Indexes | null,
  before: Token | null,
  after: Token,
): Indexes | null {
  const isOther = before !== null && !isOneToken(before, after);
  if (isOther || (before === null && known === null)) return { create: index, modify: index };
  const isSame = before !== null && before.modifyIndex === after.modifyIndex;
  if (isSame) return known;
  return { create: known?.create ?? after.createIndex, modify: index };
}

/** Whether it was ended here when its time was over. */
export function isEnded(local: ViewReads, token: Token): boolean {
  const { expires } = token;
  if (expires === null) return false;
  return local.get(keys.timedKey(keys.ENDED, { place: token, expires }), bytesCodec) !== null;
}

function dropEnded(local: Tx, token: Token): void {
  const { expires } = token;
  if (expires !== null) local.delete(keys.timedKey(keys.ENDED, { place: token, expires }));
}
