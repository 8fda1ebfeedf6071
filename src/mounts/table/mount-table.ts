// The mounts in memory, as far as they are durable, with their engines: found by every request, changed
// by few. It follows the stored rows, whoever has changed them.
//
// Where another cluster writes what is shared, one of its mounts may come to the path of a local one, or above or below it. Then
// the local one stays what requests find, and the other is shadowed: it is here with its engine, for its leases, and is found by no
// path until the local one is gone.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { MountTree } from "./mount-tree.ts";
import type { TypeOf } from "./mount-types.ts";
import { ENTRIES, type MountRecord, ownerOf, recordOwner } from "./mount-record.ts";
import type { MountRows } from "./mount-rows.ts";
import { segmentsOf } from "./mount-path.ts";
import { type FoundMount, Mount, type MountWorld } from "../open-mount.ts";

/** An engine that takes longer to open opens while others are served already. */
const PATIENCE: Nanos = 10n * SECOND;
const LOADED_AT_ONCE = 500;

export interface TableOptions {
  readonly rows: MountRows;
  readonly world: MountWorld;
  readonly typeOf: (record: TypeOf) => EngineType<unknown> | null;
  readonly namespaces: { byId(id: string): NamespaceRef | null };
  /** One has come, gone or become another. */
  readonly changed: (uuid: string) => void;
  /** Whether no path is to lead to a shared one: who writes it does not share it with this cluster any more. */
  readonly withholds: (uuid: string) => boolean;
}

export class Table {
  readonly #options: TableOptions;
  readonly #tree = new MountTree<Mount>();
  readonly #byUuid = new Map<string, Mount>();
  readonly #byNamespace = new Map<string, Map<string, Mount>>(); // by id, by path; without those that are shadowed
  readonly #shadowed = new Set<Mount>();
  #unwatch: (() => void)[] = [];

  constructor(options: TableOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { rows, world } = this.#options;
    const { timers } = world;
    for (const view of [rows.shared, rows.local]) {
      const follow = (keys: readonly string[]) => {
        for (const key of keys) this.#load(view, key.slice(ENTRIES.length));
      };
      this.#unwatch.push(view.watch(ENTRIES, ({ keys }) => follow(keys)));
      this.#unwatch.push(view.onForeign((keys) => this.#invalidate(view, keys)));
      let loaded = 0;
      for (const uuid of rows.uuids(view)) {
        this.#load(view, uuid);
        if (++loaded % LOADED_AT_ONCE === 0) await timers.turn();
      }
    }
    await this.#waitFor(this.settled());
  }

  async close(): Promise<void> {
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
    const all = [...this.#byUuid.values()];
    this.#tree.clear();
    this.#byUuid.clear();
    this.#byNamespace.clear();
    this.#shadowed.clear();
    await this.#waitFor(Promise.all(all.map((mount) => mount.close())));
  }

  /** This node is the active one: engines begin with work of their own. */
  lead(): void {
    for (const mount of this.#byUuid.values()) mount.lead();
  }

  async rest(): Promise<void> {
    await this.#waitFor(Promise.all([...this.#byUuid.values()].map((mount) => mount.rest())));
  }

  find(namespace: NamespaceRef, segments: readonly string[]): FoundMount | null {
    return this.#tree.find(namespace.id, segments)?.mount.found ?? null;
  }

  get size(): number {
    return this.#byUuid.size;
  }

  all(): Iterable<Mount> {
    return this.#byUuid.values();
  }

  byUuid(uuid: string): Mount | null {
    return this.#byUuid.get(uuid) ?? null;
  }

  /** `path` with its slash. */
  at(namespaceId: string, path: string): Mount | null {
    return this.#byNamespace.get(namespaceId)?.get(path) ?? null;
  }

  /** In the order of their paths. */
  of(namespaceId: string): Mount[] {
    const found = [...(this.#byNamespace.get(namespaceId)?.values() ?? [])];
    return found.toSorted((a, b) => (a.record.path < b.record.path ? -1 : 1));
  }

  /** With those that no path leads to. */
  within(namespaceId: string): Mount[] {
    return [...this.of(namespaceId), ...this.#shadowedIn(namespaceId)];
  }

  /** Those that no path leads to because this one is in their way. */
  shadowedBy({ record: { local, namespaceId, path } }: Mount): Mount[] {
    if (!local || this.#shadowed.size === 0) return [];
    return this.#shadowedIn(namespaceId).filter(
      ({ record }) => record.path.startsWith(path) || path.startsWith(record.path),
    );
  }

  /** Resolves when every engine that is being opened is there, or is not. */
  async settled(): Promise<void> {
    await Promise.all([...this.#byUuid.values()].map((mount) => mount.settled()));
  }

  /** An engine that hangs must keep the node neither from opening nor from sealing. */
  async #waitFor(engines: Promise<unknown>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.world.timers.after(PATIENCE, resolve);
    await Promise.race([engines, late]);
    timer.cancel();
  }

  #load(view: View, uuid: string): void {
    this.#follow(view, uuid);
    this.#options.changed(uuid);
  }

  #follow(view: View, uuid: string): void {
    const { rows, world, typeOf, namespaces } = this.#options;
    const before = this.#byUuid.get(uuid);
    const record = rows.load(view, uuid);
    if (record === null) {
      if (before !== undefined && rows.viewOf(before.record) === view) this.#drop(before);
      return;
    }
    const known = namespaces.byId(record.namespaceId);
    // A namespace that is being deleted is nobody's, but its mounts have to be emptied.
    const namespace = known ?? { id: record.namespaceId, path: "", created: 0n };
    if (before === undefined) {
      const mount = new Mount(world, typeOf(record), record, namespace);
      this.#place(mount);
      void mount.open();
      return;
    }
    this.#displace(before);
    before.follow(record, namespace, typeOf(record));
    this.#place(before);
  }

  /** Somebody else has written below some of the mounts. */
  #invalidate(view: View, paths: readonly string[]): void {
    const { rows } = this.#options;
    const byMount = new Map<Mount, string[]>();
    for (const path of paths) {
      const uuid = recordOwner(path);
      if (uuid !== null) this.#load(view, uuid); // its entry may have come before it
      const owner = ownerOf(path);
      const mount = owner === null ? undefined : this.#byUuid.get(owner.uuid);
      if (owner === null || mount === undefined) continue;
      const { record } = mount;
      // While it moves there are two places, and it is in one of them.
      if (record.namespaceId !== owner.namespaceId || rows.viewOf(record) !== view) continue;
      const keys = byMount.get(mount);
      if (keys === undefined) byMount.set(mount, [owner.key]);
      else keys.push(owner.key);
    }
    for (const [mount, keys] of byMount) mount.invalidate(keys);
  }

  /** Whether a path leads to it may be something else than before. */
  look(uuid: string): void {
    const mount = this.#byUuid.get(uuid);
    if (mount === undefined) return;
    this.#displace(mount);
    this.#place(mount);
  }

  /** Its record has come: mounts may have come before it. */
  lookIn(namespaceId: string): void {
    const namespace = this.#options.namespaces.byId(namespaceId);
    if (namespace === null) return;
    for (const mount of this.within(namespaceId)) {
      if (mount.namespace !== namespace) mount.follow(mount.record, namespace);
    }
  }

  #place(mount: Mount): void {
    const { uuid, namespaceId, path, local } = mount.record;
    this.#byUuid.set(uuid, mount);
    if (!local && this.#options.withholds(uuid)) {
      this.#shadowed.add(mount);
      return;
    }
    const segments = segmentsOf(path);
    const inTheWay = this.#tree.inTheWay(namespaceId, segments);
    if (!local && inTheWay.some(({ record }) => record.local)) return this.#shadow(mount);
    if (local) {
      for (const other of inTheWay) {
        if (other.record.local) continue;
        this.#hide(other);
        this.#shadow(other);
      }
    }
    this.#tree.put(namespaceId, segments, mount);
    let siblings = this.#byNamespace.get(namespaceId);
    if (siblings === undefined) this.#byNamespace.set(namespaceId, (siblings = new Map()));
    siblings.set(path, mount);
  }

  #displace(mount: Mount): void {
    this.#byUuid.delete(mount.record.uuid);
    const shadowed = this.shadowedBy(mount);
    this.#shadowed.delete(mount);
    this.#hide(mount);
    for (const other of shadowed) {
      this.#shadowed.delete(other);
      this.#place(other);
    }
  }

  #shadow(mount: Mount): void {
    const { path, accessor } = mount.record;
    this.#shadowed.add(mount);
    this.#options.world.log.warn("a local mount is in the way of a shared one, which is shadowed", {
      event: "mount.shadowed",
      path,
      accessor,
    });
  }

  /** No path leads to it. */
  #hide(mount: Mount): void {
    const { namespaceId, path }: MountRecord = mount.record;
    this.#tree.remove(namespaceId, segmentsOf(path), mount);
    const siblings = this.#byNamespace.get(namespaceId);
    if (siblings?.get(path) === mount) siblings.delete(path);
    if (siblings?.size === 0) this.#byNamespace.delete(namespaceId);
  }

  #shadowedIn(namespaceId: string): Mount[] {
    return [...this.#shadowed].filter(({ record }) => record.namespaceId === namespaceId);
  }

  #drop(mount: Mount): void {
    this.#displace(mount);
    void mount.close();
  }
}
