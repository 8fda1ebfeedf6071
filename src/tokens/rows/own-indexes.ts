// The indexes that a global token has in this cluster where another one writes its record. That has the indexes of
// its writer, and is the same everywhere; whoever lists, waits and compares here goes by those of the cluster that
// answers. They lie in rows of their own, written with the record when it is applied:
//
//   ns/<namespace>/tokens/indexes/<accessor>
//
// Where nothing was ever applied there are none, and nobody looks for them.

import type { Codec } from "@holdfast/shared/codec";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import type { Indexes, Token } from "../token.ts";
import * as keys from "./token-keys.ts";

const stored = jsonCodec<{ readonly create: string; readonly modify: string }>();
const indexesCodec: Codec<Indexes> = {
  encode: ({ create, modify }) => stored.encode({ create: String(create), modify: String(modify) }),
  decode: (bytes) => {
    const { create, modify } = stored.decode(bytes);
    return { create: BigInt(create), modify: BigInt(modify) };
  },
};

interface Known {
  some: boolean;
  readonly unwatch: () => void;
}

export class OwnIndexes {
  readonly #local: View;
  readonly #known = new Map<string, Known>(); // by namespace
  #open = false;

  /** Of everything below local/. */
  constructor(local: View) {
    this.#local = local;
  }

  open(): void {
    this.#open = true;
  }

  close(): void {
    this.#open = false;
    for (const { unwatch } of this.#known.values()) unwatch();
    this.#known.clear();
  }

  /** Null: as its record says. */
  of(local: ViewReads, place: keys.RecordPlace): Indexes | null {
    if (!this.#hasSome(place.namespaceId)) return null;
    return local.get(keys.indexesKey(place), indexesCodec);
  }

  /** The token as this cluster shows it. */
  applyTo(local: ViewReads, token: Token): Token {
    return token.global ? withIndexes(token, this.of(local, token)) : token;
  }

  put(local: Tx, place: keys.RecordPlace, indexes: Indexes): void {
    const known = this.#known.get(place.namespaceId);
    if (known !== undefined) known.some = true; // for those who read before it is durable
    local.put(keys.indexesKey(place), indexes, indexesCodec);
  }

  drop(local: Tx, place: keys.RecordPlace): void {
    if (this.#hasSome(place.namespaceId)) local.delete(keys.indexesKey(place));
  }

  #hasSome(namespaceId: string): boolean {
    const known = this.#known.get(namespaceId);
    if (known !== undefined) return known.some;
    const folder = keys.indexesOf(namespaceId);
    const some = this.#local.keys(folder, { limit: 1 }).length > 0;
    if (!this.#open) return some;
    const fresh: Known = { some, unwatch: this.#local.watch(folder, () => (fresh.some = true)) };
    this.#known.set(namespaceId, fresh);
    return some;
  }
}

export function withIndexes(token: Token, own: Indexes | null): Token {
  if (own === null) return token;
  const written = { create: token.createIndex, modify: token.modifyIndex };
  return { ...token, createIndex: own.create, modifyIndex: own.modify, written };
}

/** Whether they are one token at two times, by what their records say: it may be another with the same accessor. */
export function isOneToken(before: Token, after: Token): boolean {
  const created = ({ createIndex, written }: Token) => written?.create ?? createIndex;
  return created(before) === created(after);
}
