import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY, HOUR } from "@holdfast/shared/text/duration";
import { DENIED, type MadeKv, madeKv } from "../../../tests/support/made/made-kv.ts";

async function tidied(kv: MadeKv): Promise<void> {
  await kv.tested.type.periodic?.(kv.tested.engine, new AbortController().signal);
}

test("the bin shows what was deleted, and undelete takes it out", async () => {
  const kv = await madeKv();
  for (const path of ["a", "b/c", "d"]) await kv.put(path, { path });
  kv.world.clock.pass(HOUR);
  await kv.ask("DELETE", "data/b/c");
  await kv.post("delete/d", { versions: [1] });
  const { data } = await kv.ask("LIST", "recycle");
  assert.deepEqual(data["keys"], ["b/c", "d"]);
  assert.deepEqual((data["key_info"] as Record<string, unknown>)["d"], {
    version: 1,
    deletion_time: "2026-01-01T01:00:00Z",
    shown_until: "2026-01-08T01:00:00Z",
  });
  await kv.post("undelete/b/c", { versions: [1] });
  assert.deepEqual(await kv.value("b/c"), { path: "b/c" });
  assert.deepEqual(await kv.keys("recycle"), ["d"]);
});

test("a new version, destruction and removal take a secret out of the bin", async () => {
  const kv = await madeKv();
  for (const path of ["a", "b", "c"]) {
    await kv.put(path, {});
    await kv.ask("DELETE", `data/${path}`);
  }
  await kv.put("a", {});
  assert.deepEqual(await kv.keys("recycle"), ["b", "c"]);
  await kv.post("destroy/b", { versions: [1] });
  assert.deepEqual(await kv.keys("recycle"), ["c"]);
  await kv.ask("DELETE", "metadata/c");
  assert.deepEqual(await kv.rows("recycle/"), []);
});

test("an older version that is deleted puts nothing into the bin", async () => {
  const kv = await madeKv();
  await kv.put("a", {});
  await kv.put("a", {});
  await kv.post("delete/a", { versions: [1] });
  assert.deepEqual(await kv.keys("recycle"), []);
});

test("a secret moves with its place in the bin", async () => {
  const kv = await madeKv();
  await kv.put("a", {});
  await kv.ask("DELETE", "data/a");
  await kv.post("move", { from: "a", to: "b" });
  assert.deepEqual(await kv.keys("recycle"), ["b"]);
  await kv.post("undelete/b", { versions: [1] });
  assert.deepEqual(await kv.rows("recycle/"), []);
});

test("after the window the bin shows it no more, and it can still be undeleted", async () => {
  const kv = await madeKv();
  await kv.post("config", { recycle_window: "1d" });
  await kv.put("a", { n: 1 });
  await kv.put("b", {});
  await kv.ask("DELETE", "data/a");
  kv.world.clock.pass(DAY - 1n);
  await kv.ask("DELETE", "data/b");
  assert.deepEqual(await kv.keys("recycle"), ["a", "b"]);
  kv.world.clock.pass(1n);
  assert.deepEqual(await kv.keys("recycle"), ["b"]);
  await tidied(kv);
  assert.deepEqual(await kv.rows("recycle/"), ["recycle/b"]);
  await kv.post("undelete/a", { versions: [1] });
  assert.deepEqual(await kv.value("a"), { n: 1 });
  await kv.ask("DELETE", "data/a");
  assert.deepEqual(await kv.keys("recycle"), ["a", "b"]);
});

test("a window of 0 is no bin", async () => {
  const kv = await madeKv();
  await kv.post("config", { recycle_window: 0 });
  await kv.put("a", {});
  await kv.ask("DELETE", "data/a");
  assert.deepEqual(await kv.rows("recycle/"), []);
  await kv.post("undelete/a", { versions: [1] });
  assert.deepEqual(await kv.value("a"), {});
});

test("the bin shows what lies in folders that the caller may list, page by page", async () => {
  const kv = await madeKv();
  const paths = ["a", "b/1", "b/2", "closed/1", "d/1"];
  for (const path of paths) {
    await kv.put(path, {});
    await kv.ask("DELETE", `data/${path}`);
  }
  kv.may = (capability, path) => capability === "list" && path !== "engine/metadata/closed/";
  const pages: unknown[] = [];
  for (let after: string | undefined; ;) {
    const query = after === undefined ? { limit: "2" } : { limit: "2", after };
    const page = await kv.ask("LIST", "recycle", { query });
    pages.push(...(page.data["keys"] as string[]));
    if (page.warnings.length === 0) break;
    after = String(pages.at(-1));
  }
  assert.deepEqual(pages, ["a", "b/1", "b/2", "d/1"]);
  kv.may = () => false;
  assert.deepEqual(await kv.keys("recycle"), []);
});

test("bulk deletion deletes newest versions, counts, and fills the bin", async () => {
  const kv = await madeKv();
  const paths = Array.from({ length: 120 }, (_, n) => `k/${n}`);
  for (const path of paths) await kv.put(path, {});
  const wanted = [...paths, "k/0", "absent", "/k/1/"];
  const { data } = await kv.post("bulk-delete", { paths: wanted });
  assert.deepEqual(data, { deleted: 120, absent: 1 });
  assert.equal(((await kv.keys("recycle")) as string[]).length, 120);
  const again = await kv.post("bulk-delete", { paths });
  assert.deepEqual(again.data, { deleted: 0, absent: 120 });
});

test("T-D08: a bulk deletion with one path that the caller may not delete deletes nothing", async () => {
  const kv = await madeKv();
  for (const path of ["a", "b", "c"]) await kv.put(path, { path });
  kv.may = (capability, path) => capability === "delete" && path !== "engine/data/b";
  const refused = kv.post("bulk-delete", { paths: ["a", "b", "c"] });
  assert.deepEqual(await kv.refusal(refused), DENIED);
  for (const path of ["a", "b", "c"]) assert.deepEqual(await kv.value(path), { path });
});

test("a bulk deletion takes up to 1000 paths, and only paths", async () => {
  const kv = await madeKv();
  const many = Array.from({ length: 1001 }, (_, n) => `k${n}`);
  for (const paths of [many, ["a//b"], ["../a"], [""], undefined]) {
    assert.equal((await kv.refusal(kv.post("bulk-delete", { paths }))).kind, "invalid");
  }
  assert.deepEqual((await kv.post("bulk-delete", { paths: many.slice(1) })).data, {
    deleted: 0,
    absent: 1000,
  });
});
