// Namespaces, mounts and what lies in them, as rows of a simulated cluster: the rows that the rooms of the server write, by their own codecs,
// and nothing of these rooms. What filters speak of is read from them by production code.

import { bytesCodec } from "@holdfast/shared/codec";
import { formatUuid } from "@holdfast/shared/text/uuid";
import { mountScope, namespaceScope } from "../../../src/barrier/scope.ts";
import type { Tx, View } from "../../../src/barrier/view.ts";
import {
  dataOf,
  ENTRIES,
  entryCodec,
  entryKey,
  type MountRecord,
  recordCodec,
  recordKey,
} from "../../../src/mounts/table/mount-record.ts";
import * as namespaces from "../../../src/namespaces/record.ts";
import type { Prng } from "../../prng.ts";

const ALL = { limit: 100_000 };
const TREE = `namespaces/${namespaces.ROWS}`;
const ROOT = "root";
const KEYS = 5; // of a mount
const MAX_NAMESPACES = 8;
const MAX_MOUNTS = 14;
const MAX_DEPTH = 3;

export interface PlacedMount {
  readonly uuid: string;
  readonly namespaceId: string;
  /** From root, with a slash at its end. */
  readonly path: string;
}

export interface PlacedNamespace {
  readonly id: string;
  readonly parent: string;
  readonly path: string;
}

/** Of everything below shared/. */
export class PlacedData {
  readonly #shared: View;

  constructor(shared: View) {
    this.#shared = shared;
  }

  namespaces(): PlacedNamespace[] {
    return this.#shared
      .records(TREE, namespaces.recordCodec, ALL)
      .map(({ value: { id, parent, path } }) => ({ id, parent, path: `${path}/` }));
  }

  mounts(): PlacedMount[] {
    const paths = new Map(this.namespaces().map(({ id, path }) => [id, path]));
    return this.#shared.records(ENTRIES, entryCodec, ALL).flatMap(({ key, value }) => {
      const uuid = key.slice(ENTRIES.length);
      const record = this.#shared.get(recordKey(value.namespaceId, uuid), recordCodec);
      if (record === null) return [];
      const { namespaceId } = value;
      return [{ uuid, namespaceId, path: (paths.get(namespaceId) ?? "") + record.path }];
    });
  }

  /** Gives its index; null where there are enough. */
  async makeNamespace(number: number, prng: Prng): Promise<bigint | null> {
    const known = this.namespaces();
    if (known.length >= MAX_NAMESPACES) return null;
    const deep = known.filter(({ path }) => path.split("/").length <= MAX_DEPTH);
    const above = prng.chance(0.5) || deep.length === 0 ? null : prng.pick(deep);
    const name = `n${number}`;
    const record: namespaces.NamespaceRecord = {
      id: name,
      uuid: formatUuid(prng.bytes(16)),
      path: (above?.path ?? "") + name,
      parent: above?.id ?? ROOT,
      metadata: {},
      created: 0n,
      state: "active",
    };
    return await this.#shared.write((tx) => {
      const own = tx.on(this.#shared.in(namespaceScope(record.id)));
      own.put(
        `namespaces/${namespaces.rowOf(record.parent, name)}`,
        record,
        namespaces.recordCodec,
      );
      own.put(`ns/${record.id}/policies/p`, Buffer.from(`policy of ${name}`), bytesCodec);
      return tx.index;
    });
  }

  /** One that has nothing in it; null where there is none. */
  async removeNamespace(prng: Prng): Promise<bigint | null> {
    const [known, mounts] = [this.namespaces(), this.mounts()];
    const empty = known.filter(
      ({ id }) =>
        known.every(({ parent }) => parent !== id) &&
        mounts.every(({ namespaceId }) => namespaceId !== id),
    );
    if (empty.length === 0) return null;
    const { id, parent } = prng.pick(empty);
    return await this.#shared.write((tx) => {
      const own = tx.on(this.#shared.in(namespaceScope(id)));
      // Whoever was before in the turn may have made something in it.
      const isUsed = tx.keys(ENTRIES, ALL).some((key) => {
        return tx.get(key, entryCodec)?.namespaceId === id;
      });
      if (isUsed || tx.keys(`${TREE}${id}/`, ALL).length > 0) return touch(tx, tx.index);
      own.delete(`namespaces/${namespaces.rowOf(parent, id)}`);
      own.delete(`ns/${id}/policies/p`);
      return tx.index;
    });
  }

  async mount(number: number, prng: Prng): Promise<bigint | null> {
    const known = this.namespaces();
    if (this.mounts().length >= MAX_MOUNTS) return null;
    const namespaceId = prng.chance(0.4) || known.length === 0 ? ROOT : prng.pick(known).id;
    const uuid = formatUuid(prng.bytes(16));
    const record = recordOf(uuid, namespaceId, `m${number}/`);
    return await this.#shared.write((tx) => {
      if (!isThere(tx, namespaceId)) return touch(tx, tx.index);
      putMount(tx, record);
      this.#fill(tx, record, number, prng);
      return tx.index;
    });
  }

  async unmount(prng: Prng): Promise<bigint | null> {
    const known = this.mounts();
    if (known.length === 0) return null;
    const { uuid } = prng.pick(known);
    return await this.#shared.write((tx) => {
      const entry = tx.get(entryKey(uuid), entryCodec);
      if (entry === null) return touch(tx, tx.index);
      this.#remove(tx, entry.namespaceId, uuid);
      return tx.index;
    });
  }

  /** To another path, mostly in another namespace: what lies in it goes along. */
  async move(number: number, prng: Prng): Promise<bigint | null> {
    const mounts = this.mounts();
    if (mounts.length === 0) return null;
    const { uuid } = prng.pick(mounts);
    const known = this.namespaces();
    const to = prng.chance(0.3) || known.length === 0 ? ROOT : prng.pick(known).id;
    return await this.#shared.write((tx) => {
      const entry = tx.get(entryKey(uuid), entryCodec);
      if (entry === null || !isThere(tx, to)) return touch(tx, tx.index);
      const from = dataOf(entry.namespaceId, uuid);
      const own = tx.on(this.#shared.in(mountScope(uuid)));
      const rows = tx.keys(from, ALL).map((key) => ({ key, value: tx.get(key, bytesCodec)! }));
      this.#remove(tx, entry.namespaceId, uuid);
      putMount(tx, recordOf(uuid, to, `m${number}/`));
      for (const { key, value } of rows) {
        own.put(dataOf(to, uuid) + key.slice(from.length), value, bytesCodec);
      }
      return tx.index;
    });
  }

  /** Into some mounts at once, so that a part of an entry may be withheld. */
  async write(number: number, prng: Prng): Promise<bigint | null> {
    const known = this.mounts();
    if (known.length === 0) return null;
    const some = Array.from({ length: 1 + prng.int(3) }, () => prng.pick(known));
    return await this.#shared.write((tx) => {
      for (const { uuid } of some) {
        const entry = tx.get(entryKey(uuid), entryCodec);
        if (entry !== null) this.#fill(tx, recordOf(uuid, entry.namespaceId, ""), number, prng);
      }
      return touch(tx, tx.index, number);
    });
  }

  #fill(tx: Tx, { uuid, namespaceId }: MountRecord, number: number, prng: Prng): void {
    const own = tx.on(this.#shared.in(mountScope(uuid)));
    const key = `${dataOf(namespaceId, uuid)}k${prng.int(KEYS)}`;
    if (prng.chance(0.2)) own.delete(key);
    else own.put(key, Buffer.from(`${uuid} ${number}`), bytesCodec);
  }

  #remove(tx: Tx, namespaceId: string, uuid: string): void {
    const own = tx.on(this.#shared.in(mountScope(uuid)));
    for (const key of tx.keys(dataOf(namespaceId, uuid), ALL)) own.delete(key);
    own.delete(recordKey(namespaceId, uuid));
    own.delete(entryKey(uuid));
  }
}

function putMount(tx: Tx, record: MountRecord): void {
  const { uuid, namespaceId } = record;
  tx.put(recordKey(namespaceId, uuid), record, recordCodec);
  tx.put(entryKey(uuid), { namespaceId }, entryCodec);
}

function isThere(tx: Tx, namespaceId: string): boolean {
  if (namespaceId === ROOT) return true;
  return tx.keys(TREE, ALL).some((key) => tx.get(key, namespaces.recordCodec)?.id === namespaceId);
}

/** So that it has an entry. */
function touch(tx: Tx, index: bigint, number = 0): bigint {
  tx.put("sim/last", Buffer.from(`last ${number}`), bytesCodec);
  return index;
}

function recordOf(uuid: string, namespaceId: string, path: string): MountRecord {
  return {
    uuid,
    accessor: `sim_${uuid.slice(0, 8)}`,
    kind: "secret",
    type: "kv",
    namespaceId,
    path,
    description: "",
    options: {},
    config: {} as MountRecord["config"],
    local: false,
    sealWrap: false,
    created: 0n,
    state: { kind: "active" },
  };
}
