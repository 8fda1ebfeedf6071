// The methods of a plugin over real connections, with the limits that both sides have.

import assert from "node:assert/strict";
import test from "node:test";
import { callUnary, serveUnary } from "@holdfast/shared/grpc/method";
import { GrpcPair } from "../../tests/support/servers/grpc-pair.ts";
import { backend } from "./backend.ts";
import { PLUGIN_LIMITS } from "./limits.ts";
import { storage } from "./storage.ts";

const MIB = 1024 * 1024;

test("64 values of 0.9 MB at once arrive, and come back", async () => {
  const held = new Map<string, Uint8Array>();
  const pair = await GrpcPair.start(
    [
      serveUnary(storage.put, async ({ entry }) => {
        held.set(entry!.key, entry!.value);
        return { err: "", walIndex: null };
      }),
      serveUnary(storage.get, async ({ key }) => {
        return { entry: { key, value: held.get(key)!, sealWrap: false }, err: "" };
      }),
    ],
    { limits: PLUGIN_LIMITS },
  );
  try {
    const client = await pair.client(PLUGIN_LIMITS);
    const keys = Array.from({ length: 64 }, (_, i) => `k${i}`);
    await Promise.all(
      keys.map((key, i) => {
        const entry = { key, value: Buffer.alloc(900_000, i), sealWrap: false };
        return callUnary(client, storage.put, { entry, txn: "" });
      }),
    );
    const found = await Promise.all(
      keys.map((key) => callUnary(client, storage.get, { key, txn: "" })),
    );
    found.forEach(({ entry }, i) =>
      assert.ok(entry?.value.every((byte) => byte === i) && entry.value.length === 900_000),
    );
  } finally {
    await pair.close();
  }
});

test("a request of 64 MiB passes, and one that is beyond every bound does not", async () => {
  const pair = await GrpcPair.start(
    [
      serveUnary(backend.handleRequest, async ({ request }) => {
        const size = String(request?.data.length);
        const { data, ...none } = backend.handleRequest.response.decode(new Uint8Array(0))
          .response ?? { data: "" };
        assert.equal(data, "");
        return {
          ...none,
          response: {
            secret: null,
            auth: null,
            data: size,
            redirect: "",
            warnings: [],
            wrapInfo: null,
            headers: new Map(),
            mountType: "",
            own: null,
          },
          err: null,
          walIndex: null,
        };
      }),
    ],
    { limits: PLUGIN_LIMITS },
  );
  try {
    const client = await pair.client(PLUGIN_LIMITS);
    const none = backend.handleRequest.request.decode(Buffer.from([0x12, 0])).request!;
    const ask = (size: number) =>
      callUnary(client, backend.handleRequest, {
        storageId: 0,
        request: { ...none, data: "x".repeat(size) },
      });
    assert.equal((await ask(64 * MIB)).response?.data, String(64 * MIB));
    await assert.rejects(ask(69 * MIB), /at most/);
  } finally {
    await pair.close();
  }
});
