// The tree of namespaces: found by every request, changed by few. Requests see what is durable, from
// memory; changes are decided inside a transaction, on the rows, where nothing interleaves.

import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Random, Timers } from "@holdfast/shared/world";
import { namespaceScope } from "../barrier/scope.ts";
import type { Tx, View } from "../barrier/view.ts";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Job } from "../house/room.ts";
import { type NamespaceContents, StoredContents } from "./contents.ts";
import { checkMetadata, type MetadataPatch, patched } from "./custom-metadata.ts";
import { type Doomed, Emptying } from "./emptying.ts";
import { MAX_DEPTH, MAX_PATH, readNames } from "./names.ts";
import { type Metadata, type NamespaceRecord, recordCodec } from "./record.ts";
import { type Claim, claimIn, isThere, type Place, recordIn } from "./rows.ts";
import { NamespaceFollower, NamespaceRemains } from "./remains.ts";
import { type Found, Tree } from "./tree.ts";
import { invariant } from "@holdfast/shared/invariant";
import * as failures from "./failures.ts";
import * as records from "./record.ts";

const MAX_NAMESPACES = 10_000; // each is held in memory, and a namespace's administrator can make them
const LOADED_AT_ONCE = 1000;

/** Whatever takes first segments of paths in a namespace: mounts for us, namespaces for mounts. */
export interface PathsTaken {
  /** What lies at the name or below it, in words ("the mount kv/"), or null. Sees what the
   *  transaction sees. */
  takenBy(tx: Tx, namespace: Place, name: string): string | null;
}

/** A room that puts something into every new namespace. */
export interface Resident {
  /** In the transaction that makes the namespace. */
  namespaceCreated(tx: Tx, namespaceId: string): void;
}

export interface NamespacesOptions {
  /** shared/namespaces/ */
  readonly view: View;
  /** Of everything below local/. */
  readonly local: View;
  /** shared/ns/ and local/ns/: below them is a folder by each namespace's id. */
  readonly spaces: readonly View[];
  /** What rooms keep for a namespace, to be removed in this order. Default none. */
  readonly contents?: readonly NamespaceContents[];
  /** Whether this cluster has something for a namespace outside of those folders. Default: nothing. */
  readonly isUsed?: (tx: Tx, namespaceId: string) => boolean;
  /** Whether another cluster, which writes it, does not send it here any more. Default: none is. */
  readonly isWithheld?: (namespaceId: string) => boolean;
  /** Another cluster has sent one. Default: nobody is told. */
  readonly came?: (namespaceId: string) => void;
  /** Default none. */
  readonly residents?: readonly Resident[];
  /** Default none. */
  readonly pathsTaken?: readonly PathsTaken[];
  readonly random: Random;
  readonly timers: Timers;
  readonly log: Log;
  /** Default 10,000. */
  readonly maxNamespaces?: number;
}

export interface NamespacesAfter {
  /** Only those after this name. Default: from the first. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface NamespacePage {
  readonly records: readonly NamespaceRecord[];
  /** The name to go on after; null at the end. */
  readonly next: string | null;
}

export interface Deletion {
  /** Why it does not get on, if it does not. It goes on trying. */
  readonly trouble: string | null;
}

export class Namespaces implements PathsTaken {
  readonly #options: NamespacesOptions;
  readonly #view: View;
  readonly #tree: Tree;
  readonly #stored: StoredContents;
  readonly #remains: NamespaceRemains;
  /** What follows from records, where another cluster writes them. */
  readonly follower: NamespaceFollower;
  #emptying: Emptying | null = null;
  #unwatch: () => void = () => {};

  constructor(options: NamespacesOptions) {
    this.#options = options;
    this.#view = options.view;
    const { local, spaces, timers, log, isUsed = () => false } = options;
    const { isWithheld = () => false } = options;
    this.#stored = new StoredContents(spaces, timers);
    this.#tree = new Tree(isWithheld);
    this.follower = new NamespaceFollower({ local, isUsed, isWithheld });
    const contents = () => options.contents ?? [];
    this.#remains = new NamespaceRemains({ local, contents, stored: this.#stored, timers, log });
  }

  /** Loads the tree. */
  open(): void {
    this.#tree.clear();
    this.#unwatch = this.#view.watch(records.ROWS, ({ keys }) => {
      for (const row of keys) {
        const record = this.#load(row);
        if (record !== null) this.#options.came?.(record.id);
      }
    });
    for (const row of this.#rows()) this.#load(row);
  }

  close(): void {
    this.#unwatch();
    this.#tree.clear();
  }

  /** The tree is shared by several clusters: one of them empties what is deleted, and each what is its own. */
  get jobs(): readonly Job[] {
    const work = { open: () => this.#begin(), close: () => this.#end() };
    return [
      { name: "empty namespaces", when: "while-primary", work },
      { name: "remove what is left of namespaces", when: "while-active", work: this.#remains },
    ];
  }

  /** Goes on with deletions that a crash or a seal has cut off. */
  #begin(): void {
    const { contents = [], timers, log } = this.#options;
    const emptying = new Emptying({
      contents: [...contents, this.#stored],
      finish: (doomed) => this.#finish(doomed),
      timers,
      log,
    });
    this.#emptying = emptying;
    for (const record of this.#tree.deleting()) emptying.start(record);
  }

  /** Waits for the step of a deletion that has begun. */
  async #end(): Promise<void> {
    await this.#emptying?.stop();
    this.#emptying = null;
  }

  // --- what every request asks ---

  named(path: string): NamespaceRef | null {
    return this.#tree.named(path);
  }

  resolve(base: NamespaceRef, segments: readonly string[]): Found {
    return this.#tree.resolve(base, segments);
  }

  /** Null when there is none, or it is being deleted. */
  byId(id: string): NamespaceRef | null {
    return this.#tree.byId(id);
  }

  /** Direct children, in the order of their names. */
  childrenOf(parent: NamespaceRef): NamespaceRef[] {
    return this.#tree.childrenOf(parent).map(({ ref }) => ref);
  }

  /** The indices of the writes that made those below, in order. */
  createdBelow(base: NamespaceRef): readonly bigint[] {
    return this.#tree.createdBelow(base);
  }

  /** Whether there is one. Looks only: a path that cannot be one is none. */
  has(base: NamespaceRef, path: string): boolean {
    return path.length <= MAX_PATH && this.#tree.below(base, path.split("/")) !== null;
  }

  // --- reading ---

  /** Paths are relative to the namespace of the request, here and below. */
  read(base: NamespaceRef, path: string): NamespaceRecord {
    const found = this.#tree.recordOf(base, readNames(path));
    if (found === null) throw failures.notFound();
    return found;
  }

  list(base: NamespaceRef, { after, limit }: NamespacesAfter): NamespacePage {
    const from = after?.toLowerCase(); // in the order of their rows
    const left = this.#tree
      .childrenOf(base)
      .filter(({ name }) => from === undefined || name.toLowerCase() > from);
    const page = left.slice(0, limit);
    const next = left.length > limit ? (page.at(-1)?.name ?? null) : null;
    return { records: page.map(({ record }) => record), next };
  }

  // --- changing ---

  /** Creates it, or replaces its metadata if some is given. */
  write(
    base: NamespaceRef,
    path: string,
    metadata?: Metadata,
    check?: (exists: boolean) => void,
  ): Promise<NamespaceRecord> {
    const names = readNames(path);
    if (metadata !== undefined) checkMetadata(metadata);
    return this.#view.write((tx) => {
      const claim = claimIn(tx, base, names);
      if (claim === null) throw failures.parentMissing();
      const found = tx.get(claim.row, recordCodec);
      if (found?.state === "deleting") throw failures.beingDeleted();
      if (found !== null && records.nameOf(found.path) !== claim.name) throw failures.otherCase();
      check?.(found !== null);
      if (found === null) return this.#create(tx, claim, metadata ?? {});
      return metadata === undefined
        ? found
        : put(tx, this.#view, claim.row, { ...found, metadata });
    });
  }

  patch(base: NamespaceRef, path: string, patch: MetadataPatch): Promise<NamespaceRecord> {
    const names = readNames(path);
    return this.#view.write((tx) => {
      const found = recordIn(tx, base, names);
      if (found === null || found.record.state === "deleting") throw failures.notFound();
      const metadata = patched(found.record.metadata, patch);
      return put(tx, this.#view, found.row, { ...found.record, metadata });
    });
  }

  /** Marks it and empties it in the background. Null when there is none; again tells how it goes. */
  async delete(base: NamespaceRef, path: string): Promise<Deletion | null> {
    const names = readNames(path);
    // Essential, as every deletion: on a full disk this is how space is made.
    const doomed = await this.#view.write((tx) => this.#mark(tx, base, names), { essential: true });
    if (doomed === null) return null;
    const trouble = this.#emptying?.troubleOf(doomed.id) ?? null;
    this.#emptying?.start(doomed);
    return { trouble };
  }

  /** These were withheld from this cluster, and are not any more: of those that have not come back what is here goes. */
  async lifted(namespaces: readonly Place[]): Promise<void> {
    if (namespaces.length === 0) return;
    await this.#options.local.write(
      (tx) => {
        const shared = tx.on(this.#view);
        for (const one of namespaces) if (!isThere(shared, one)) this.follower.leave(tx, one);
      },
      { essential: true },
    );
  }

  /** Resolves when no deletion is under way. */
  async idle(): Promise<void> {
    await this.#emptying?.idle();
  }

  takenBy(tx: Tx, namespace: Place, name: string): string | null {
    const found = tx.on(this.#view).get(records.rowOf(namespace.id, name), recordCodec);
    return found === null ? null : `the namespace ${found.path}/`;
  }

  // --- inside a transaction ---

  #create(tx: Tx, { parent, name, row }: Claim, metadata: Metadata): NamespaceRecord {
    const { pathsTaken = [], maxNamespaces = MAX_NAMESPACES } = this.#options;
    const path = parent.path === "" ? name : `${parent.path}/${name}`;
    if (path.split("/").length > MAX_DEPTH) throw failures.tooDeep(MAX_DEPTH);
    if (path.length > MAX_PATH) throw failures.pathTooLong(MAX_PATH);
    if (this.#tree.size >= maxNamespaces) throw failures.tooMany(maxNamespaces);
    for (const other of pathsTaken) {
      const by = other.takenBy(tx, parent, name);
      if (by !== null) throw failures.pathTaken(by);
    }
    const id = newId(this.#options.random, (text) => {
      return tx.get(records.idRowOf(text), records.idCodec) === null;
    });
    tx.put(records.idRowOf(id), { created: String(tx.index) }, records.idCodec);
    for (const resident of this.#options.residents ?? []) resident.namespaceCreated(tx, id);
    return put(tx, this.#view, row, {
      id,
      uuid: this.#options.random.uuid(),
      path,
      parent: parent.id,
      metadata,
      created: tx.index,
      state: "active",
    });
  }

  #mark(tx: Tx, base: NamespaceRef, names: readonly string[]): NamespaceRecord | null {
    const found = recordIn(tx, base, names);
    if (found === null) return null;
    const { record, row } = found;
    if (record.state === "deleting") return record;
    if (tx.keys(records.childrenOf(record.id), { limit: 1 }).length > 0) {
      throw failures.hasChildren();
    }
    return put(tx, this.#view, row, { ...record, state: "deleting" });
  }

  /** The end of a deletion. Requests that came in before it may still have left something. */
  #finish(doomed: Doomed): Promise<boolean> {
    return this.#view.write(
      (tx) => {
        const found = recordIn(tx, ROOT_NAMESPACE, doomed.path.split("/"));
        if (found?.record.id !== doomed.id) return true;
        if (!this.#stored.isEmpty(tx, doomed.id)) return false;
        tx.delete(found.row);
        this.follower.follow(tx, found.row, found.record, null);
        return true;
      },
      { essential: true },
    );
  }

  // --- memory ---

  #load(row: string): NamespaceRecord | null {
    try {
      const record = this.#view.get(row, recordCodec);
      if (record === null) this.#tree.remove(row);
      else this.#tree.put(row, record);
      return record;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "damaged") throw error;
      // One that cannot be read is as none; it must not keep the others, or the node, from opening.
      this.#tree.remove(row);
      this.#options.log.error("a namespace cannot be read", { cause: describe(error) });
      return null;
    }
  }

  #rows(): string[] {
    const rows: string[] = [];
    for (;;) {
      const after = rows.at(-1);
      const page = { limit: LOADED_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const part = this.#view.keys(records.ROWS, page);
      rows.push(...part);
      if (part.length < LOADED_AT_ONCE) return rows;
    }
  }
}

/** A row is found by the name of a namespace; it belongs to that namespace. */
function put(tx: Tx, view: View, row: string, record: NamespaceRecord): NamespaceRecord {
  tx.on(view.in(namespaceScope(record.id))).put(row, record, recordCodec);
  return record;
}

// --- id ---

// Short ids: part of every storage key of a namespace, so few characters; random, so that they tell
// nothing of how many there are.

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const LENGTH = 8; // 40 bits
const TRIES = 16;

export function newId(random: Random, isFree: (id: string) => boolean): string {
  for (let tried = 0; tried < TRIES; tried++) {
    let id = "";
    for (const byte of random.bytes(LENGTH)) id += ALPHABET[byte % ALPHABET.length];
    if (isFree(id)) return id;
  }
  invariant(false, "a random id is free sooner or later");
}
