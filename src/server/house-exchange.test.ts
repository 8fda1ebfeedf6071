// One house for another, while clients go on: what they see, what stays, and what a failure leaves.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { renewed } from "../../tests/support/servers/renewed-data.ts";
import { startServer, type TestServer } from "../../tests/support/servers/test-server.ts";
import { at } from "../../tests/support/http-client.ts";
import { until } from "../../tests/support/until.ts";
import { Failure } from "@holdfast/shared/failure";
import { bytesCodec } from "@holdfast/shared/codec";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { WatchedEngine } from "../../tests/support/stores/watched-engine.ts";
import { ExchangeUncertain, type NextGeneration } from "../storage/generations/generations.ts";
import { MemoryGenerations } from "../storage/generations/memory-generations.ts";

async function opened(t: TestContext): Promise<{ node: TestServer; token: string }> {
  const node = await startServer();
  t.after(() => node.stop());
  const { token } = await node.open();
  const body = { type: "kv", options: { version: "1" } };
  assert.equal((await node.call("POST", "/v1/sys/mounts/kv", { token, body })).status, 204);
  const audit = { type: "file", options: { file_path: `${node.auditDirectory}/a.log` } };
  assert.equal((await node.call("PUT", "/v1/sys/audit/a", { token, body: audit })).status, 204);
  await put(node, token, "a", "before");
  return { node, token };
}

async function put(node: TestServer, token: string, name: string, value: string): Promise<void> {
  const { status, text } = await node.call("POST", `/v1/kv/${name}`, { token, body: { value } });
  assert.equal(status, 204, text);
}

async function valueOf(node: TestServer, token: string, name: string): Promise<unknown> {
  const answer = await node.call("GET", `/v1/kv/${name}`, { token });
  return answer.status === 404 ? null : at(answer, "data", "value");
}

test("the next house has the data, the log begins anew above the old one, and node rows go along", async (t) => {
  const { node, token } = await opened(t);
  const before = { cluster: node.server.keeper.clusterId, head: node.server.store.head };
  const versions = await node.call("GET", "/v1/sys/version-history", { token });
  const replacement = renewed(node.server);
  const old = node.server.store;
  const fill: typeof replacement.fill = async (engine, signal) => {
    await replacement.fill(engine, signal);
    await put(node, token, "b", "while it was filled"); // the house runs, and this is not in it
  };
  await node.server.exchange({ ...replacement, fill });
  assert.notEqual(node.server.store, old);
  assert.equal(node.server.keeper.sealed, false, "it unseals by itself");
  assert.equal(await valueOf(node, token, "a"), "before");
  assert.equal(await valueOf(node, token, "b"), null);
  assert.equal(node.server.keeper.clusterId, before.cluster);
  assert.equal(
    (await node.call("GET", "/v1/sys/version-history", { token })).text.length,
    versions.text.length,
  );
  const { head, timeline } = node.server.store;
  assert.equal(head?.epoch, before.head!.epoch + 1);
  assert.ok(head.index > before.head!.index);
  assert.equal(timeline?.origin?.replaced?.epoch, before.head!.epoch);
  await put(node, token, "c", "after");
  assert.equal((await node.server.store.check()).ok, true);
  const verified = await node.call("POST", "/v1/sys/audit-verify/a", { token });
  assert.equal(at(verified, "data", "valid"), true, verified.text);
});

test("meanwhile requests get 503 with a retry hint and waiting ones an answer; connections stay", async (t) => {
  const { node, token } = await opened(t);
  const { index } = node.server.store;
  const waits = node.call("GET", `/v1/acl/tokens?index=${index + 100n}&wait=60s`, { token });
  const running = async () => {
    const { json } = await node.call("GET", "/v1/sys/in-flight-req", { token });
    return Object.keys((json as { data: object }).data).length;
  };
  await until(async () => (await running()) > 1);
  const replacement = renewed(node.server);
  const statuses: number[] = [];
  const finish: typeof replacement.finish = async (engine) => {
    const answer = await node.call("GET", "/v1/kv/a", { token });
    statuses.push(answer.status);
    assert.equal(answer.headers["retry-after"], "1");
    assert.match(answer.text, /being exchanged/);
    return replacement.finish(engine);
  };
  await node.server.exchange({ ...replacement, finish });
  assert.deepEqual(statuses, [503]);
  const answer = await waits;
  assert.deepEqual(
    [answer.status, answer.headers["retry-after"]],
    [503, "5"],
    "when the house came to rest",
  );
  assert.equal(await valueOf(node, token, "a"), "before");
});

test("what fails before the switch leaves the old house running, whole", async (t) => {
  const { node, token } = await opened(t);
  const fails = async () => {
    throw new Failure("invalid", "no", "not this one");
  };
  const { store } = node.server;
  for (const changes of [{ fill: fails }, { finish: fails }]) {
    await assert.rejects(node.server.exchange(renewed(node.server, changes)), /not this one/);
    assert.equal(node.server.store, store);
    assert.equal(node.server.life.leading, true);
    await put(node, token, "a", "still here");
    assert.equal(await valueOf(node, token, "a"), "still here");
    const { index } = node.server.store;
    const waits = node.call("GET", `/v1/acl/tokens?index=${index + 100n}&wait=1s`, { token });
    assert.equal((await waits).status, 200, "queries wait again");
  }
});

test("one at a time; a stop gives up what is being filled", async (t) => {
  const { node } = await opened(t);
  const begun = Promise.withResolvers<AbortSignal>();
  const first = node.server.exchange(
    renewed(node.server, {
      fill: (_, signal) => {
        begun.resolve(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
      },
    }),
  );
  await begun.promise;
  await assert.rejects(node.server.exchange(renewed(node.server)), /exchanged already/);
  const stopped = node.server.stop();
  await assert.rejects(first, /about to stop/);
  await stopped;
  await assert.rejects(
    node.server.exchange({ fill: async () => {}, finish: async () => null }),
    /about to stop/,
  );
});

test("a house that its keys do not open stays sealed and is opened with its shares", async (t) => {
  const node = await startServer();
  t.after(() => node.stop());
  const { token, shares } = await node.open();
  const replacement = renewed(node.server);
  const finish: typeof replacement.finish = async (engine) => {
    await replacement.finish(engine);
    return null;
  };
  await node.server.exchange({ ...replacement, finish });
  assert.equal(node.server.keeper.sealed, true);
  assert.equal((await node.call("GET", "/v1/sys/mounts", { token })).status, 503);
  await node.unseal(shares);
  assert.equal((await node.call("GET", "/v1/sys/mounts", { token })).status, 200);
});

test("a storage that fails before the next house is let in is told, also where nobody threw for it", async (t) => {
  let engine = new WatchedEngine();
  class Watched extends MemoryGenerations {
    override async open() {
      return (engine = new WatchedEngine(await super.open()));
    }
  }
  let fails = false;
  const node = await startServer({
    generations: new Watched(),
    rooms: [
      ({ shared }) => ({
        name: "last to lead",
        endpoints: [],
        lead: async () => {
          if (!fails) return;
          engine.failCommit = new Error("the disk is gone");
          const put = shared.write((tx) => tx.put("a", new Uint8Array(1), bytesCodec));
          await assert.rejects(put);
          await nextTurn(); // it is announced
        },
      }),
    ],
  });
  t.after(() => node.stop().catch(() => {}));
  await node.open();
  fails = true;
  await node.server.exchange(renewed(node.server));
  const going = Symbol("it goes on");
  const cause = await Promise.race([node.server.failed, nextTurn().then(() => going)]);
  assert.match(String(cause), /the disk is gone/);
});

test("when nobody knows which data is in use, nothing is thrown away, nothing goes on, and the process is to end", async (t) => {
  let discarded = 0;
  class Uncertain extends MemoryGenerations {
    override async begin(): Promise<NextGeneration> {
      const next = await super.begin();
      const takeIntoUse = async () => {
        throw new ExchangeUncertain(new Error("the directory could not be synced"));
      };
      const discard = async () => {
        discarded++;
        await next.discard();
      };
      return { engine: next.engine, takeIntoUse, discard };
    }
  }
  const node = await startServer({ generations: new Uncertain() });
  t.after(() => node.stop().catch(() => {}));
  const { token } = await node.open();
  await assert.rejects(node.server.exchange(renewed(node.server)), ExchangeUncertain);
  const going = Symbol("it goes on");
  const cause = await Promise.race([node.server.failed, nextTurn().then(() => going)]);
  assert.ok(cause instanceof ExchangeUncertain, String(cause));
  assert.equal(discarded, 0, "the next start may find it in use");
  assert.equal(node.server.life.leading, false, "the old house does not go on");
  assert.equal((await node.call("GET", "/v1/sys/mounts", { token })).status, 503);
});
