// The private spaces of tokens: what lies in one is found by the token that asks and by
// nothing else, so that nobody sees another's, management included. A token has one in each namespace
// that it reaches. They go with the namespace that they lie in, and all of them in the transaction that
// ends the token, which is why those in other namespaces than its own are noted:
//
//   ns/<namespace>/cubbyhole/<accessor>/<path>                        of a token of this namespace
//   ns/<namespace>/cubbyhole-of/<its namespace>/<accessor>/<path>     of a token of another
//   ns/<its namespace>/cubbyhole-visits/<accessor>/<namespace>        where it has such
//   ns/<namespace>/wrapping-made/<accessor>                           whose the answer in it counts as
//
// A wrapped answer lies in the space of its wrapping token, and counts as its maker's.

import { EMPTY, text, utf8 } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec, type Codec } from "@holdfast/shared/codec";
import { type JsonObject, isObject } from "@holdfast/shared/json/json";
import type { Tx, View } from "../barrier/view.ts";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { Allowance, type Holder, type Storing } from "./allowance.ts";
import { cubbyholeFull, cubbyholesTooLarge, wrappingsFull } from "./failures.ts";
import { ownerOf } from "./owner.ts";
import { invariant } from "@holdfast/shared/invariant";
import { parseExactly } from "@holdfast/shared/json/json-exact";

/** Of one token, in all namespaces. Every token may write here, and 32 of them may end in one
 *  transaction. */
export const MAX_ENTRIES = 128;
const MEBIBYTE = 1024 * 1024;
/** In one namespace. */
export const CUBBYHOLES = {
  name: "cubbyhole-use",
  ofHolder: { entries: MAX_ENTRIES, bytes: 8 * MEBIBYTE },
  ofOwner: { entries: 4096, bytes: 32 * MEBIBYTE },
  ofNamespace: { entries: 65_536, bytes: 256 * MEBIBYTE },
};
/** In one namespace. Whoever hands out secrets has thousands of them waiting, and all of them small. They
 *  outlive the token that asked for them, so their holder is its owner. */
const OF_MAKER = { entries: 4096, bytes: 32 * MEBIBYTE };
export const WRAPPINGS = {
  name: "wrapping-use",
  ofHolder: OF_MAKER,
  ofOwner: OF_MAKER,
  ofNamespace: { entries: 65_536, bytes: 256 * MEBIBYTE },
};
/** Its name in the private space of the wrapping token. */
const RESPONSE = "response";
const NEXT = { entries: 1, bytes: 1 };

/** The token that a private space belongs to. */
export type SpaceOwner = Holder;

/** What of it a request reaches. */
export interface Space {
  readonly owner: SpaceOwner;
  /** Of the request. */
  readonly namespaceId: string;
}

/** Null: nobody's that is known. */
export interface Made {
  readonly by: Holder | null;
}

/** Who asks for it. */
export interface Maker extends Made {
  readonly management: boolean;
}

const OWN: Pick<Storing, "owner" | "management"> = { owner: null, management: false };

export const madeCodec = jsonCodec<Made & { readonly bytes: number }>();

export class CubbyholeContents {
  readonly #local: View;
  readonly #cubbyholes = new Allowance(CUBBYHOLES);
  readonly #wrappings = new Allowance(WRAPPINGS);

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
    return this.#local.list(folderOf(space) + folder, { limit: MAX_ENTRIES });
  }

  /** Without a caller the token counts for itself. */
  replace(
    space: Space,
    path: string,
    value: JsonObject,
    by: {
      readonly caller?: Caller;
      /** Told, before anything is changed, whether there is something already. */
      readonly check?: (exists: boolean) => void;
    } = {},
  ): Promise<void> {
    const { caller, check } = by;
    const bytes = objectCodec.encode(value);
    return this.#local.write((tx) => {
      const { owner, namespaceId } = space;
      const key = folderOf(space) + path;
      const before = tx.get(key, bytesCodec);
      check?.(before !== null);
      if (before === null) checkRoom(tx, owner);
      const more = {
        entries: before === null ? 1 : 0,
        bytes: bytes.length - (before?.length ?? 0),
      };
      const storing = { holder: owner, ...(caller === undefined ? OWN : ownerAnd(caller)) };
      const full = this.#cubbyholes.exhausted(tx, namespaceId, storing, more);
      // What takes no more than before can always be written.
      if (full !== null && (more.entries > 0 || more.bytes > 0)) throw cubbyholesTooLarge(full);
      this.#cubbyholes.change(tx, namespaceId, storing, more);
      tx.put(key, bytes, bytesCodec);
      if (namespaceId !== owner.namespaceId) {
        tx.put(visitsOf(owner) + namespaceId, EMPTY, bytesCodec);
      }
    });
  }

  async delete(space: Space, path: string): Promise<void> {
    const remove = (tx: Tx) => {
      const key = folderOf(space) + path;
      const before = tx.get(key, bytesCodec);
      if (before === null) return;
      tx.delete(key);
      const less = { entries: -1, bytes: -before.length };
      this.#cubbyholes.change(tx, space.namespaceId, { holder: space.owner, owner: null }, less);
    };
    await this.#local.write(remove, { essential: true });
  }

  // --- wrapped answers ---

  /** Refuses where there are as many as there may be. Asked before the answer is made: refused after,
   *  a secret would be lost. So those that are asked for at the same moment may pass the limit. */
  checkWrapping(namespaceId: string, { by, management }: Maker): void {
    const storing = { holder: by, owner: null, management };
    const full = this.#wrappings.exhausted(this.#local, namespaceId, storing, NEXT);
    if (full !== null) throw wrappingsFull(full);
  }

  /** In the space of the wrapping token. */
  putAnswer(tx: Tx, owner: SpaceOwner, value: JsonObject, { by, management }: Maker): void {
    const local = tx.on(this.#local);
    const { namespaceId } = owner;
    const bytes = objectCodec.encode(value);
    const more = { entries: 1, bytes: bytes.length };
    // Whoever asks for hundreds of large ones at the same moment.
    const storing = { holder: by, owner: null, management };
    const full = this.#wrappings.exhausted(local, namespaceId, storing, more, { underWay: true });
    if (full !== null) throw wrappingsFull(full);
    local.add(folderOf({ owner, namespaceId }) + RESPONSE, bytes, bytesCodec);
    local.add(madeKey(owner), { by, bytes: bytes.length }, madeCodec);
    this.#wrappings.change(local, namespaceId, storing, more);
  }

  readAnswer(tx: Tx, owner: SpaceOwner): (Made & { readonly answer: JsonObject }) | null {
    const { namespaceId } = owner;
    const answer = this.read({ owner, namespaceId }, RESPONSE, tx);
    if (answer === null) return null;
    return { answer, by: tx.on(this.#local).get(madeKey(owner), madeCodec)?.by ?? null };
  }

  /** In the transaction that ends the token. */
  wipe(tx: Tx, namespaceId: string, accessor: string): void {
    const local = tx.on(this.#local);
    const owner = { namespaceId, accessor };
    for (const { visit, keys, namespaceId: place } of entriesOf(local, owner)) {
      for (const key of keys) local.delete(key);
      if (visit !== null) local.delete(visit);
      if (keys.length > 0) this.#giveBack(local, owner, place);
    }
  }

  /** All that the token has there, or the one answer that is wrapped in it. */
  #giveBack(local: Tx, owner: SpaceOwner, namespaceId: string): void {
    const { entries, bytes } = this.#cubbyholes.used(local, namespaceId, owner);
    if (entries > 0) {
      const less = { entries: -entries, bytes: -bytes };
      this.#cubbyholes.change(local, namespaceId, { holder: owner, owner: null }, less);
    }
    const made = namespaceId === owner.namespaceId ? local.get(madeKey(owner), madeCodec) : null;
    if (made === null) return;
    local.delete(madeKey(owner));
    const less = { entries: -1, bytes: -made.bytes };
    this.#wrappings.change(local, namespaceId, { holder: made.by, owner: null }, less);
  }
}

/** Only tokens of a login have an owner besides themselves. */
function ownerAnd(caller: Caller): Pick<Storing, "owner" | "management"> {
  const owner = ownerOf(caller);
  const management = caller.type === "management";
  return { owner: owner.accessor === caller.accessor ? null : owner, management };
}

/** Refuses when there is none; notes of places that hold nothing any more go. */
function checkRoom(local: Tx, owner: SpaceOwner): void {
  let entries = 0;
  for (const { visit, keys } of entriesOf(local, owner)) {
    entries += keys.length;
    if (visit !== null && keys.length === 0) local.delete(visit);
  }
  if (entries >= MAX_ENTRIES) throw cubbyholeFull(MAX_ENTRIES);
}

interface Entries {
  readonly namespaceId: string;
  readonly visit: string | null;
  readonly keys: readonly string[];
}

/** Namespace by namespace. Nobody has more notes than entries, but for those that hold nothing. */
function entriesOf(local: Tx, owner: SpaceOwner): Entries[] {
  const notes = visitsOf(owner);
  const visits = local.keys(notes, { limit: 2 * MAX_ENTRIES });
  return [null, ...visits].map((visit) => {
    const namespaceId = visit === null ? owner.namespaceId : visit.slice(notes.length);
    const keys = local.keys(folderOf({ owner, namespaceId }), { limit: MAX_ENTRIES });
    return { namespaceId, visit, keys };
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

function madeKey({ namespaceId, accessor }: SpaceOwner): string {
  return `ns/${namespaceId}/wrapping-made/${accessor}`;
}

// --- object codec ---

// Objects that callers gave, as they gave them: numbers keep their text, which a double would change.

/** Of what a body held, or our own code made: it was scanned before it was ever stored. */
export const objectCodec: Codec<JsonObject> = {
  encode: (value) => utf8(JSON.stringify(value)),
  decode: (bytes) => readObject(text(bytes)),
};

function readObject(source: string): JsonObject {
  const found = parseExactly(source);
  invariant(isObject(found), "what was stored as an object is one");
  return found;
}
