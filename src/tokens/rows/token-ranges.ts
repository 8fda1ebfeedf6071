// Tokens in the two orders of lists, a bounded part at a time: creation, and
// accessors. A read costs what it gives, however many tokens there are.

import type { View } from "../../barrier/view.ts";
import { type Token, tokenCodec } from "../token.ts";
import * as keys from "./token-keys.ts";
import type { TokenPlace, TokenRows } from "./token-rows.ts";

interface Range {
  readonly limit: number;
  /** Default false. */
  readonly reverse?: boolean | undefined;
}

export interface CreationRange extends Range {
  /** The first to be given, or its neighbour if it is gone. Default: the first of all. */
  readonly from?: { readonly createIndex: bigint; readonly accessor: string } | undefined;
}

export interface AccessorRange extends Range {
  /** As above. */
  readonly from?: string | undefined;
  /** What accessors begin with: lower case, with hyphens where accessors have them. Default: any. */
  readonly prefix?: string | undefined;
  /** Global tokens only. Default false. */
  readonly global?: boolean | undefined;
}

export class TokenRanges {
  readonly #rows: TokenRows;

  constructor(rows: TokenRows) {
    this.#rows = rows;
  }

  /** By (CreateIndex, AccessorID). */
  byCreation(namespaceId: string, { limit, reverse = false, from }: CreationRange): Token[] {
    const folder = keys.creationOf(namespaceId);
    const start =
      from === undefined
        ? undefined
        : keys.creationStart(namespaceId, from.createIndex, from.accessor);
    const tokens: Token[] = [];
    let after = start === undefined ? undefined : reverse ? aboveFolder(start) : start;
    // Rows that lead to no record are left over from damage alone; a page is filled regardless.
    while (tokens.length < limit) {
      const wanted = limit - tokens.length;
      const page = { limit: wanted, reverse, ...(after === undefined ? {} : { after }) };
      const found = this.#rows.local.keys(folder, page);
      for (const key of found) {
        const token = this.#rows.at(keys.createdPlace(namespaceId, key));
        if (token !== null) tokens.push(token);
      }
      if (found.length < wanted) break;
      after = found.at(-1);
    }
    return tokens;
  }

  /** By AccessorID: local and global tokens lie apart, each in that order. */
  byAccessor(namespaceId: string, range: AccessorRange): Token[] {
    const { limit, reverse = false, from, prefix = "", global = false } = range;
    const folder = keys.recordsOf(namespaceId);
    const after =
      from === undefined ? {} : { after: folder + (reverse ? above(from) : below(from)) };
    const read = (view: View) =>
      view
        .records(folder + prefix, tokenCodec, { limit, reverse, ...after })
        .map(({ value }) => this.#rows.withOwnIndexes(value));
    const shared = read(this.#rows.shared);
    if (global) return shared;
    return merged(shared, read(this.#rows.local), reverse).slice(0, limit);
  }

  /** Places of a namespace, in no order: in each class that this cluster writes. */
  ownPlaces(namespaceId: string, limit: number): TokenPlace[] {
    const folder = keys.recordsOf(namespaceId);
    const of = (view: View, global: boolean) =>
      view
        .keys(folder, { limit })
        .map((key) => ({ namespaceId, accessor: key.slice(folder.length), global }));
    const { shared, local } = this.#rows;
    const global = shared.writtenElsewhere ? [] : of(shared, true);
    return [...global, ...of(local, false)].slice(0, limit);
  }
}

function merged(a: readonly Token[], b: readonly Token[], reverse: boolean): Token[] {
  const sign = reverse ? -1 : 1;
  // Hexadecimal digits and hyphens only: their order as text is that of their bytes.
  return [...a, ...b].toSorted((x, y) => (x.accessor < y.accessor ? -sign : sign));
}

// Pages begin behind a key, and a cursor names the first item itself: so a page begins behind a key
// that no row has and none lies between.

/** Just above every row that is below the key as a folder. */
function aboveFolder(key: string): string {
  return `${key}0`; // the character after the slash
}

function above(accessor: string): string {
  return `${accessor}\u0000`;
}

/** All accessors have one length, so none lies between this and the one given. */
function below(accessor: string): string {
  const last = accessor.length - 1;
  return accessor.slice(0, last) + String.fromCharCode(accessor.charCodeAt(last) - 1);
}
