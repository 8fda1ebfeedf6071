// The private spaces of tokens (core contract 18): what lies in one is found by the token that asks and by
// nothing else, so that nobody sees another's, management included. A token has one in each namespace
// that it reaches. They go with the namespace that they lie in, and all of them in the transaction that
// ends the token, which is why those in other namespaces than its own are noted:
//
//   ns/<namespace>/cubbyhole/<accessor>/<path>                        of a token of this namespace
//   ns/<namespace>/cubbyhole-of/<its namespace>/<accessor>/<path>     of a token of another
//   ns/<its namespace>/cubbyhole-visits/<accessor>/<namespace>        where it has such

import { EMPTY } from "../base/bytes.ts";
import { bytesCodec } from "../base/codec.ts";
import type { JsonObject } from "../base/json.ts";
import { objectCodec } from "../base/object-codec.ts";
import type { Tx, View } from "../barrier/view.ts";
import { cubbyholeFull } from "./failures.ts";

/** Of one token, in all namespaces. Every token may write here, and 32 of them may end in one
 *  transaction. */
export const MOST_ENTRIES = 128;

/** The token that a private space belongs to. */
export interface SpaceOwner {
  readonly namespaceId: string;
  readonly accessor: string;
}

/** What of it a request reaches. */
export interface Space {
  readonly owner: SpaceOwner;
  /** Of the request. */
  readonly namespaceId: string;
}

export class CubbyholeContents {
  readonly #local: View;

  /** Of everything below local/. */
  constructor(local: View) {
    this.#local = local;
  }

  read(space: Space, path: string, tx?: Tx): JsonObject | null {
    const reads = tx === undefined ? this.#local : tx.on(this.#local);
    return reads.get(folderOf(space) + path, objectCodec);
  }

  /** Names one level down; `folder` is empty, or ends with a slash. */
  list(space: Space, folder: string): string[] {
    return this.#local.list(folderOf(space) + folder, { limit: MOST_ENTRIES });
  }

  replace(space: Space, path: string, value: JsonObject): Promise<void> {
    return this.#local.write((tx) => {
      if (this.read(space, path, tx) === null) checkRoom(tx, space.owner);
      this.put(tx, space, path, value);
    });
  }

  put(tx: Tx, space: Space, path: string, value: JsonObject): void {
    const local = tx.on(this.#local);
    const { owner, namespaceId } = space;
    local.put(folderOf(space) + path, value, objectCodec);
    if (namespaceId !== owner.namespaceId) {
      local.put(visitsOf(owner) + namespaceId, EMPTY, bytesCodec);
    }
  }

  async delete(space: Space, path: string): Promise<void> {
    const remove = (tx: Tx) => {
      if (this.read(space, path, tx) !== null) tx.delete(folderOf(space) + path);
    };
    await this.#local.write(remove, { essential: true });
  }

  /** In the transaction that ends the token. */
  wipe(tx: Tx, namespaceId: string, accessor: string): void {
    const local = tx.on(this.#local);
    const owner = { namespaceId, accessor };
    for (const { visit, keys } of entriesOf(local, owner)) {
      for (const key of keys) local.delete(key);
      if (visit !== null) local.delete(visit);
    }
  }
}

/** Refuses when there is none; notes of places that hold nothing any more go. */
function checkRoom(local: Tx, owner: SpaceOwner): void {
  let entries = 0;
  for (const { visit, keys } of entriesOf(local, owner)) {
    entries += keys.length;
    if (visit !== null && keys.length === 0) local.delete(visit);
  }
  if (entries >= MOST_ENTRIES) throw cubbyholeFull(MOST_ENTRIES);
}

/** Namespace by namespace. Nobody has more notes than entries, but for those that hold nothing. */
function entriesOf(
  local: Tx,
  owner: SpaceOwner,
): { readonly visit: string | null; readonly keys: readonly string[] }[] {
  const notes = visitsOf(owner);
  const visits = local.keys(notes, { limit: 2 * MOST_ENTRIES });
  return [null, ...visits].map((visit) => {
    const namespaceId = visit === null ? owner.namespaceId : visit.slice(notes.length);
    const keys = local.keys(folderOf({ owner, namespaceId }), { limit: MOST_ENTRIES });
    return { visit, keys };
  });
}

function folderOf({ owner, namespaceId }: Space): string {
  const { namespaceId: home, accessor } = owner;
  return namespaceId === home
    ? `ns/${home}/cubbyhole/${accessor}/`
    : `ns/${namespaceId}/cubbyhole-of/${home}/${accessor}/`;
}

function visitsOf({ namespaceId, accessor }: SpaceOwner): string {
  return `ns/${namespaceId}/cubbyhole-visits/${accessor}/`;
}
