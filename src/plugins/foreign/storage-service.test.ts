import assert from "node:assert/strict";
import { test } from "node:test";
import { READ_ONLY_STORAGE, storage, STORAGE_IN_SETUP } from "@holdfast/plugin-sdk/wire/storage";
import type { Method, Served } from "@holdfast/shared/grpc/method";
import type { PluginTransactions } from "./transactions.ts";
import type { MountKeys } from "./mount-keys.ts";
import { storageService } from "./storage-service.ts";

const CALL = { peer: null, signal: new AbortController().signal, metadata: () => undefined };

async function ask<Q, A>(
  services: readonly Served<null>[],
  method: Method<"unary", Q, A>,
  request: Q,
): Promise<A> {
  const served = services.find(({ shape }) => shape.path === method.path);
  assert.ok(served !== undefined, method.path);
  const requests = (async function* () {
    yield method.request.encode(request);
  })();
  for await (const bytes of served.run(requests, CALL)) return method.response.decode(bytes);
  return assert.fail("it answered nothing");
}

test("a plugin writes once it was told to begin, and only what is written here; it is told which of both in the words that plugins look for", async () => {
  const written: string[] = [];
  let isReady = false;
  let elsewhere = false;
  const keys = {
    isWrittenElsewhere: () => elsewhere,
    write: async (key: string) => void written.push(key),
    get: async () => null,
  } as unknown as MountKeys;
  const transactions = {} as PluginTransactions; // nothing here is in one
  const services = storageService({ keys, transactions, isReady: () => isReady });
  const put = async (key: string) => {
    const entry = { key, value: new Uint8Array(), sealWrap: false };
    return (await ask(services, storage.put, { entry, txn: "" })).err;
  };
  const remove = async (key: string) => (await ask(services, storage.delete, { key, txn: "" })).err;
  assert.deepEqual([await put("a"), await remove("a")], [STORAGE_IN_SETUP, STORAGE_IN_SETUP]);
  assert.equal((await ask(services, storage.get, { key: "a", txn: "" })).err, "");
  isReady = true;
  elsewhere = true;
  assert.deepEqual([await put("a"), await remove("a")], [READ_ONLY_STORAGE, READ_ONLY_STORAGE]);
  elsewhere = false;
  assert.match(await put("../a"), /relative paths/);
  assert.deepEqual(written, []);
  assert.deepEqual([await put("a"), await remove("b")], ["", ""]);
  assert.deepEqual(written, ["a", "b"]);
});
