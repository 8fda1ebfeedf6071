// Restoring without a token is for a server that nobody has initialised, and whoever initialises it meanwhile goes first.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { MemoryGenerations } from "../../../src/storage/generations/memory-generations.ts";
import { at } from "../../support/http-client.ts";
import { engineServer } from "../../support/servers/engine-server.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { heldBack, sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };
const PATH = "sys/storage/raft/snapshot-init";

async function archiveOfAnother(t: TestContext): Promise<Buffer> {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "1" } });
  await server.must("POST", "kv/theirs", { value: "of the archive" });
  return (await takeSnapshot(server.test.url, server.root)).body;
}

async function emptyNode(t: TestContext, generations?: MemoryGenerations): Promise<TestServer> {
  const node = await startServer(generations === undefined ? {} : { generations });
  t.after(() => node.stop());
  return node;
}

/** What an operator does with a new server. */
async function takenIntoUse(node: TestServer) {
  const { token } = await node.open();
  const mount = { type: "kv", options: { version: "1" } };
  assert.equal((await node.call("POST", "/v1/sys/mounts/kv", { token, body: mount })).status, 204);
  const value = { value: "mine" };
  assert.equal((await node.call("POST", "/v1/kv/a", { token, body: value })).status, 204);
  return token;
}

async function assertMine(node: TestServer, token: string): Promise<void> {
  const read = await node.call("GET", "/v1/kv/a", { token });
  assert.equal(at(read, "data", "value"), "mine", read.text);
  assert.equal(node.server.keeper.sealed, false);
}

function stateOf(node: TestServer, token: string) {
  return node.call("GET", "/v1/sys/storage/raft/restore-status", { token });
}

test(
  "a body that is held back until an operator has initialised the server replaces nothing, and is ended by that",
  BOUND,
  async (t) => {
    const archive = await archiveOfAnother(t);
    const node = await emptyNode(t);
    const held = heldBack(node.url, archive, { path: PATH });
    await held.sent;
    const token = await takenIntoUse(node);
    // Not a byte more has come: it is over, and in nobody's way.
    const answer = await held.answer;
    assert.equal(answer.status, 400, answer.body.toString());
    assert.match(answer.body.toString(), /the server is initialised/);
    assert.ok(node.lines.some((line) => /restore\.refused.*127\.0\.0\.1/.test(line)));
    await assertMine(node, token);
    const own = (await takeSnapshot(node.url, token)).body;
    assert.equal((await sendSnapshot(node.url, token, "snapshot", own)).status, 204);
    await until(async () => at(await stateOf(node, token), "data", "state") === "done");
    await assertMine(node, token);
  },
);

test(
  "one that was received before somebody initialised the server is not put in the place of the data either",
  BOUND,
  async (t) => {
    const archive = await archiveOfAnother(t);
    const gate = Promise.withResolvers<void>();
    const generations = new (class extends MemoryGenerations {
      override async begin() {
        await gate.promise;
        return super.begin();
      }
    })();
    const node = await emptyNode(t, generations);
    assert.equal((await sendSnapshot(node.url, "", "snapshot-init", archive)).status, 204);
    const token = await takenIntoUse(node);
    gate.resolve();
    await until(async () => at(await stateOf(node, token), "data", "state") === "failed");
    const status = await stateOf(node, token);
    assert.match(String(at(status, "data", "error")), /the server is initialised/);
    await assertMine(node, token);
  },
);

test(
  "one that is filled in while somebody initialises the server is given up at the switch",
  BOUND,
  async (t) => {
    const archive = await archiveOfAnother(t);
    const gate = Promise.withResolvers<void>();
    const filled = Promise.withResolvers<void>();
    const generations = new (class extends MemoryGenerations {
      override async begin() {
        const next = await super.begin();
        const { engine } = next;
        const commit = engine.commit.bind(engine);
        engine.commit = async (batch) => {
          await commit(batch);
          filled.resolve();
          await gate.promise; // all of it is written, and nobody has looked again
        };
        return next;
      }
    })();
    const node = await emptyNode(t, generations);
    assert.equal((await sendSnapshot(node.url, "", "snapshot-init", archive)).status, 204);
    await filled.promise;
    const token = await takenIntoUse(node);
    gate.resolve();
    await until(async () => {
      const status = await stateOf(node, token);
      return status.status === 200 && at(status, "data", "state") === "failed";
    });
    await assertMine(node, token);
  },
);

test(
  "who is refused because the server is initialised stands in the audit record",
  BOUND,
  async (t) => {
    const archive = await archiveOfAnother(t);
    const node = await emptyNode(t);
    const token = await takenIntoUse(node);
    mkdirSync(node.auditDirectory, { recursive: true, mode: 0o700 });
    const file = join(node.auditDirectory, "audit.log");
    const body = { type: "file", options: { file_path: file } };
    const enabled = await node.call("POST", "/v1/sys/audit/file", { token, body });
    assert.equal(enabled.status, 204, enabled.text);
    const answer = await sendSnapshot(node.url, "", "snapshot-init", archive);
    assert.equal(answer.status, 400, answer.text);
    const records = readFileSync(file, "utf8").split("\n");
    assert.equal(records.filter((line) => line.includes(PATH)).length, 2);
  },
);
