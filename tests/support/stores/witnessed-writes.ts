// What requests of a test server write, held against what their endpoints declare (`belongs`). The endpoint of a
// request reaches its transactions by the asynchronous context, which nothing but tests has; a transaction belongs to the
// request that has begun it, also where it waits for room.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { Failure } from "@holdfast/shared/failure";
import type { WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type { Witness } from "../../../src/core/seams.ts";
import { Store, type StoreOptions, type WriteOptions } from "../../../src/storage/store.ts";
import type { StoreTx } from "../../../src/storage/transaction.ts";
import { rowOf } from "./key-table.ts";

interface Request {
  readonly endpoint: string;
  /** Null: nothing is known of it, because the look has failed. */
  readonly belongs: WritesTo | null;
  /** What goes on after the answer is nobody's request. */
  ended: boolean;
}

/** Rooms begin or end to lead by them, and write what they begin with: that is the house's, and not the request's. */
const HOUSE_CHANGES: ReadonlySet<string> = new Set([
  "init", // with a seal that opens by itself
  "unseal",
  "initialiseFromSnapshot",
  "restoreSnapshot",
  "forceRestoreSnapshot",
  "promoteDrSecondary",
  "disableDrSecondary",
  // Plugins are started anew by them, and store what they begin with in their mounts.
  "reloadPlugin",
  "reloadPluginMounts",
]);

/** Where a read rewrites what an earlier version has stored, and goes on without where that cannot be. */
const RENEWS: readonly { readonly endpoint: RegExp; readonly key: RegExp }[] = [
  {
    endpoint: /^clouda(?:ReadRole|(?:Read|Write)(?:Creds|Sts))$/,
    key: /^shared\/ns\/[^/]+\/mounts\/.*\/(?:role|policy)\/[^/]+$/,
  },
];

const requests = new AsyncLocalStorage<Request>();

/** What another cluster does for a request is not the request's: between processes nothing of it would go along. */
export function elsewhere<T>(run: () => T): T {
  return requests.exit(run);
}

export class WriteWatch {
  readonly #wrong: string[] = [];

  readonly witness: Witness = async ({ endpoint, belongs }, run) => {
    if (HOUSE_CHANGES.has(endpoint.name)) return run();
    const request: Request = {
      endpoint: endpoint.name,
      belongs: await looked(belongs),
      ended: false,
    };
    try {
      return await requests.run(request, run);
    } finally {
      request.ended = true;
    }
  };

  readonly newStore = (options: StoreOptions): Store =>
    new WatchedStore(options, (request, key) => this.#see(request, key));

  /** Throws where a request writes what it does not declare. */
  #see({ endpoint, belongs }: Request, key: string): void {
    if (!key.startsWith("shared/")) return;
    if (belongs !== "local") return;
    if (RENEWS.some((one) => one.endpoint.test(endpoint) && one.key.test(key))) return;
    const wrong = `${endpoint} says that what it writes is local, and writes ${rowOf(key) ?? "a shared row"}`;
    this.#wrong.push(wrong);
    throw new Error(wrong);
  }

  assert(): void {
    assert.deepEqual(
      [...new Set(this.#wrong)],
      [],
      "endpoints that write what they do not declare",
    );
  }
}

class WatchedStore extends Store {
  readonly #see: (request: Request, key: string) => void;

  constructor(options: StoreOptions, see: (request: Request, key: string) => void) {
    super(options);
    this.#see = see;
  }

  override write<T>(fn: (tx: StoreTx) => T, options?: WriteOptions): Promise<T> {
    const request = requests.getStore();
    if (request === undefined || request.ended) return super.write(fn, options);
    return super.write((tx) => fn(watched(tx, (key) => this.#see(request, key))), options);
  }
}

function watched(tx: StoreTx, see: (key: string) => void): StoreTx {
  return {
    index: tx.index,
    time: tx.time,
    get: (key) => tx.get(key),
    rows: (prefix, page) => tx.rows(prefix, page),
    keys: (prefix, page) => tx.keys(prefix, page),
    list: (prefix, page) => tx.list(prefix, page),
    isDurable: (key) => tx.isDurable(key),
    put: (key, value, scope, plain) => {
      see(key);
      tx.put(key, value, scope, plain);
    },
    add: (key, value, scope) => {
      see(key);
      tx.add(key, value, scope);
    },
    delete: (key, scope) => {
      if (tx.get(key) !== null) see(key);
      tx.delete(key, scope);
    },
    discard: (key) => tx.discard(key),
    control: (record) => tx.control(record),
  };
}

/** A plain read writes nothing that is shared. */
async function looked(belongs: () => Promise<WritesTo> | null): Promise<WritesTo | null> {
  try {
    const found = belongs();
    return found === null ? "local" : await found;
  } catch (error) {
    if (error instanceof Failure) return null; // the handler refuses it alike
    throw error;
  }
}
