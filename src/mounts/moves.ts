// Moving a mount to another path, in its namespace or in another. Its leases are
// revoked first; data lies below the namespace, so that across namespaces it moves too, slice by slice,
// each in one transaction. The mark in the record takes a move over crashes and seals.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { bytesCodec, type Codec, jsonCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Random } from "@holdfast/shared/world";
import { mountScope } from "../barrier/scope.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import { evacuate, evacuatedElsewhere, type EvacuationParts, stopped } from "./teardown.ts";
import * as failures from "./failures.ts";
import { Jobs } from "./jobs.ts";
import { isProtected, kindOfPath, readMountPath } from "./table/mount-path.ts";
import { dataOf, type MountKind, type MountRecord } from "./table/mount-record.ts";
import type { MountRows, Neighbours } from "./table/mount-rows.ts";
import type { Table } from "./table/mount-table.ts";
import type { Mount } from "./open-mount.ts";

const SLICE_ROWS = 64;
const SLICE_BYTES = 512 * 1024;
const KEPT = 100; // moves that are told of
const FOLDER = "mount-moves/";

export interface MovesOptions {
  readonly rows: MountRows;
  readonly table: Table;
  readonly evacuation: EvacuationParts;
  readonly random: Random;
  readonly log: Log;
  readonly namespaces: Neighbours & {
    resolve(
      base: NamespaceRef,
      segments: readonly string[],
    ): { readonly namespace: NamespaceRef; readonly taken: number };
  };
}

export interface MoveRecord {
  readonly id: string;
  /** Where it was asked for, and alone is told of. */
  readonly namespaceId: string;
  /** As given, with a slash at the end. */
  readonly source: string;
  readonly target: string;
  readonly status: "in-progress" | "success" | "failure";
  readonly error: string;
  /** Index of the write that began it: the order in which they are forgotten. */
  readonly began: string;
  /** There where the mount is of this cluster alone. */
  readonly isLocal?: boolean;
}

const moveCodec: Codec<MoveRecord> = jsonCodec();

/** A path of a mount, from the namespace of the request. */
export interface Place {
  readonly namespace: NamespaceRef;
  readonly kind: MountKind;
  /** As records have it. */
  readonly path: string;
  /** From the namespace of the request. */
  readonly whole: string;
}

export class Moves {
  readonly #options: MovesOptions;
  readonly #jobs = new Jobs();

  constructor(options: MovesOptions) {
    this.#options = options;
  }

  open(): void {
    this.#jobs.open();
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** Where a path given in a body leads. */
  placeOf(base: NamespaceRef, target: string): Place {
    const text = withoutSlashes(target);
    const segments = text.split("/");
    const { namespace, taken } = this.#options.namespaces.resolve(base, segments);
    const rest = segments.slice(taken).join("/");
    const kind = kindOfPath(rest);
    const path = readMountPath(kind === "auth" ? rest.slice("auth/".length) : rest, kind);
    return { namespace, kind, path, whole: `${text}/` };
  }

  /** Begins it; gives its id. */
  async start(namespace: NamespaceRef, from: Place, to: Place): Promise<string> {
    const { rows, table, namespaces, random } = this.#options;
    if ([from, to].some(({ path, kind }) => isProtected(path, kind))) {
      throw failures.moveRefused("neither from nor to may be a protected path");
    }
    const mount = table.at(from.namespace.id, from.path);
    if (mount === null) throw failures.moveRefused("from must be the path of a mount");
    if (from.kind !== to.kind) {
      throw failures.moveRefused(
        "an auth method stays below auth/, and a secret engine outside it",
      );
    }
    const id = random.uuid();
    const target = { namespaceId: to.namespace.id, path: to.path };
    await rows.shared.write((tx) => {
      const record = rows.current(tx, mount.record);
      if (record?.path !== from.path) throw failures.moveRefused("the mount has moved");
      if (record.state.kind !== "active") throw failures.busy(record.state.kind);
      inUse(() => rows.checkFree(tx, namespaces, to.namespace, to.path));
      rows.claim(tx, record, target.namespaceId, target.path);
      rows.put(tx, { ...record, state: { kind: "moving", id, ...target } });
      this.#put(tx.on(rows.local), {
        id,
        namespaceId: namespace.id,
        source: from.whole,
        target: to.whole,
        status: "in-progress",
        error: "",
        began: String(tx.index),
        ...(mount.record.local ? { isLocal: true } : {}),
      });
    });
    this.resume(mount);
    return id;
  }

  read(namespace: NamespaceRef, id: string): MoveRecord {
    const found = this.#options.rows.local.get(FOLDER + id, moveCodec);
    if (found === null || found.namespaceId !== namespace.id) throw failures.moveUnknown();
    return found;
  }

  /** Whether this cluster alone knows of it: of a local mount, or where it has made it and another one writes what is shared by now. */
  isOwn(id: string): boolean {
    const { local, shared } = this.#options.rows;
    const found = local.get(FOLDER + id, moveCodec);
    return found !== null && (found.isLocal === true || shared.writtenElsewhere);
  }

  /** Goes on with one that is marked. */
  resume(mount: Mount): void {
    this.#jobs.start(mount.record.uuid, async (signal, progress) => {
      const { record } = mount;
      if (record.state.kind !== "moving") return;
      const { evacuation, log } = this.#options;
      await mount.settled();
      try {
        await evacuate(mount, evacuation, signal, progress);
      } catch (error) {
        if (signal.aborted) throw error; // it goes on after the next unseal
        await this.#giveUp(record, error);
        throw error;
      }
      await evacuatedElsewhere(mount, evacuation, signal);
      if (record.state.namespaceId !== record.namespaceId) await this.#carry(mount, signal);
      await this.#arrive(record);
      await mount.settled();
      log.info("a mount has moved", { from: record.path, to: record.state.path });
    });
  }

  /** Resolves when no move out of the namespace, or into it, is under way. */
  async settled(namespaceId: string): Promise<void> {
    for (const { record } of this.#options.table.all()) {
      const { state } = record;
      if (state.kind !== "moving") continue;
      if (record.namespaceId !== namespaceId && state.namespaceId !== namespaceId) continue;
      await this.#jobs.of(record.uuid)?.done;
    }
  }

  // --- inside ---

  async #carry(mount: Mount, signal: AbortSignal): Promise<void> {
    const { rows } = this.#options;
    const { record } = mount;
    await mount.close(); // its engine writes nothing any more
    await this.#carryIn(rows.viewOf(record), record, signal);
    // What stays in this cluster though the mount is shared.
    if (!record.local) await this.#carryIn(rows.local, record, signal);
  }

  async #carryIn(
    view: View,
    { state, uuid, namespaceId }: MountRecord,
    signal: AbortSignal,
  ): Promise<void> {
    const { evacuation } = this.#options;
    invariant(state.kind === "moving", "only what is marked moves");
    const scope = mountScope(uuid);
    const source = view.sub(dataOf(namespaceId, uuid), scope);
    const target = view.sub(dataOf(state.namespaceId, uuid), scope);
    for (;;) {
      const moved = await source.write((tx) => {
        let bytes = 0;
        const slice = tx.records("", bytesCodec, { limit: SLICE_ROWS });
        for (const { key, value } of slice) {
          if (bytes > SLICE_BYTES) break;
          bytes += value.length;
          tx.on(target).put(key, value, bytesCodec);
          tx.delete(key);
        }
        return slice.length;
      });
      if (moved === 0) return;
      if (signal.aborted) throw stopped();
      await evacuation.timers.turn();
    }
  }

  #arrive(before: MountRecord): Promise<void> {
    const { rows } = this.#options;
    return rows.shared.write((tx) => {
      const record = rows.current(tx, before);
      if (record?.state.kind !== "moving") return;
      const { namespaceId, path, id } = record.state;
      rows.move(tx, record, { ...record, namespaceId, path, state: { kind: "active" } });
      this.#conclude(tx.on(rows.local), id, "success", "");
    });
  }

  #giveUp(before: MountRecord, error: unknown): Promise<void> {
    const { rows } = this.#options;
    const cause = error instanceof Failure ? describe(error) : "unexpected error";
    return rows.shared.write((tx) => {
      const record = rows.current(tx, before);
      if (record?.state.kind !== "moving") return;
      const { namespaceId, path, id } = record.state;
      rows.unclaim(tx, record, namespaceId, path);
      rows.put(tx, { ...record, state: { kind: "active" } });
      this.#conclude(tx.on(rows.local), id, "failure", cause);
    });
  }

  #conclude(tx: Tx, id: string, status: MoveRecord["status"], error: string): void {
    const found = tx.get(FOLDER + id, moveCodec);
    if (found !== null) tx.put(FOLDER + id, { ...found, status, error }, moveCodec);
  }

  /** The oldest that has ended makes room. */
  #put(tx: Tx, move: MoveRecord): void {
    const all = tx.records(FOLDER, moveCodec, { limit: KEPT + 1 });
    const ended = all.filter(({ value }) => value.status !== "in-progress");
    const [oldest] = ended.toSorted((a, b) => Number(a.value.began) - Number(b.value.began));
    if (all.length >= KEPT && oldest !== undefined) tx.delete(oldest.key);
    tx.put(FOLDER + move.id, move, moveCodec);
  }
}

/** Here a target in use is a mistake of the request. */
function inUse(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "mount-path-taken") throw error;
    throw failures.moveRefused("to is in use, or lies inside a mount, or around one");
  }
}
