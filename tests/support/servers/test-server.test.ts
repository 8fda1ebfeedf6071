// That a crash of the server of tests is one, whichever data is in use; and that it finds requests that write what
// their endpoints do not declare.

import assert from "node:assert/strict";
import test from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { type Belonging, endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Views } from "../../../src/server/ground.ts";
import { KeptGenerations } from "../stores/kept-generations.ts";
import { renewed } from "./renewed-data.ts";
import { startServer } from "./test-server.ts";

const ALL = { from: "", to: null, limit: 10_000 };

for (const when of ["first", "exchanged"]) {
  test(`a crash writes nothing more to the data that is in use: the ${when}`, async (t) => {
    const generations = new KeptGenerations();
    const node = await startServer({ generations });
    t.after(() => node.stop().catch(() => {}));
    const { token } = await node.open();
    if (when === "exchanged") await node.server.exchange(renewed(node.server));
    const body = { type: "kv", options: { version: "2" } };
    const mounted = await node.call("POST", "/v1/sys/mounts/secret", { token, body });
    assert.equal(mounted.status, 204, mounted.text);
    const before = generations.disk.rows.rows(ALL);
    await node.crash();
    assert.deepEqual(generations.disk.rows.rows(ALL), before);
  });
}

test("a crash while other data is filled in: it does not take the place of what was in use", async (t) => {
  const generations = new KeptGenerations();
  const node = await startServer({ generations });
  t.after(() => node.stop().catch(() => {}));
  await node.open();
  const { disk } = generations;
  const [filled, crashed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const whole = renewed(node.server);
  const exchanging = node.server.exchange({
    ...whole,
    finish: async (engine) => {
      const key = await whole.finish(engine);
      filled.resolve();
      await crashed.promise;
      return key;
    },
  });
  await filled.promise;
  const crash = node.crash();
  crashed.resolve();
  await assert.rejects(exchanging, /power/);
  await crash;
  assert.equal(generations.disk, disk);
});

const endpoint = endpointsOf<Views>();
const common = { access: access.management, input: {}, output: out.nothing } as const;
const word = jsonCodec<string>();

/** A room that writes a shared row, and rows of this cluster, whatever its endpoints say. */
function writing(says: Belonging) {
  const writes = async (views: Views, shared: boolean): Promise<undefined> => {
    await views.shared.write((tx) => {
      tx.on(views.local).put("snapshots/planted", "here", word);
      if (shared) tx.put("quotas/planted", "everywhere", word);
    });
    return undefined;
  };
  const endpoints = [
    endpoint({
      ...common,
      name: "plantedWrite",
      method: "POST",
      path: "/sys/planted",
      summary: "Writes.",
      belongs: says,
      handler: (views) => writes(views, true),
    }),
    endpoint({
      ...common,
      name: "plantedDelete",
      method: "DELETE",
      path: "/sys/planted",
      summary: "Deletes.",
      belongs: says,
      handler: async (views) => {
        await views.shared.write((tx) => tx.delete("quotas/planted"));
        return undefined;
      },
    }),
    endpoint({
      ...common,
      name: "plantedRead",
      method: "GET",
      path: "/sys/planted",
      summary: "Reads, and writes.",
      handler: (views) => writes(views, true),
    }),
    endpoint({
      ...common,
      name: "plantedLocal",
      method: "POST",
      path: "/sys/planted/local",
      summary: "Writes what is local.",
      belongs: says,
      handler: (views) => writes(views, false),
    }),
  ];
  return (views: Views) => ({ name: "planted", endpoints: serve(views, endpoints) });
}

test("a request that writes shared rows and says that they are local fails, and so does its test", async () => {
  const node = await startServer({ rooms: [writing("local")] });
  const { token } = await node.open();
  const ask = async (method: string, path = "") =>
    (await node.call(method, `/v1/sys/planted${path}`, { token })).status;
  assert.equal(await ask("POST", "/local"), 204);
  node.writes.assert();
  assert.equal(await ask("DELETE"), 204); // nothing is there: nothing is written
  node.writes.assert();
  assert.equal(await ask("POST"), 500);
  assert.equal(await ask("GET"), 500);
  await node.server.barrier.view("shared/").write((tx) => tx.put("quotas/planted", "x", word));
  assert.equal(await ask("DELETE"), 500);
  const says = "says that what it writes is local, and writes shared/quotas/*";
  const all = ["plantedWrite", "plantedRead", "plantedDelete"].map((name) => `${name} ${says}`);
  await assert.rejects(node.stop(), (error: { actual?: unknown }) => {
    assert.deepEqual(error.actual, all);
    return true;
  });
});

test("one that says that they are shared may", async () => {
  const node = await startServer({ rooms: [writing("shared")] });
  const { token } = await node.open();
  for (const method of ["POST", "DELETE"]) {
    const answer = await node.call(method, "/v1/sys/planted", { token });
    assert.equal(answer.status, 204, answer.text);
  }
  await node.stop();
});
