// Rows below local/ that follow from shared records: orders, tables, and the end of what hangs on a record that goes.
// A room says for each kind of record what follows from a change of it, and its own writes do just that. A cluster
// that is sent shared rows alone applies them here, and so gets the same rows as the one that wrote them.

import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { LogOperation } from "../storage/rows/log-entry.ts";
import type { StoreTx } from "../storage/transaction.ts";
import { keyMissing } from "./failures.ts";
import type { Tx, View } from "./view.ts";

/** What follows from records of one kind. Keys are those below shared/. */
export interface Follower<T> {
  /** Where the records lie, with a star in the place of a namespace: "ns/*" + "/policies/acl/". */
  readonly folder: string;
  /** Whether names of records may have slashes. Default false. */
  readonly isDeep?: boolean;
  /** Null for one that counts for nothing, as it does where it is read. */
  decode(stored: Uint8Array): T | null;
  /** Writes below local/, in the transaction that has changed the record. Null: there is none that counts. What it
   *  writes depends on the two and on rows below local/, and on nothing else but the index of the transaction. */
  follow(tx: Tx, key: string, before: T | null, after: T | null): void;
}

export class Followers {
  readonly #shared: View;
  readonly #byFolder = new Map<string, Follower<unknown>>();

  /** A view of everything below shared/. */
  constructor(shared: View, followers: readonly Follower<unknown>[]) {
    this.#shared = shared;
    for (const follower of followers) {
      invariant(!this.#byFolder.has(follower.folder), "records of one kind have one follower");
      this.#byFolder.set(follower.folder, follower);
    }
  }

  /** Of which records something follows. */
  get folders(): readonly string[] {
    return [...this.#byFolder.keys()];
  }

  /** Stores a shared row as another cluster has written it, and what follows from it. Throws where the row does not
   *  open, or its key is missing, and then nothing of the transaction may be kept. */
  apply(raw: StoreTx, { key, value, scope }: Pick<LogOperation, "key" | "value" | "scope">): void {
    const { prefix } = this.#shared;
    invariant(key.startsWith(prefix), "only what is shared comes from another cluster");
    const own = key.slice(prefix.length);
    if (value !== null && !this.#shared.hasKeyOf(value)) throw keyMissing();
    const follower = this.#followerOf(own);
    if (follower === undefined) return put(raw, key, value, scope);
    const tx = this.#shared.within(raw);
    const read = () => {
      const stored = tx.get(own, bytesCodec);
      return stored === null ? null : follower.decode(stored);
    };
    const before = unlessDamaged(read);
    put(raw, key, value, scope);
    follower.follow(tx, own, before, read());
  }

  #followerOf(key: string): Follower<unknown> | undefined {
    const folder = folderOf(key);
    const exact = this.#byFolder.get(folder);
    if (exact !== undefined) return exact;
    return this.#byFolder
      .values()
      .find(({ folder: above, isDeep }) => isDeep === true && folder.startsWith(above));
  }
}

function put(raw: StoreTx, key: string, value: Uint8Array | null, scope: Uint8Array): void {
  if (value === null) raw.delete(key, scope);
  else raw.put(key, value, scope);
}

/** What lies here and does not open is about to be replaced. */
function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure && error.kind === "damaged") return null;
    throw error;
  }
}

/** Folders that have one for each namespace. */
const BY_NAMESPACE = ["ns/", "namespaces/tree/"];

function folderOf(key: string): string {
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  const above = BY_NAMESPACE.find((start) => folder.startsWith(start) && folder !== start);
  if (above === undefined) return folder;
  return `${above}*${folder.slice(folder.indexOf("/", above.length))}`;
}
