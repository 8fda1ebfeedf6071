// Engines of ours as processes of their own: the same source, the same answers.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { fakeWorld } from "../../support/fake-world.ts";
import { openEngine } from "../../support/engine-host.ts";
import { childType } from "../../support/plugins/child-type.ts";
import { PluginPlace } from "../../support/plugins/plugin-place.ts";

async function refused(tried: Promise<unknown>): Promise<string> {
  const error = await tried.then(
    () => null,
    (cause: unknown) => cause,
  );
  return error instanceof Failure ? `${error.kind} ${error.code}: ${error.texts.join("; ")}` : "";
}

test("kv as a process: versions, check-and-set, lists, refusals in its own words, two mounts apart, and no version lost", async () => {
  const place = new PluginPlace();
  const processes = await place.open();
  try {
    const child = { file: "engines/kv/kv.ts", exported: "kvEngine" };
    const type = await childType(processes, place, "kv", child);
    const [kv, other] = [await openEngine(type, fakeWorld()), await openEngine(type, fakeWorld())];
    assert.equal(processes.reports().length, 1, "one process for both");
    const put = async (x: number, options = {}) => {
      const { data } = await kv.ask("POST", "data/a", { body: { data: { x }, options } });
      return (data as { version: number }).version;
    };
    assert.equal(await put(1, { cas: 0 }), 1);
    assert.equal(await put(2, { cas: 1 }), 2);
    assert.match(await refused(put(3, { cas: 1 })), /^invalid kv-cas-mismatch: check-and-set/);
    assert.match(
      await refused(kv.ask("POST", "data/a", { body: { data: 7 } })),
      /must be an object/,
    );
    assert.match(await refused(kv.ask("GET", "data/none")), /^not-found /);
    assert.match(await refused(other.ask("GET", "data/a")), /^not-found /);
    assert.deepEqual((await kv.ask("LIST", "metadata")).data, { keys: ["a"] });
    assert.equal(await kv.exists("data/a"), true);
    assert.equal(await kv.exists("data/b"), false);
    const answer = await kv.ask("GET", "data/a", { query: { version: "1" } });
    assert.deepEqual((answer.data as { data: unknown }).data, { x: 1 });
    await kv.ask("POST", "config", { body: { max_versions: 100 } });
    const versions = await Promise.all(Array.from({ length: 40 }, (_, x) => put(x)));
    assert.deepEqual(
      versions.toSorted((a, b) => a - b).at(-1),
      42,
      "each of them is one of its own",
    );
    assert.equal(new Set(versions).size, 40);
  } finally {
    await processes.close();
    place.remove();
  }
});
