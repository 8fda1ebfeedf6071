// The workload of the storage experiments and what must be true of it afterwards. Each client writes
// objects one after the other and knows its own history by heart: from the number of its last write
// everything it ever stored can be computed, so a ledger is one number per client.
//
// Write n of a client, in one transaction: the object n, a row in an index by log position, the
// client's counter (read, checked, written back); and the removal of object n − WINDOW with its row.

import { createHash } from "node:crypto";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import type { Barrier } from "../src/barrier/barrier.ts";
import type { Tx, View } from "../src/barrier/view.ts";

export const WINDOW = 40;

interface Position {
  readonly client: number;
  readonly n: number;
}

interface Counter {
  readonly n: number;
  readonly index: string;
}

const counterCodec = jsonCodec<Counter>();
const positionCodec = jsonCodec<Position>();
const rowCodec = jsonCodec<{ readonly row: string }>();

export class Ledger {
  readonly #objects: View; // shared
  readonly #order: View; // local
  readonly #largest: number;

  /** Objects have up to `largest` bytes. */
  constructor(barrier: Barrier, largest: number) {
    this.#objects = barrier.view("shared/soak/");
    this.#order = barrier.view("local/soak/");
    this.#largest = largest;
  }

  /** Makes the next write of a client; resolves with its number when durable. */
  next(client: number, accepted: (n: number) => void = () => {}): Promise<number> {
    return this.#objects.write((tx) => {
      const n = (tx.get(`counter/${client}`, counterCodec)?.n ?? 0) + 1;
      const row = `order/${String(tx.index).padStart(16, "0")}`;
      tx.put(`object/${client}/${n}`, contentOf(client, n, this.#largest), bytesCodec);
      tx.put(`row/${client}/${n}`, { row }, rowCodec);
      tx.on(this.#order).put(row, { client, n }, positionCodec);
      tx.put(`counter/${client}`, { n, index: String(tx.index) }, counterCodec);
      if (n > WINDOW) this.#remove(tx, client, n - WINDOW);
      accepted(n);
      return n;
    });
  }

  #remove(tx: Tx, client: number, n: number): void {
    const found = tx.get(`row/${client}/${n}`, rowCodec);
    if (found === null) throw new Error(`client ${client} has no row for its object ${n}`);
    tx.delete(`object/${client}/${n}`);
    tx.delete(`row/${client}/${n}`);
    tx.on(this.#order).delete(found.row);
  }

  /**
   * Compares what is stored with what each client knows to be acknowledged. A client waits for one
   * answer at a time, so its counter may be one ahead of that and no more. Returns the complaints.
   */
  verify(acknowledged: ReadonlyMap<number, number>, clients: number): string[] {
    const wrong: string[] = [];
    let objects = 0;
    for (let client = 0; client < clients; client++) {
      const known = acknowledged.get(client) ?? 0;
      const n = this.last(client);
      if (n < known)
        wrong.push(`client ${client}: write ${known} was acknowledged, ${n} is stored`);
      if (n > known + 1)
        wrong.push(`client ${client}: write ${n} is stored, ${known} acknowledged`);
      for (let at = Math.max(1, n - WINDOW - 2); at <= n + 1; at++) {
        const expected = at <= n && at > n - WINDOW;
        if (expected) objects++;
        wrong.push(...this.#verifyObject(client, at, expected));
      }
    }
    const stored = this.#countAll("object/", this.#objects);
    const rows = this.#countAll("order/", this.#order);
    if (stored !== objects) wrong.push(`${stored} objects are stored instead of ${objects}`);
    if (rows !== objects) wrong.push(`${rows} rows are in the index instead of ${objects}`);
    return wrong;
  }

  /** The number of a client's last stored write. */
  last(client: number): number {
    return this.#objects.get(`counter/${client}`, counterCodec)?.n ?? 0;
  }

  #verifyObject(client: number, n: number, expected: boolean): string[] {
    const name = `client ${client}, object ${n}`;
    const content = this.#objects.get(`object/${client}/${n}`, bytesCodec);
    if (!expected) return content === null ? [] : [`${name}: was never written, or is removed`];
    if (content === null) return [`${name}: is missing`];
    const wrong: string[] = [];
    if (!contentOf(client, n, this.#largest).equals(content)) wrong.push(`${name}: is altered`);
    const row = this.#objects.get(`row/${client}/${n}`, rowCodec)?.row;
    const found = row === undefined ? null : this.#order.get(row, positionCodec);
    if (found?.client !== client || found.n !== n) wrong.push(`${name}: is not in the index`);
    return wrong;
  }

  #countAll(prefix: string, view: View): number {
    let count = 0;
    let after: string | undefined;
    for (;;) {
      const page: string[] = view.keys(
        prefix,
        after === undefined ? { limit: 500 } : { limit: 500, after },
      );
      count += page.length;
      after = page.at(-1);
      if (after === undefined || page.length < 500) return count;
    }
  }
}

/** The content of an object, computable by whoever knows its name. */
export function contentOf(client: number, n: number, largest: number): Buffer {
  const seed = createHash("sha256").update(`${client}/${n}`).digest();
  const content = Buffer.alloc(16 + (seed.readUInt32BE(0) % largest));
  for (let at = 0; at < content.length; at += seed.length) seed.copy(content, at);
  return content;
}

/** Reads acknowledgement lines ("client n") into the ledger's numbers. */
export function countAcks(lines: Iterable<string>, into = new Map<number, number>()) {
  for (const line of lines) {
    const match = /^(\d+) (\d+)$/.exec(line.trim());
    if (match === null) throw new Error(`not an acknowledgement: ${JSON.stringify(line)}`);
    into.set(Number(match[1]), Number(match[2]));
  }
  return into;
}
