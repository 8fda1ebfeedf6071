// The storage of a mount, served to its plugin on a connection of its own. Each change is one transaction, answered when it is
// durable. What is refused is told in words that plugins look for.

import { bytesCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { isWrittenElsewhere } from "@holdfast/shared/endpoint/failures";
import { type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { READ_ONLY_STORAGE, storage, STORAGE_IN_SETUP } from "@holdfast/plugin-sdk/wire/storage";
import { keyRefused } from "./key-escape.ts";
import type { MountKeys } from "./mount-keys.ts";

const WITHOUT_TRANSACTIONS = "transactions are not served";
const MAX_PAGE = 100_000;

export interface StorageParts {
  readonly keys: MountKeys;
  /** Set up, and not closed: it may write. */
  readonly isReady: () => boolean;
}

const DONE = { err: "", walIndex: null };

export function storageService({ keys, isReady }: StorageParts): readonly Served<null>[] {
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
    serveUnary(storage.list, async ({ prefix }) => list(prefix, () => keys.list(prefix))),
    serveUnary(storage.listPage, async ({ prefix, after, limit }) => {
      const most = limit > 0 ? Math.min(limit, MAX_PAGE) : MAX_PAGE;
      return await list(prefix, () => keys.listPage(prefix, after, most));
    }),
    serveUnary(storage.get, async ({ key }) => {
      const refused = keyRefused(key);
      if (refused !== null) return { entry: null, err: refused };
      try {
        const value = await keys.get(key);
        return { entry: value === null ? null : { key, value, sealWrap: false }, err: "" };
      } catch (error) {
        return { entry: null, err: wordsFor(error) };
      }
    }),
    serveUnary(storage.put, async ({ entry }) => {
      const { key = "", value = new Uint8Array() } = entry ?? {};
      return await write(key, () =>
        keys.write(key, (tx, escaped) => tx.put(escaped, value, bytesCodec)),
      );
    }),
    serveUnary(storage.delete, async ({ key }) =>
      write(key, () => keys.write(key, (tx, escaped) => tx.delete(escaped), true)),
    ),
    serveUnary(storage.isTransactional, async () => ({ transactional: false })),
    ...[storage.beginReadOnlyTx, storage.beginTx].map((method) =>
      serveUnary(method, async () => ({ txn: "", err: WITHOUT_TRANSACTIONS })),
    ),
    ...[storage.commit, storage.rollback].map((method) =>
      serveUnary(method, async () => ({ err: WITHOUT_TRANSACTIONS })),
    ),
  ];
}

/** Ours alone: of another error its words may quote what is stored. */
function wordsFor(error: unknown): string {
  if (isWrittenElsewhere(error)) return READ_ONLY_STORAGE;
  return error instanceof Failure ? describe(error) : "the storage failed";
}
