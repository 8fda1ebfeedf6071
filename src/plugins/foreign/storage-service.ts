// The storage of a mount, served to its plugin on a connection of its own. Each change is one transaction, answered when it is
// durable, but for those that name one that the plugin has begun. What is refused is told in words that plugins look for.

import { bytesCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { isWrittenElsewhere } from "@holdfast/shared/endpoint/failures";
import { type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { READ_ONLY_STORAGE, storage, STORAGE_IN_SETUP } from "@holdfast/plugin-sdk/wire/storage";
import { keyRefused } from "./key-escape.ts";
import type { MountKeys } from "./mount-keys.ts";
import { type PluginTransactions, TransactionRefused } from "./transactions.ts";

const MAX_PAGE = 100_000;

export interface StorageParts {
  readonly keys: MountKeys;
  readonly transactions: PluginTransactions;
  /** Set up, and not closed: it may write. */
  readonly isReady: () => boolean;
}

const DONE = { err: "", walIndex: null };

export function storageService({
  keys,
  transactions,
  isReady,
}: StorageParts): readonly Served<null>[] {
  const write = async (key: string, run: () => Promise<void>) => {
    const refused = keyRefused(key);
    if (refused !== null) return { err: refused, walIndex: null };
    if (!isReady()) return { err: STORAGE_IN_SETUP, walIndex: null };
    if (keys.isWrittenElsewhere(key)) return { err: READ_ONLY_STORAGE, walIndex: null };
    try {
      await run();
      return DONE;
    } catch (error) {
      return { err: wordsFor(error), walIndex: null };
    }
  };
  const list = async (prefix: string, names: () => Promise<string[]>) => {
    if (prefix.includes("..")) return { keys: [], err: "relative paths not supported" };
    try {
      return { keys: await names(), err: "" };
    } catch (error) {
      return { keys: [], err: wordsFor(error) };
    }
  };
  return [
    serveUnary(storage.list, async ({ prefix, txn }) => {
      const all = { after: "", limit: Infinity };
      const names = async () => (await transactions.list(txn, prefix, all)).toSorted();
      return await list(prefix, () => (txn === "" ? keys.list(prefix) : names()));
    }),
    serveUnary(storage.listPage, async ({ prefix, after, limit, txn }) => {
      const most = limit > 0 ? Math.min(limit, MAX_PAGE) : MAX_PAGE;
      return await list(prefix, () =>
        txn === ""
          ? keys.listPage(prefix, after, most)
          : transactions.list(txn, prefix, { after, limit: most }),
      );
    }),
    serveUnary(storage.get, async ({ key, txn }) => {
      const refused = keyRefused(key);
      if (refused !== null) return { entry: null, err: refused };
      try {
        const value = await (txn === "" ? keys.get(key) : transactions.get(txn, key));
        return { entry: value === null ? null : { key, value, sealWrap: false }, err: "" };
      } catch (error) {
        return { entry: null, err: wordsFor(error) };
      }
    }),
    serveUnary(storage.put, async ({ entry, txn }) => {
      const { key = "", value = new Uint8Array() } = entry ?? {};
      return await write(key, () =>
        txn === ""
          ? keys.write(key, (tx, escaped) => tx.put(escaped, value, bytesCodec))
          : transactions.put(txn, key, value),
      );
    }),
    serveUnary(storage.delete, async ({ key, txn }) =>
      write(key, () =>
        txn === ""
          ? keys.write(key, (tx, escaped) => tx.delete(escaped), true)
          : transactions.put(txn, key, null),
      ),
    ),
    serveUnary(storage.isTransactional, async () => ({ transactional: true })),
    ...([storage.beginReadOnlyTx, storage.beginTx] as const).map((method) =>
      serveUnary(method, async () => {
        try {
          return { txn: transactions.begin(method === storage.beginReadOnlyTx), err: "" };
        } catch (error) {
          return { txn: "", err: wordsFor(error) };
        }
      }),
    ),
    serveUnary(storage.commit, async ({ txn }) => {
      if (!isReady()) return { err: STORAGE_IN_SETUP };
      return await ended(() => transactions.commit(txn));
    }),
    serveUnary(storage.rollback, async ({ txn }) => ended(async () => transactions.rollback(txn))),
  ];
}

async function ended(end: () => Promise<void>): Promise<{ err: string }> {
  try {
    await end();
    return { err: "" };
  } catch (error) {
    return { err: wordsFor(error) };
  }
}

/** Ours alone: of another error its words may quote what is stored. */
function wordsFor(error: unknown): string {
  if (isWrittenElsewhere(error)) return READ_ONLY_STORAGE;
  if (error instanceof TransactionRefused) return error.message;
  return error instanceof Failure ? describe(error) : "the storage failed";
}
