// What is kept of reloads: orders for every cluster that shares data, and in each of them what became of one.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { PluginType } from "../ports.ts";

/** Either what runs of a plugin, or what is at these places. */
export type ReloadOrder =
  | { readonly name: string; readonly type: PluginType | null }
  | { readonly places: readonly string[] };

export interface ReloadedMount {
  readonly place: string;
  /** Why it runs as before; empty: it was reloaded. */
  readonly error: string;
}

interface Timed {
  /** Nanoseconds since 1970, in digits. */
  readonly time: string;
}

interface OrderRow extends Timed {
  readonly order: ReloadOrder;
}

interface ResultRow extends Timed {
  readonly mounts: readonly ReloadedMount[];
}

export interface ReloadResult {
  readonly time: Instant;
  readonly mounts: readonly ReloadedMount[];
}

const orderCodec: Codec<OrderRow> = jsonCodec();
const resultCodec: Codec<ResultRow> = jsonCodec();

const KEPT: Nanos = DAY;
const MAX_KEPT = 200;
const MAX_MOUNTS = 200; // that are kept of one reload, those that failed first

/** Rows by the id of a reload. */
export class ReloadRows {
  readonly #orders: View;
  readonly #results: View;

  /** shared/plugins/reloads/ and local/plugins/reloads/ */
  constructor(orders: View, results: View) {
    this.#orders = orders;
    this.#results = results;
  }

  async order(id: string, order: ReloadOrder): Promise<void> {
    await this.#orders.write((tx) => {
      makeRoom(tx, orderCodec);
      tx.put(id, { time: String(tx.time), order }, orderCodec);
    });
  }

  async finish(id: string, mounts: readonly ReloadedMount[]): Promise<void> {
    const failed = mounts.filter(({ error }) => error !== "");
    const done = mounts.filter(({ error }) => error === "");
    const kept = [...failed, ...done].slice(0, MAX_MOUNTS);
    await this.#results.write((tx) => {
      makeRoom(tx, resultCodec);
      tx.put(id, { time: String(tx.time), mounts: kept }, resultCodec);
    });
  }

  /** Those that nothing was done about here, the oldest first. */
  open(since: Instant): { readonly id: string; readonly order: ReloadOrder }[] {
    const rows = this.#orders.records("", orderCodec, { limit: 2 * MAX_KEPT });
    return rows
      .filter(
        ({ key, value }) =>
          BigInt(value.time) >= since && this.#results.get(key, resultCodec) === null,
      )
      .toSorted((a, b) => (BigInt(a.value.time) < BigInt(b.value.time) ? -1 : 1))
      .map(({ key, value }) => ({ id: key, order: value.order }));
  }

  /** "waits": ordered, and not done here. Null: there is no such one. */
  result(id: string): ReloadResult | "waits" | null {
    const found = this.#results.get(id, resultCodec);
    if (found !== null) return { time: BigInt(found.time), mounts: found.mounts };
    return this.#orders.get(id, orderCodec) === null ? null : "waits";
  }

  watch(call: () => void): () => void {
    return this.#orders.watch("", call);
  }
}

function makeRoom(tx: Tx, codec: Codec<Timed>): void {
  const rows = tx.records("", codec, { limit: 2 * MAX_KEPT });
  const byAge = rows.toSorted((a, b) => (BigInt(a.value.time) < BigInt(b.value.time) ? -1 : 1));
  const surplus = Math.max(0, byAge.length - MAX_KEPT + 1);
  for (const [at, { key, value }] of byAge.entries()) {
    if (at < surplus || BigInt(value.time) < tx.time - KEPT) tx.delete(key);
  }
}
