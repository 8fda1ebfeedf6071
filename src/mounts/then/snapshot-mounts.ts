// Mounts as a loaded snapshot has them: their engines opened over its data, to be read and nothing else. The mount that a
// request reaches today is found by its uuid, which another one at the same path does not have.

import type { EngineNeeds, EngineType, MountFacts, WriteAhead } from "@holdfast/plugin-sdk/engine";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import type { MountRef } from "@holdfast/shared/endpoint/request";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { defaultTtlOf, lockoutOf, maxTtlOf, type ServerTtls } from "../table/mount-config.ts";
import { claimCodec, claimKey, dataOf, type MountRecord } from "../table/mount-record.ts";
import { MountRows } from "../table/mount-rows.ts";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { snapshotNotWritten } from "./failures.ts";
import * as failures from "./failures.ts";

/** Engines that stay open for the next request: the one that was asked longest ago goes. */
const MAX_OPEN = 16;

export interface SnapshotMountsOptions {
  /** Of everything below shared/ and local/ in the snapshot. */
  readonly shared: View;
  readonly local: View;
  readonly typeOf: (record: MountRecord) => EngineType<unknown> | null;
  /** A mount as it is today; null where there is none. */
  readonly today: (uuid: string) => MountRecord | null;
  readonly ttls: ServerTtls;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

interface Opened {
  readonly type: EngineType<unknown>;
  readonly engine: Promise<unknown>;
  users: number;
}

export class SnapshotMounts {
  readonly #options: SnapshotMountsOptions;
  readonly #rows: MountRows;
  /** By mount as it is today, the one that was asked last at the end. */
  readonly #open = new Map<string, Opened>();

  constructor(options: SnapshotMountsOptions) {
    this.#options = options;
    this.#rows = new MountRows({ ...options, logins: { has: () => false } });
  }

  /** Runs it with the engine of that mount over the snapshot's data. */
  async use<T>(mount: MountRef, run: (engine: unknown) => Promise<T>): Promise<T> {
    const opened = this.#opened(mount);
    opened.users++;
    try {
      return await run(await opened.engine);
    } finally {
      opened.users--;
      await this.#closeSome(MAX_OPEN);
    }
  }

  /** Nobody uses them any more. */
  close(): Promise<void> {
    return this.#closeSome(0);
  }

  #opened(mount: MountRef): Opened {
    const key = this.#keyOf(mount);
    const before = this.#open.get(key);
    this.#open.delete(key);
    const opened = before ?? this.#opening(this.#found(mount), mount);
    this.#open.set(key, opened);
    // One that does not open is tried again by the next request, which may find the mount changed.
    opened.engine.catch(() => {
      if (this.#open.get(key) === opened) this.#open.delete(key);
    });
    return opened;
  }

  /** One that was moved or tuned since is opened anew: where it is decides what its lists may show. */
  #keyOf({ uuid, path, namespace }: MountRef): string {
    return JSON.stringify([uuid, namespace.id, path, ...this.#optionsOf(uuid)]);
  }

  #optionsOf(uuid: string): [string, string][] {
    return sorted(this.#options.today(uuid)?.options ?? {});
  }

  /** Its record then. Refuses in words where the snapshot has no such mount, or where it was another one. */
  #found({ uuid, path, type, namespace }: MountRef): MountRecord {
    const { shared, local } = this.#options;
    const record = this.#rows.load(shared, uuid) ?? this.#rows.load(local, uuid);
    if (record === null) {
      const key = claimKey(namespace.id, path);
      const taken = [shared, local].some((view) => view.get(key, claimCodec) !== null);
      throw taken ? failures.otherMountThen(path) : failures.noMountThen(path);
    }
    if (record.state.kind !== "active") throw failures.mountLeavingThen(path);
    const same = JSON.stringify(this.#optionsOf(uuid)) === JSON.stringify(sorted(record.options));
    if (record.type !== type || !same) throw failures.mountChangedSince(path);
    return record;
  }

  #opening(record: MountRecord, mount: MountRef): Opened {
    const type = this.#options.typeOf(record);
    if (type === null) throw failures.noMountThen(mount.path);
    const open = async () => type.open(this.#needs(record, mount));
    return { type, engine: open(), users: 0 };
  }

  #needs(record: MountRecord, mount: MountRef): EngineNeeds {
    const { shared, local, clock, timers, random, log } = this.#options;
    const view = (record.local ? local : shared).sub(dataOf(record.namespaceId, record.uuid));
    return {
      ...NO_SERVICES, // nothing of then calls anybody outside
      storage: readOnlyStorage(view),
      localStorage: readOnlyStorage(local.sub(dataOf(record.namespaceId, record.uuid))),
      writeAhead: readOnlyWriteAhead,
      clock,
      timers,
      random,
      log: log.child(record.type),
      mount: this.#facts(record, mount),
      options: record.options,
    };
  }

  #facts(record: MountRecord, { path, namespace }: MountRef): MountFacts {
    const { ttls } = this.#options;
    const { uuid, accessor, config } = record;
    return {
      uuid,
      accessor,
      namespace,
      path: () => path,
      defaultTtl: () => defaultTtlOf(config, ttls),
      maxTtl: () => maxTtlOf(config, ttls),
      lockout: () => lockoutOf(config),
    };
  }

  async #closeSome(max: number): Promise<void> {
    for (const [key, opened] of this.#open) {
      if (this.#open.size <= max) return;
      if (opened.users > 0) continue;
      this.#open.delete(key);
      const engine = await opened.engine.catch(() => null);
      if (engine !== null) await opened.type.close?.(engine);
    }
  }
}

function sorted(options: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

// --- read only storage ---

// What an engine is given of a loaded snapshot: everything that its mount had stored, and no way to change it.

export function readOnlyStorage(view: View): EngineStorage {
  return {
    get: async (key, codec) => view.get(key, codec),
    records: async (prefix, codec, page) => view.records(prefix, codec, page),
    keys: async (prefix, page) => view.keys(prefix, page),
    list: async (prefix, page) => view.list(prefix, page),
    write: refuse,
  };
}

export const readOnlyWriteAhead: WriteAhead = {
  begin: refuse,
  note: refuse,
  drop: refuse,
  orphan: refuse,
};

async function refuse(): Promise<never> {
  throw snapshotNotWritten();
}
