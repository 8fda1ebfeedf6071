// The rows of mounts as transactions see them. A path is claimed by a row of its own, so that whether
// something is in the way is found by the path and not by a walk over all mounts.

import { unlessDamaged } from "../../base/damage.ts";
import { mountScope } from "../../barrier/scope.ts";
import type { Tx, View } from "../../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { PathsTaken } from "../../namespaces/namespaces.ts";
import * as failures from "../failures.ts";
import { type FollowedMounts, MountFollower } from "../remains.ts";
import { segmentsOf } from "./mount-path.ts";
import {
  claimCodec,
  claimKey,
  ENTRIES,
  entryCodec,
  entryKey,
  type MountRecord,
  recordCodec,
  recordKey,
  seenKey,
} from "./mount-record.ts";

const PAGE = 1000;

/** Namespaces take first segments of paths as well. */
export interface Neighbours extends PathsTaken {
  byId(id: string): NamespaceRef | null;
}

export class MountRows {
  readonly shared: View;
  readonly local: View;
  /** What follows from entries of shared mounts, where another cluster writes them. */
  readonly follower: MountFollower;

  constructor(parts: { readonly shared: View } & FollowedMounts) {
    this.shared = parts.shared;
    this.local = parts.local;
    this.follower = new MountFollower(parts);
  }

  viewOf({ local }: Pick<MountRecord, "local">): View {
    return local ? this.local : this.shared;
  }

  put(tx: Tx, record: MountRecord): MountRecord {
    const { uuid, namespaceId } = record;
    const own = tx.on(this.viewOf(record));
    own.put(recordKey(namespaceId, uuid), record, recordCodec);
    own.put(entryKey(uuid), { namespaceId }, entryCodec); // by which everybody learns of the change
    return record;
  }

  claim(tx: Tx, record: MountRecord, namespaceId: string, path: string): void {
    const { uuid } = record;
    const view = this.viewOf(record).in(mountScope(uuid)); // its key names the path alone
    tx.on(view).put(claimKey(namespaceId, path), { uuid }, claimCodec);
  }

  unclaim(tx: Tx, record: MountRecord, namespaceId: string, path: string): void {
    tx.on(this.viewOf(record)).delete(claimKey(namespaceId, path));
  }

  /** The record, its path and its entry. */
  remove(tx: Tx, record: MountRecord): void {
    const { uuid, namespaceId, path } = record;
    const own = tx.on(this.viewOf(record));
    own.delete(recordKey(namespaceId, uuid));
    own.delete(entryKey(uuid));
    this.unclaim(tx, record, namespaceId, path);
    if (record.plugin !== undefined) tx.on(this.local).delete(seenKey(uuid));
    if (!record.local) this.follower.follow(tx, entryKey(uuid), { namespaceId }, null);
  }

  /** To a path that it has claimed. */
  move(tx: Tx, before: MountRecord, after: MountRecord): void {
    const { uuid, namespaceId, path } = before;
    tx.on(this.viewOf(before)).delete(recordKey(namespaceId, uuid));
    this.unclaim(tx, before, namespaceId, path);
    this.put(tx, after);
    if (!before.local) this.follower.follow(tx, entryKey(uuid), before, after);
  }

  /** As the transaction sees it. */
  current(tx: Tx, { namespaceId, uuid, local }: MountRecord): MountRecord | null {
    return tx.on(this.viewOf({ local })).get(recordKey(namespaceId, uuid), recordCodec);
  }

  /** The path that stands in the way of this one: the same, one above it, or one below it. */
  inTheWay(tx: Tx, namespaceId: string, path: string): string | null {
    const segments = segmentsOf(path);
    for (const view of [this.shared, this.local]) {
      const rows = tx.on(view);
      for (let taken = 1; taken <= segments.length; taken++) {
        const above = segments.slice(0, taken).join("/");
        if (rows.get(claimKey(namespaceId, above), claimCodec) !== null) return `${above}/`;
      }
      const [below] = rows.keys(`${claimKey(namespaceId, path)}/`, { limit: 1 });
      if (below !== undefined) return `${below.slice(claimKey(namespaceId, "").length)}/`;
    }
    return null;
  }

  /** Refuses a path that something else has. */
  checkFree(tx: Tx, namespaces: Neighbours, namespace: NamespaceRef, path: string): void {
    // One that is being deleted wipes what it finds; what comes after that would stay for ever.
    if (namespaces.byId(namespace.id) === null) throw failures.namespaceGone();
    const other = namespaces.takenBy(tx, namespace, segmentsOf(path)[0] ?? "");
    if (other !== null) throw failures.pathTaken(path, other);
    const way = this.inTheWay(tx, namespace.id, path);
    if (way !== null) throw failures.pathTaken(path, `the mount ${way}`);
  }

  /** By its entry; null when there is none, or it cannot be read. */
  load(view: View, uuid: string): MountRecord | null {
    return unlessDamaged(() => {
      const entry = view.get(entryKey(uuid), entryCodec);
      return entry === null ? null : view.get(recordKey(entry.namespaceId, uuid), recordCodec);
    }, null);
  }

  *uuids(view: View): Generator<string> {
    let after: string | undefined;
    for (;;) {
      const page = view.keys(ENTRIES, { limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const key of page) yield key.slice(ENTRIES.length);
      after = page.at(-1);
      if (page.length < PAGE) return;
    }
  }
}
