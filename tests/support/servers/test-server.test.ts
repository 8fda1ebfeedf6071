// That a crash of the server of tests is one, whichever data is in use.

import assert from "node:assert/strict";
import test from "node:test";
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
