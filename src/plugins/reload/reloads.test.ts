import assert from "node:assert/strict";
import { test } from "node:test";
import type { PluginUse } from "../ports.ts";
import type { ReloadedMount } from "./reload-rows.ts";
import { Reloads, type ReloadsParts } from "./reloads.ts";

const USE: PluginUse = {
  uuid: "u",
  below: "",
  place: "small/",
  namespace: "",
  type: "secret",
  name: "small",
  isPlugin: true,
  version: "",
};

test("an order that whoever leads no more has not done is left for whoever leads next", async () => {
  const begun = Promise.withResolvers<void>();
  const results: (readonly ReloadedMount[])[] = [];
  let hangs = true;
  const reloads = new Reloads({
    rows: {
      open: () => [{ id: "one", order: { name: "small", type: null } }],
      finish: async (_: string, mounts: readonly ReloadedMount[]) => void results.push(mounts),
      watch: () => () => {},
    },
    catalog: { meant: () => null },
    processes: { renew: () => {} },
    uses: {
      all: async () => [USE],
      reload: () => {
        begun.resolve();
        return hangs ? new Promise<void>(() => {}) : Promise.resolve();
      },
    },
    clock: { now: () => 0n },
    log: { error: (text: string) => assert.fail(text) },
  } as unknown as ReloadsParts);
  reloads.lead();
  await begun.promise;
  await reloads.rest();
  assert.deepEqual(results, [], "nothing became of it yet");
  hangs = false;
  reloads.lead();
  while (results.length === 0) await new Promise((go) => setImmediate(go));
  await reloads.rest();
  assert.deepEqual(results[0], [{ place: "small/", error: "" }]);
});
