// The process around the house: what a start that fails leaves behind, and what a stop does not wait for.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { startServer } from "../../tests/support/servers/test-server.ts";
import { until } from "../../tests/support/until.ts";
import type { MemoryEngine } from "../storage/engines/memory.ts";

test("a start that fails stops what was started, and says why it failed", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-start-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const socket = join(directory, "first.sock");
  const missing = join(directory, "there", "is", "none.sock");
  const opened: MemoryEngine[] = [];
  const failed = await startServer({
    settings: { listener: [{ unix: { address: socket } }, { unix: { address: missing } }] },
    engine: (inner) => {
      opened.push(inner);
      return inner;
    },
  }).catch((error: unknown) => error);
  assert.ok(failed instanceof Failure, "the listeners do not all come up");
  assert.ok(failed.message.includes(missing), failed.message);
  assert.ok(!existsSync(socket), "the first listener is closed again");
  const [engine] = opened;
  assert.ok(engine !== undefined);
  assert.throws(() => engine.meta("any"), /closed/, "and so is the storage");
});

test("a stop answers requests that wait for something, and does not wait for them", async () => {
  const node = await startServer({
    config: (config) => ({ ...config, shutdownTimeout: 5n * SECOND }),
  });
  const { token } = await node.open();
  const target = `/v1/acl/tokens?index=${node.server.store.index + 100n}&wait=60s`;
  const waits = node.call("GET", target, { token }).catch((error: unknown) => error);
  await until(async () => {
    const { json } = await node.call("GET", "/v1/sys/in-flight-req", { token });
    return Object.keys((json as { data: object }).data).length > 1;
  });
  await node.stop();
  assert.equal(((await waits) as { status?: number }).status, 503, "its connection was cut");
});
