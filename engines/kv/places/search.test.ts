import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type MadeKv, madeKv } from "../../../tests/support/made/made-kv.ts";

async function all(kv: MadeKv, query: Readonly<Record<string, string>>): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const page = after === undefined ? query : { ...query, after };
    const { data } = await kv.get("search", page);
    found.push(...(data["keys"] as string[]));
    if (data["next"] === undefined) return found;
    after = data["next"] as string;
  }
}

test("search finds by path, and by name and text of custom metadata, in either case", async () => {
  const kv = await madeKv();
  for (const path of ["team/Postgres", "team/x", "other/y", "z"]) await kv.put(path, {});
  await kv.post("metadata/team/x", { custom_metadata: { Engine: "mysql" } });
  await kv.post("metadata/z", { custom_metadata: { note: "was POSTGRES" } });
  const found = async (query: JsonObject) => (await kv.get("search", query as never)).data["keys"];
  assert.deepEqual(await found({ q: "postgres" }), ["team/Postgres", "z"]);
  assert.deepEqual(await found({ q: "engine" }), ["team/x"]);
  assert.deepEqual(await found({ q: "MySQL" }), ["team/x"]);
  assert.deepEqual(await found({ q: "postgres", under: "team" }), ["team/Postgres"]);
  assert.deepEqual(await found({ q: "postgres", under: "team/" }), ["team/Postgres"]);
  assert.deepEqual(await found({ q: "nowhere" }), []);
});

test("what a secret holds is not searched", async () => {
  const kv = await madeKv();
  await kv.put("a", { password: "needle" });
  assert.deepEqual((await kv.get("search", { q: "needle" })).data["keys"], []);
});

test("search tells of nothing that the caller may not read, not even in its cursor", async () => {
  const kv = await madeKv();
  await Promise.all(
    Array.from({ length: 1500 }, (_, n) => kv.put(`hidden-${String(n).padStart(4, "0")}`, {})),
  );
  await kv.put("shown-match", {});
  kv.may = (capability, path) => capability === "read" && path === "engine/data/shown-match";
  const first = await kv.get("search", { q: "-" });
  assert.deepEqual(first.data["keys"], []);
  const next = first.data["next"] as string;
  assert.ok(!Buffer.from(next, "base64url").toString("latin1").includes("hidden"));
  assert.deepEqual(await all(kv, { q: "-" }), ["shown-match"]);
});

test("pages of a search add up to all of it, once each", async () => {
  const kv = await madeKv();
  const paths = Array.from({ length: 250 }, (_, n) => `p/${String(n).padStart(3, "0")}`);
  await Promise.all(paths.map((path) => kv.put(path, {})));
  for (const limit of ["1", "7", "100", "250", "1000"]) {
    assert.deepEqual(await all(kv, { q: "p", limit }), paths, limit);
  }
});

test("a cursor that was not made here, or was changed, is refused", async () => {
  const kv = await madeKv();
  for (const path of ["a", "b", "c"]) await kv.put(path, {});
  await kv.post("metadata/a", { custom_metadata: { x: "yy" } });
  const { data } = await kv.get("search", { q: "", limit: "1" });
  const good = Buffer.from(data["next"] as string, "base64url");
  const changed = Buffer.from(good);
  changed[20] = (changed[20] ?? 0) ^ 1;
  const other = await madeKv({ storage: kv.storage, world: kv.world });
  const twice = `${data["next"] as string}=`; // another spelling of the same bytes
  const cursors = ["", "a", "secrets/a", changed.toString("base64url"), twice];
  for (const after of cursors) {
    const { texts } = await kv.refusal(kv.get("search", { q: "", after }));
    assert.match(texts[0] ?? "", /begin again without it$/);
  }
  const late = other.get("search", { q: "", after: good.toString("base64url") });
  assert.equal((await kv.refusal(late)).kind, "invalid");
});
