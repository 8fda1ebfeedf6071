// The clients of one simulated cluster: what they write and read there, and that a read gives what was written last.

import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { Store } from "../../src/storage/store.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import type { Running, SimCluster } from "./cluster.ts";
import type { Ledger, Spot } from "./ledger.ts";

const KEYS = 40;

export class Clients {
  readonly #cluster: SimCluster;
  readonly #ledger: Ledger;

  constructor(cluster: SimCluster, ledger: Ledger) {
    this.#cluster = cluster;
    this.#ledger = ledger;
  }

  /** Resolves with false where it was refused. */
  async write(number: number, prng: Prng): Promise<boolean> {
    const { running, leads, role, name } = this.#cluster;
    if (running === null || !leads) return false;
    const { data, store } = running;
    const inSet = role?.mode === "primary"; // what one on its own has is gone when it joins
    const keys = Array.from({ length: 1 + prng.int(3) }, () => `k${prng.int(KEYS)}`);
    const isDelete = prng.chance(0.15);
    const length = prng.chance(0.05) ? 3000 : prng.int(60);
    let index = 0n;
    const ledger = this.#ledger;
    const request = data.write((tx) => {
      ({ index } = tx);
      ledger.begun(number, index);
      for (const key of keys) {
        if (isDelete) tx.delete(key);
        else tx.put(key, Buffer.from(`${key} ${number} ${"x".repeat(length)}`), bytesCodec);
      }
      tx.put("last", Buffer.from(`last ${number}`), bytesCodec); // so that it has an entry
    });
    await answered(running, request);
    const spot = this.#spotOf(store, index);
    if (spot === null) return true; // trimmed already
    ledger.ended(number, spot);
    if (inSet) ledger.answered.push({ ...spot, by: name });
    return true;
  }

  #spotOf(store: Store, index: bigint): Spot | null {
    const [row] = store.logs(index, 1);
    if (row?.index !== index) return null;
    const { seen, name } = this.#cluster;
    const spot = this.#ledger.at(seen.spot!, index);
    if (spot === null) throw new Violation(`an answer of ${name} is in no log`);
    return spot;
  }

  /** Makes, changes or removes a record that rows of every cluster follow from. */
  async record(number: number, prng: Prng): Promise<void> {
    const { running, isPrimary } = this.#cluster;
    if (running === null || !isPrimary) return;
    await this.#kept(running, running.records.change(number, prng));
  }

  /** Writes what is this cluster's own, whoever writes shared data: with what hangs on a record, where that is there. */
  async writeOwn(number: number, prng: Prng): Promise<void> {
    const { running, role } = this.#cluster;
    if (running === null || role?.mode === "disabled" || running.store.locked) return;
    await this.#kept(running, running.records.writeOwn(number, prng));
  }

  /** A write by somebody else, which gives its index, or null where there was nothing to write. */
  async keep(running: Running, request: Promise<bigint | null>): Promise<void> {
    const index = await answered(running, request);
    if (index !== null) this.#note(running, index);
  }

  async #kept(running: Running, request: Promise<bigint>): Promise<void> {
    this.#note(running, await answered(running, request));
  }

  #note(running: Running, index: bigint): void {
    const spot = this.#spotOf(running.store, index);
    const { name: by, logs: log } = this.#cluster;
    if (spot !== null) this.#ledger.answered.push({ ...spot, by, log });
  }

  /** Something is made outside. */
  async lease(id: string, prng: Prng): Promise<void> {
    const { running, isPrimary } = this.#cluster;
    if (running !== null && isPrimary) await answered(running, running.leases.make(id, prng));
  }

  read(prng: Prng): void {
    if (this.#cluster.running !== null) this.#readLast(`k${prng.int(KEYS)}`);
  }

  /** What the last durable write to a key has left there, and nothing older or newer: all that were answered are durable. */
  #readLast(key: string): void {
    const { unsealed, name: cluster, seen } = this.#cluster;
    const { data } = unsealed;
    const value = data.get(key, bytesCodec);
    const [name, number] = value === null ? [key] : Buffer.from(value).toString().split(" ");
    if (name !== key) throw new Violation(`${cluster} reads a value of another key at ${key}`);
    const written = value === null ? null : Number(number);
    if (this.#ledger.isLast(written, data.prefix + key, seen.spot!)) return;
    throw new Violation(`${cluster} reads write ${written} at ${key}, and that is not the last`);
  }

  /** Every value that is there opens, and is the last of its key. */
  readAll(): void {
    const { running, name } = this.#cluster;
    if (running === null) return;
    try {
      for (let i = 0; i < KEYS; i++) this.#readLast(`k${i}`);
      for (const { key, value } of running.data.records("", bytesCodec, { limit: 10_000 })) {
        if (Buffer.from(value).toString().startsWith(`${key} `)) continue;
        throw new Violation(`${name} reads a value of another key at ${key}`);
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Violation(`${name} cannot open what it holds`, { cause: error });
    }
  }
}

/** A request of a client: whoever gives up its place waits for it. */
async function answered<T>({ requests }: Running, request: Promise<T>): Promise<T> {
  requests.add(request);
  try {
    return await request;
  } finally {
    requests.delete(request);
  }
}
