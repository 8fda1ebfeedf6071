// The process around the house: what a start that fails leaves behind.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { startServer } from "../../tests/support/servers/test-server.ts";
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
