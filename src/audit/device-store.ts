// What this room keeps in storage: devices and their keys (shared, or local to this cluster), the
// headers to record, keys of devices that the configuration declares, and where the chains of this
// machine's files ended.

import type { KeyObject } from "node:crypto";
import { alloc, wipe } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import type { Random } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import { exportKey, freshKey, secretKey } from "../crypto/aead.ts";
import type { ChainHead } from "../signed/audit-line.ts";
import type { DeviceRecord } from "./device.ts";
import type { CheckpointHead, CheckpointParts } from "./devices/checkpoints.ts";
import type { ExchangedChain, Heads } from "./devices/file.ts";
import { deviceExists, deviceUnknown, headerInvalid, tooManyDevices } from "./failures.ts";

export interface AuditViews {
  /** Everywhere in the set of clusters. */
  readonly shared: View;
  /** This cluster and its disaster-recovery replicas. */
  readonly local: View;
  /** Of the class that stays here: ends of the chains in this machine's files. */
  readonly node: View;
}

export type HeaderSettings = Readonly<Record<string, { readonly hmac: boolean }>>;

export const MAX_DEVICES = 64;
const MAX_HEADERS = 64;
const MAX_EXCHANGED = 1024; // paths: 64 of each exchange

const deviceCodec = jsonCodec<DeviceRecord>();
const headersCodec = jsonCodec<HeaderSettings>();
const checkpointCodec = jsonCodec<CheckpointHead>();
const headCodec = jsonCodec<ChainHead>();
const metCodec = jsonCodec<readonly string[]>();
const exchangedCodec = jsonCodec<ExchangedChain>();

const DEVICES = "devices/";
const HEADERS = "headers";
const deviceKey = (path: string) => `${DEVICES}${path}`;
const keyKey = (path: string) => `keys/${path}`;
const declaredKey = (path: string) => `declared/${path}`;
const MET = "met";
export const CHECKPOINTS = "checkpoints/";
export const HEADS = "heads/";
const checkpointKey = (id: string) => CHECKPOINTS + id;
const headKey = (id: string) => HEADS + id;
/** Of chains that were left when the data was exchanged, by the paths of their devices. */
export const EXCHANGED = "exchanged/";
const exchangedKey = (path: string) => EXCHANGED + path;

export class DeviceStore {
  readonly #views: AuditViews;

  constructor(views: AuditViews) {
    this.#views = views;
  }

  devices(): DeviceRecord[] {
    const { shared, local } = this.#views;
    return [shared, local].flatMap((view) =>
      view.records(DEVICES, deviceCodec, { limit: MAX_DEVICES }).map(({ value }) => value),
    );
  }

  /** Null for a device that is gone. */
  keyOf({ path, local }: DeviceRecord): KeyObject | null {
    const bytes = this.#of(local).get(keyKey(path), bytesCodec);
    return bytes === null ? null : takeKey(bytes);
  }

  async add(record: DeviceRecord, key: KeyObject): Promise<void> {
    const { shared, local } = this.#views;
    const raw = exportKey(key);
    try {
      await shared.write((tx) => {
        const places = [tx, tx.on(local)];
        const { path } = record;
        if (places.some((place) => place.get(deviceKey(path), deviceCodec) !== null)) {
          throw deviceExists(path);
        }
        const count = places.reduce((sum, place) => sum + countOf(place), 0);
        if (count >= MAX_DEVICES) throw tooManyDevices(MAX_DEVICES);
        const place = record.local ? tx.on(local) : tx;
        place.put(deviceKey(path), record, deviceCodec);
        place.put(keyKey(path), raw, bytesCodec);
      });
    } finally {
      wipe(raw);
    }
  }

  async remove({ id, path, local }: DeviceRecord): Promise<void> {
    const { node } = this.#views;
    await this.#of(local).write((tx) => {
      if (tx.get(deviceKey(path), deviceCodec)?.id !== id) throw deviceUnknown(path);
      tx.delete(deviceKey(path));
      tx.delete(keyKey(path));
      tx.on(node).delete(headKey(id));
      tx.on(node).delete(checkpointKey(id));
    });
  }

  /** The key of a declared device, made when it is first seen. The configuration is this node's, and so is the key: a
   *  node whose data is another cluster's can make one. Older stores have it below local/. */
  async declaredKey(path: string, random: Random): Promise<KeyObject> {
    const { node, local } = this.#views;
    const known =
      node.get(declaredKey(path), bytesCodec) ?? local.get(declaredKey(path), bytesCodec);
    if (known !== null) return takeKey(known);
    const raw = exportKey(freshKey(random));
    try {
      await node.write((tx) => tx.put(declaredKey(path), raw, bytesCodec));
      return takeKey(raw);
    } finally {
      wipe(raw);
    }
  }

  heads({ id, path }: DeviceRecord): Heads {
    const { node } = this.#views;
    return {
      load: () => node.get(headKey(id), headCodec),
      exchanged: () => node.get(exchangedKey(path), exchangedCodec),
      save: (head) =>
        node.write((tx) => {
          tx.put(headKey(id), head, headCodec);
          const left = tx.get(exchangedKey(path), exchangedCodec);
          if (left === null) return;
          tx.delete(exchangedKey(path)); // it has gone on
          const known = tx.get(checkpointKey(id), checkpointCodec);
          const checkpoint = known ?? left.checkpoint;
          if (checkpoint !== null) tx.put(checkpointKey(id), checkpoint, checkpointCodec);
        }),
    };
  }

  /** As rows for data of other keys: chains of these devices, and those that nobody has gone on with. */
  leftChains(chains: ReadonlyMap<string, ExchangedChain>): { key: string; value: Uint8Array }[] {
    const { node } = this.#views;
    const before = node.records(EXCHANGED, exchangedCodec, { limit: MAX_EXCHANGED });
    const all = new Map(before.map(({ key, value }) => [key.slice(EXCHANGED.length), value]));
    for (const [path, chain] of chains) all.set(path, chain);
    const sorted = Array.from(all).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([key, value]) => ({ key, value: exchangedCodec.encode(value) }));
  }

  checkpointHeads({ id, path }: DeviceRecord): Pick<CheckpointParts, "load" | "save"> {
    const { node } = this.#views;
    return {
      load: () =>
        node.get(checkpointKey(id), checkpointCodec) ??
        node.get(exchangedKey(path), exchangedCodec)?.checkpoint ??
        null,
      save: (head) => node.write((tx) => tx.put(checkpointKey(id), head, checkpointCodec)),
    };
  }

  /** Ids of devices that this cluster has had open. */
  met(): ReadonlySet<string> {
    return new Set(this.#views.node.get(MET, metCodec));
  }

  putMet(ids: ReadonlySet<string>): Promise<void> {
    return this.#views.node.write((tx) => tx.put(MET, [...ids], metCodec));
  }

  headers(): HeaderSettings {
    return this.#views.shared.get(HEADERS, headersCodec) ?? {};
  }

  async changeHeaders(change: (settings: HeaderSettings) => HeaderSettings): Promise<void> {
    await this.#views.shared.write((tx) => {
      const settings = change(tx.get(HEADERS, headersCodec) ?? {});
      if (Object.keys(settings).length > MAX_HEADERS) throw headerInvalid();
      tx.put(HEADERS, settings, headersCodec);
    });
  }

  /** Calls after a change of devices or headers, whoever made it. */
  watch(devices: () => void, headers: () => void): () => void {
    const { shared, local } = this.#views;
    const ends = [
      shared.watch(DEVICES, devices),
      local.watch(DEVICES, devices),
      shared.watch(HEADERS, headers),
    ];
    return () => ends.forEach((end) => end());
  }

  #of(local: boolean): View {
    return local ? this.#views.local : this.#views.shared;
  }
}

function countOf(tx: Tx): number {
  return tx.keys(DEVICES, { limit: MAX_DEVICES }).length;
}

function takeKey(bytes: Uint8Array): KeyObject {
  const raw = alloc(bytes.length);
  raw.set(bytes);
  wipe(bytes);
  return secretKey(raw);
}
