// The room of a simulated cluster whose records are shared, as tokens are, and from which rows of every cluster follow: an order, and the end of what
// hangs on one that goes. And rows of its own, which no other cluster has.

import { bytesCodec } from "@holdfast/shared/codec";
import type { Follower } from "../../../src/barrier/followers.ts";
import type { Tx, View } from "../../../src/barrier/view.ts";
import type { Prng } from "../../prng.ts";
import { Violation } from "../../state.ts";

const RECORDS = "sim/records/"; // below shared/
const ORDER = "sim/order/"; // below local/, as the next ones
const HANGING = "sim/hanging/";
const OWN = "sim/own/";
const ALL = { limit: 100_000 };
const COUNT = 12;

export class Records implements Follower<string> {
  readonly folder = RECORDS;
  readonly #shared: View;
  readonly #local: View;

  constructor(shared: View, local: View) {
    this.#shared = shared;
    this.#local = local;
  }

  decode(stored: Uint8Array): string {
    return Buffer.from(stored).toString();
  }

  follow(tx: Tx, key: string, _before: string | null, after: string | null): void {
    const own = tx.on(this.#local);
    const name = key.slice(RECORDS.length);
    if (after !== null) {
      own.put(ORDER + name, Buffer.from(after), bytesCodec);
      return;
    }
    own.delete(ORDER + name);
    for (const hanging of own.keys(`${HANGING}${name}/`, ALL)) own.delete(hanging);
  }

  /** Gives its index. */
  change(number: number, prng: Prng): Promise<bigint> {
    const keys = Array.from({ length: 1 + prng.int(2) }, () => `${RECORDS}r${prng.int(COUNT)}`);
    const isDelete = prng.chance(0.4);
    return this.#shared.write((tx) => {
      for (const key of keys) {
        const after = isDelete ? null : `${key} ${number}`;
        const stored = tx.get(key, bytesCodec);
        if (after === null) tx.delete(key);
        else tx.put(key, Buffer.from(after), bytesCodec);
        this.follow(tx, key, stored === null ? null : this.decode(stored), after);
      }
      tx.put("sim/last", Buffer.from(`last ${number}`), bytesCodec); // so that it has an entry
      return tx.index;
    });
  }

  /** Gives its index. */
  writeOwn(number: number, prng: Prng): Promise<bigint> {
    const name = `r${prng.int(COUNT)}`;
    const own = `k${prng.int(COUNT)}`;
    return this.#local.write((tx) => {
      const isThere = tx.on(this.#shared).get(RECORDS + name, bytesCodec) !== null;
      const value = Buffer.from(String(number));
      if (isThere) tx.put(`${HANGING}${name}/${number % 5}`, value, bytesCodec);
      tx.put(OWN + own, value, bytesCodec);
      return tx.index;
    });
  }

  /** What is here, without what no seed decides: certificates are in the log of such a set, and so in its chain. */
  get text(): string {
    const rows = [
      ...this.#shared.records("sim/", bytesCodec, ALL),
      ...this.#local.records("sim/", bytesCodec, ALL),
    ];
    return rows.map(({ key, value }) => `${key}=${this.decode(value)}`).join();
  }

  /** What follows from the records that are here is here, and nothing else. */
  check(cluster: string): void {
    const records = this.#shared.records(RECORDS, bytesCodec, ALL);
    const here = new Map(
      records.map(({ key, value }) => [key.slice(RECORDS.length), this.decode(value)]),
    );
    const order = this.#local.records(ORDER, bytesCodec, ALL);
    const wrong = order.find(
      ({ key, value }) => here.get(key.slice(ORDER.length)) !== this.decode(value),
    );
    if (wrong !== undefined || order.length !== here.size) {
      throw new Violation(
        `${cluster} has ${here.size} records, and what follows from ${order.length}: ${wrong?.key ?? ""}`,
      );
    }
    for (const key of this.#local.keys(HANGING, ALL)) {
      const [name = ""] = key.slice(HANGING.length).split("/");
      if (!here.has(name)) throw new Violation(`${cluster} has ${key}, and its record is gone`);
    }
  }
}
