import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { serveUnary, serviceTable } from "@holdfast/shared/grpc/method";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import { storage } from "@holdfast/plugin-sdk/wire/storage";
import { callUnary } from "@holdfast/shared/grpc/method";
import {
  hold,
  keepersOf,
  PluginPlace,
  runs,
  say,
} from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";

test("the first to start may be several at once: they have one folder and one keeper", async () => {
  const place = new PluginPlace();
  let keepers: number[] = [];
  const processes = await place.open();
  try {
    const programs = [1, 2, 3, 4].map((n) =>
      place.program({ name: `small${n}`, command: `${n}.mjs` }),
    );
    const held = await Promise.all(programs.map((program) => hold(processes, program)));
    assert.deepEqual(
      processes.reports().map(({ state }) => state),
      ["ready", "ready", "ready", "ready"],
    );
    assert.equal(place.runs().length, 1);
    keepers = keepersOf(place);
    assert.equal(keepers.length, 1);
    await Promise.all(held.map((one) => one.release()));
  } finally {
    await processes.close();
    assert.ok(!keepers.some(runs));
    assert.deepEqual(place.runs(), []);
    place.remove();
  }
});

test("a process is started, called, reaches what it is offered, and is gone when it is let go", async () => {
  const place = new PluginPlace();
  const processes = await place.open();
  try {
    const held = await hold(processes, place.program());
    assert.equal(held.protocol, 5);
    assert.equal(held.isShared, false);
    assert.equal(await say(held, "pid"), String(held.pid));
    const offered = await held.offer(
      serviceTable([
        serveUnary(storage.get, async ({ key }) => ({
          entry: { key, value: Buffer.from(`value of ${key}`), sealWrap: false },
          err: "",
        })),
      ]),
    );
    assert.equal(offered.id, 1);
    await callUnary(held.channel, backend.setup, {
      brokerId: offered.id,
      config: new Map(),
      backendUuid: "",
    });
    assert.equal(await say(held, "stores", "a"), "value of a");
    assert.equal(processes.reports()[0]?.state, "ready");
    assert.ok((processes.reports()[0]?.memory ?? 0) > 2 ** 20);
    await held.release();
    await until(() => !runs(held.pid));
    assert.equal(held.end?.cause, "it was stopped");
    assert.equal(processes.figures.of("small").restarts, 0);
    const [run = ""] = place.runs();
    await until(() => readdirSync(join(place.temporary, run)).join() === "server");
  } finally {
    await processes.close();
    assert.deepEqual(place.runs(), []);
    assert.ok(!existsSync(place.copies));
    place.remove();
  }
});
