import assert from "node:assert/strict";
import { test } from "node:test";
import { madeKv, NOT_FOUND } from "../../tests/support/made/made-kv.ts";
import { kvEngine } from "./kv.ts";

test("version 1 keeps the body as it is, one value per path", async () => {
  const kv = await madeKv({ version: "1" });
  assert.equal(await kv.tested.exists("a/b"), false);
  await kv.post("a/b", { data: { x: 1 }, versions: "mine", options: null });
  assert.deepEqual((await kv.get("a/b")).data, { data: { x: 1 }, versions: "mine", options: null });
  assert.equal(await kv.tested.exists("a/b"), true);
  await kv.post("a/b", { n: 2 });
  assert.deepEqual((await kv.get("a/b")).data, { n: 2 });
  assert.deepEqual(await kv.keys(""), ["a/"]);
  assert.deepEqual(await kv.keys("a"), ["b"]);
  await kv.ask("DELETE", "a/b");
  assert.deepEqual(await kv.refusal(kv.get("a/b")), NOT_FOUND);
});

test("in version 1 the words of version 2 are paths of secrets", async () => {
  const kv = await madeKv({ version: "1" });
  for (const path of ["data/a", "config", "copy", "search", "metadata"]) {
    await kv.post(path, { path });
    assert.deepEqual((await kv.get(path)).data, { path });
  }
});

test("a secret of version 1 says how long it is good: its own ttl, or the mount's", async () => {
  const kv = await madeKv({ version: "1" });
  await kv.post("a", { ttl: "90s" });
  await kv.post("b", { ttl: "soon" });
  await kv.post("c", { ttl: "500ms" });
  const seconds = async (path: string) => (await kv.tested.ask("GET", path)).leased?.seconds;
  assert.equal(await seconds("a"), 90);
  assert.equal(await seconds("b"), 768 * 3600);
  assert.equal(await seconds("c"), 1); // and not 0, which is no time at all
});

test("a mount that goes from version 1 to 2 keeps what it has, as first versions", async () => {
  const old = await madeKv({ version: "1" });
  for (let n = 0; n < 50; n++) await old.post(`k/${n}`, { n });
  const { storage, world } = old;
  const kv = await madeKv({ storage, world });
  assert.equal(((await kv.keys("metadata/k")) as string[]).length, 50);
  assert.deepEqual(await kv.value("k/7"), { n: 7 });
  assert.equal(await kv.put("k/7", {}, 1), 2);
  assert.deepEqual(await kv.rows("plain/"), []);
});

test("options are version alone, 2 unless said; there is no way back to 1", () => {
  assert.deepEqual(kvEngine.checkOptions({}), { version: "2" });
  assert.deepEqual(kvEngine.checkOptions({ version: "1" }), { version: "1" });
  assert.throws(() => kvEngine.checkOptions({ version: "3" }), /must be "1" or "2"/);
  assert.throws(() => kvEngine.checkOptions({ other: "x" }), /unknown option "other"/);
  const keeps = kvEngine.canChangeOptions;
  assert.equal(keeps?.({ version: "1" }, { version: "2" }), null);
  assert.notEqual(keeps?.({ version: "2" }, { version: "1" }), null);
});
