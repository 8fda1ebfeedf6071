import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import { readJson } from "@holdfast/shared/json/json-reader";
import { madeKv, NOT_FOUND } from "../../tests/support/made/made-kv.ts";

const LARGE = "x".repeat(20 * 1024);

test("a write makes a version, a read gives the newest or the one asked for", async () => {
  const kv = await madeKv();
  assert.equal(await kv.put("a/b", { n: 1 }), 1);
  kv.world.clock.pass(SECOND);
  const second = await kv.post("data/a/b", { data: { n: 2 } });
  assert.deepEqual(second.data, {
    version: 2,
    created_time: "2026-01-01T00:00:01Z",
    deletion_time: "",
    destroyed: false,
    custom_metadata: null,
  });
  const newest = await kv.get("data/a/b");
  assert.equal(newest.status, null);
  assert.deepEqual(newest.data, { data: { n: 2 }, metadata: second.data });
  assert.deepEqual(await kv.value("a/b", 1), { n: 1 });
  for (const absent of [kv.value("a/b", 3), kv.value("a"), kv.value("a/b/c")]) {
    assert.deepEqual(await kv.refusal(absent), NOT_FOUND);
  }
});

test("small versions lie in the record: a write is one row, whichever version is read", async () => {
  const kv = await madeKv();
  for (let n = 1; n <= 10; n++) await kv.put("a", { n });
  assert.deepEqual(await kv.rows(), ["secrets/a"]);
  assert.deepEqual(await kv.value("a", 4), { n: 4 });
});

test("large versions have rows of their own, and their data comes from there", async () => {
  const kv = await madeKv();
  for (let n = 1; n <= 3; n++) await kv.put("a", { n, LARGE });
  assert.equal((await kv.rows("versions/")).length, 3);
  for (let n = 1; n <= 3; n++) assert.deepEqual(await kv.value("a", n), { n, LARGE });
});

test("a version of middle size lies in the record while it is the newest", async () => {
  const kv = await madeKv();
  const middle = "x".repeat(4000);
  await kv.put("a", { n: 1, middle });
  assert.deepEqual(await kv.rows("versions/"), []);
  await kv.put("a", { n: 2, middle });
  assert.equal((await kv.rows("versions/")).length, 1);
  assert.deepEqual(await kv.value("a", 1), { n: 1, middle });
});

test("numbers keep their spelling, in the record and in a row", async () => {
  const kv = await madeKv();
  const text = '{"n":12345678901234567890.50,"list":[1.0]}';
  for (const size of [10, 20_000]) {
    const pad = "x".repeat(size);
    await kv.put("a", { ...readJson(Buffer.from(text)), pad });
    assert.equal(JSON.stringify(await kv.value("a")), `${text.slice(0, -1)},"pad":"${pad}"}`);
  }
});

test("cas must be the current version; 0 is for what has none; a refusal names both", async () => {
  const kv = await madeKv();
  const refused = async (cas: number) => (await kv.refusal(kv.put("a", {}, cas))).texts;
  const text = (cas: number, current: number) => [
    `check-and-set parameter did not match the current version: cas is ${cas}, the current version is ${current}`,
  ];
  assert.deepEqual(await refused(1), text(1, 0));
  assert.equal(await kv.put("a", {}, 0), 1);
  assert.deepEqual(await refused(0), text(0, 1));
  assert.equal(await kv.put("a", {}, 1), 2);
  assert.deepEqual(await refused(1), text(1, 2));
  assert.deepEqual(Object.keys((await kv.get("metadata/a")).data["versions"] as object), [
    "1",
    "2",
  ]);
});

test("of parallel writes with the same cas one wins", async () => {
  const kv = await madeKv();
  const tries = await Promise.allSettled(
    Array.from({ length: 16 }, (_, n) => kv.put("a", { n }, 0)),
  );
  assert.equal(tries.filter(({ status }) => status === "fulfilled").length, 1);
});

test("cas can be required, by the mount or by the secret", async () => {
  const kv = await madeKv();
  const text = (current: number) => [
    `check-and-set parameter required for this call: cas is missing, the current version is ${current}`,
  ];
  await kv.post("metadata/a", { cas_required: true });
  assert.deepEqual((await kv.refusal(kv.put("a", {}))).texts, text(0));
  await kv.put("a", {}, 0);
  assert.deepEqual((await kv.refusal(kv.put("a", {}))).texts, text(1));
  assert.equal(await kv.put("b", {}), 1);
  await kv.post("config", { cas_required: true });
  assert.deepEqual((await kv.refusal(kv.put("b", {}))).texts, text(1));
  const patch = kv.ask("PATCH", "data/b", { body: { data: {} } });
  assert.deepEqual((await kv.refusal(patch)).texts, text(1));
});

test("options and cas are told what they must be", async () => {
  const kv = await madeKv();
  for (const options of [[], "x", { cas: -1 }, { cas: "x" }, { cas: 1.5 }]) {
    const { texts } = await kv.refusal(kv.post("data/a", { data: {}, options }));
    assert.deepEqual(texts, [
      "options must be an object; its cas must be a whole number, at least 0",
    ]);
  }
  await kv.post("data/a", { data: {}, options: { cas: "0" } });
});

test("what is not kept any more is destroyed by the next write, its rows too", async () => {
  const kv = await madeKv();
  for (let n = 1; n <= 12; n++) await kv.put("a", { n, LARGE });
  assert.equal((await kv.rows("versions/")).length, 10);
  const { data } = await kv.get("metadata/a");
  assert.equal(data["oldest_version"], 3);
  assert.equal(data["current_version"], 12);
  assert.deepEqual(await kv.refusal(kv.value("a", 2)), NOT_FOUND);
  await kv.post("metadata/a", { max_versions: 2 });
  assert.equal((await kv.rows("versions/")).length, 10);
  await kv.put("a", { n: 13, LARGE });
  assert.equal((await kv.rows("versions/")).length, 2);
  assert.deepEqual(await kv.value("a", 12), { n: 12, LARGE });
  assert.deepEqual(await kv.refusal(kv.value("a", 11)), NOT_FOUND);
});

test("the mount says how many versions are kept where the secret does not", async () => {
  const kv = await madeKv();
  await kv.post("config", { max_versions: 3 });
  await kv.post("metadata/b", { max_versions: 1 });
  for (let n = 1; n <= 5; n++) {
    await kv.put("a", { n });
    await kv.put("b", { n });
  }
  assert.equal((await kv.get("metadata/a")).data["oldest_version"], 3);
  assert.equal((await kv.get("metadata/b")).data["oldest_version"], 5);
});

test("delete hides the newest version, with 404 and its metadata; undelete brings it back", async () => {
  const kv = await madeKv();
  await kv.put("a", { n: 1 });
  await kv.put("a", { n: 2 });
  await kv.ask("DELETE", "data/a");
  const hidden = await kv.get("data/a");
  assert.equal(hidden.status, 404);
  assert.equal(hidden.data["data"], null);
  assert.deepEqual(hidden.data["metadata"], {
    version: 2,
    created_time: "2026-01-01T00:00:00Z",
    deletion_time: "2026-01-01T00:00:00Z",
    destroyed: false,
    custom_metadata: null,
  });
  assert.deepEqual(await kv.value("a", 1), { n: 1 });
  await kv.post("undelete/a", { versions: [2] });
  assert.deepEqual(await kv.value("a"), { n: 2 });
});

test("versions can be deleted, undeleted and destroyed by number, in whatever form they come", async () => {
  const kv = await madeKv();
  for (let n = 1; n <= 4; n++) await kv.put("a", { n, LARGE });
  await kv.post("delete/a", { versions: "1, 2" });
  assert.equal((await kv.get("data/a", { version: "1" })).status, 404);
  await kv.post("undelete/a", { versions: ["1"] });
  assert.deepEqual(await kv.value("a", 1), { n: 1, LARGE });
  await kv.post("destroy/a", { versions: [1, 3] });
  await kv.post("undelete/a", { versions: [1, 2, 3, 99] });
  for (const n of [1, 3]) {
    const gone = await kv.get("data/a", { version: String(n) });
    assert.equal(gone.status, 404);
    assert.equal((gone.data["metadata"] as { destroyed: boolean }).destroyed, true);
  }
  assert.deepEqual(await kv.value("a", 2), { n: 2, LARGE });
  assert.equal((await kv.rows("versions/")).length, 2);
});

test("the data of destroyed versions is in no row", async () => {
  const kv = await madeKv();
  await kv.put("a", { n: "needle" });
  await kv.put("a", { n: "other" });
  await kv.post("destroy/a", { versions: [1] });
  const bytes = await kv.storage.get("secrets/a", bytesCodec);
  const row = Buffer.from(bytes ?? "");
  assert.ok(row.includes("other"));
  assert.ok(!row.includes("needle"));
});

test("without versions there is nothing to delete by number", async () => {
  const kv = await madeKv();
  for (const versions of [undefined, null, [], ""]) {
    const { kind, texts } = await kv.refusal(kv.post("delete/a", { versions }));
    assert.equal(kind, "invalid");
    assert.match(texts[0] ?? "", /^versions is missing/);
  }
  for (const versions of [[0], ["x"], [1.5], [-1], {}]) {
    assert.equal((await kv.refusal(kv.post("destroy/a", { versions }))).kind, "invalid");
  }
});

test("deleting what is not there changes nothing and is no fault", async () => {
  const kv = await madeKv();
  await kv.ask("DELETE", "data/a");
  await kv.post("undelete/a", { versions: [1] });
  await kv.post("destroy/a", { versions: [1] });
  await kv.ask("DELETE", "metadata/a");
  assert.deepEqual(await kv.rows(), []);
});

test("delete_version_after deletes new versions in time, the shorter of mount and secret", async () => {
  const kv = await madeKv();
  await kv.post("config", { delete_version_after: "2h" });
  await kv.put("a", {});
  await kv.post("metadata/a", { delete_version_after: "1h" });
  await kv.put("a", {});
  await kv.post("metadata/a", { delete_version_after: "9h" });
  await kv.put("a", {});
  const { versions } = (await kv.get("metadata/a")).data as {
    versions: Record<string, { deletion_time: string }>;
  };
  assert.deepEqual(
    Object.values(versions).map(({ deletion_time }) => deletion_time),
    ["2026-01-01T02:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"],
  );
  kv.world.clock.pass(HOUR - 1n);
  assert.equal((await kv.get("data/a", { version: "2" })).status, null);
  kv.world.clock.pass(1n);
  assert.equal((await kv.get("data/a", { version: "2" })).status, 404);
  await kv.post("undelete/a", { versions: [2] });
  assert.equal((await kv.get("data/a", { version: "2" })).status, null);
});

test("patch merges into the newest version that is alive, and into nothing else", async () => {
  const kv = await madeKv();
  const patch = (data: object) => kv.ask("PATCH", "data/a", { body: { data: data as never } });
  assert.deepEqual(await kv.refusal(patch({ a: 1 })), NOT_FOUND);
  await kv.put("a", { keep: "x", drop: "y", deep: { one: 1, two: 2 }, LARGE });
  const { data } = await patch({ drop: null, deep: { two: 3 }, more: [1] });
  assert.equal(data["version"], 2);
  const merged = { keep: "x", deep: { one: 1, two: 3 }, LARGE, more: [1] };
  assert.deepEqual(await kv.value("a"), merged);
  await kv.ask("DELETE", "data/a");
  assert.deepEqual(await kv.refusal(patch({ a: 1 })), NOT_FOUND);
  const cas = { data: {}, options: { cas: 1 } };
  await kv.post("undelete/a", { versions: [2] });
  assert.equal((await kv.refusal(kv.ask("PATCH", "data/a", { body: cas }))).kind, "invalid");
});

test("subkeys show names down to a depth and no values", async () => {
  const kv = await madeKv();
  await kv.put("a", { s: "secret", list: ["x"], empty: {}, deep: { in: { most: 1 } } });
  const subkeys = async (query = {}) => (await kv.get("subkeys/a", query)).data["subkeys"];
  const all = { s: null, list: null, empty: null, deep: { in: { most: null } } };
  assert.deepEqual(await subkeys(), all);
  assert.deepEqual(await subkeys({ depth: "1" }), { ...all, deep: null });
  assert.deepEqual(await subkeys({ depth: "2" }), { ...all, deep: { in: null } });
  await kv.ask("DELETE", "data/a");
  const hidden = await kv.get("subkeys/a");
  assert.equal(hidden.status, 404);
  assert.equal(hidden.data["subkeys"], null);
});

test("metadata is made before, and stays beside, the versions", async () => {
  const kv = await madeKv();
  await kv.post("metadata/a", {
    max_versions: 5,
    delete_version_after: "1h30m",
    custom_metadata: { owner: "team" },
  });
  assert.equal(await kv.tested.exists("data/a"), false);
  assert.equal(await kv.tested.exists("metadata/a"), true);
  assert.deepEqual((await kv.get("metadata/a")).data, {
    current_version: 0,
    oldest_version: 0,
    max_versions: 5,
    cas_required: false,
    delete_version_after: "1h30m0s",
    created_time: "2026-01-01T00:00:00Z",
    updated_time: "2026-01-01T00:00:00Z",
    custom_metadata: { owner: "team" },
    versions: {},
  });
  assert.deepEqual(await kv.refusal(kv.value("a")), NOT_FOUND);
  await kv.put("a", { n: 1 });
  assert.equal(await kv.tested.exists("data/a"), true);
  const { data } = await kv.get("data/a");
  assert.deepEqual((data["metadata"] as never)["custom_metadata"], { owner: "team" });
  await kv.post("metadata/a", { cas_required: true });
  const after = (await kv.get("metadata/a")).data;
  assert.equal(after["max_versions"], 5);
  assert.equal(after["cas_required"], true);
  assert.deepEqual(after["custom_metadata"], { owner: "team" });
});

test("a patch of metadata merges notes, and needs a secret", async () => {
  const kv = await madeKv();
  const patch = (body: object) => kv.ask("PATCH", "metadata/a", { body: body as never });
  assert.deepEqual(await kv.refusal(patch({ max_versions: 3 })), NOT_FOUND);
  await kv.post("metadata/a", { custom_metadata: { one: "1", two: "2" } });
  await patch({ custom_metadata: { two: null, three: "3" }, max_versions: 3 });
  const { data } = await kv.get("metadata/a");
  assert.deepEqual(data["custom_metadata"], { one: "1", three: "3" });
  assert.equal(data["max_versions"], 3);
  await patch({ custom_metadata: null });
  assert.equal((await kv.get("metadata/a")).data["custom_metadata"], null);
});

test("null in a write of metadata leaves alone, and in a patch of it takes away", async () => {
  const kv = await madeKv();
  const set = {
    max_versions: 3,
    cas_required: true,
    delete_version_after: "1h0m0s",
    custom_metadata: { owner: "team" },
  };
  const nothing = Object.fromEntries(Object.keys(set).map((name) => [name, null]));
  const settings = async () => {
    const { data } = await kv.get("metadata/a");
    return Object.fromEntries(Object.keys(set).map((name) => [name, data[name]]));
  };
  await kv.post("metadata/a", set);
  await kv.post("metadata/a", nothing);
  assert.deepEqual(await settings(), set);
  await kv.ask("PATCH", "metadata/a", { body: nothing });
  assert.deepEqual(await settings(), {
    max_versions: 0,
    cas_required: false,
    delete_version_after: "0s",
    custom_metadata: null,
  });
});

test("custom metadata is short texts, and no more than 64", async () => {
  const kv = await madeKv();
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "v"]));
  await kv.post("metadata/a", { custom_metadata: many(64) });
  await kv.post("metadata/a", { custom_metadata: { ["n".repeat(128)]: "v".repeat(512) } });
  const wrong = [
    many(65),
    { a: 1 },
    { "": "v" },
    { ["n".repeat(129)]: "" },
    { a: "v".repeat(513) },
  ];
  for (const custom_metadata of [...wrong, { a: "é".repeat(257) }, [], "x"]) {
    const { texts } = await kv.refusal(kv.post("metadata/a", { custom_metadata }));
    assert.match(texts[0] ?? "", /^custom_metadata must be an object of strings: at most 64/);
  }
  await kv.post("metadata/a", { custom_metadata: many(64) });
  const patch = { body: { custom_metadata: { more: "v" } } };
  assert.equal((await kv.refusal(kv.ask("PATCH", "metadata/a", patch))).kind, "invalid");
});

test("deleting metadata takes everything, and the next write begins at version 1", async () => {
  const kv = await madeKv();
  for (let n = 1; n <= 3; n++) await kv.put("a", { n, LARGE });
  await kv.ask("DELETE", "data/a");
  await kv.ask("DELETE", "metadata/a");
  assert.deepEqual(await kv.rows(), []);
  assert.deepEqual(await kv.refusal(kv.get("metadata/a")), NOT_FOUND);
  assert.equal(await kv.tested.exists("data/a"), false);
  assert.equal(await kv.put("a", {}), 1);
});

test("a secret with hundreds of large versions goes in slices, all of it", async () => {
  const kv = await madeKv();
  await kv.post("metadata/a", { max_versions: 150 });
  for (let n = 1; n <= 150; n++) await kv.put("a", { n, pad: "x".repeat(3000) });
  assert.equal((await kv.rows("versions/")).length, 149);
  await kv.ask("DELETE", "metadata/a");
  assert.deepEqual(await kv.rows(), []);
});

test("a bound that is lowered by hundreds holds with the next write, rows and all", async () => {
  const kv = await madeKv();
  await kv.post("metadata/a", { max_versions: 150 });
  for (let n = 1; n <= 150; n++) await kv.put("a", { n, pad: "x".repeat(3000) });
  await kv.post("metadata/a", { max_versions: 5 });
  await kv.put("a", { n: 151, LARGE });
  assert.equal((await kv.get("metadata/a")).data["oldest_version"], 147);
  assert.equal((await kv.rows("versions/")).length, 5);
  assert.deepEqual(await kv.rows("doomed/"), []);
  assert.equal(((await kv.value("a", 147)) as { n: number }).n, 147);
});

test("hundreds of versions can be destroyed at once", async () => {
  const kv = await madeKv();
  await kv.post("metadata/a", { max_versions: 150 });
  for (let n = 1; n <= 150; n++) await kv.put("a", { n, pad: "x".repeat(3000) });
  const versions = Array.from({ length: 149 }, (_, n) => n + 1);
  await kv.post("destroy/a", { versions });
  assert.deepEqual(await kv.rows("versions/"), []);
  assert.equal(((await kv.value("a")) as { n: number }).n, 150);
});

test("what a crash left of a removed secret is swept by the periodic work", async () => {
  const kv = await madeKv();
  await kv.storage.write((tx) => {
    for (let n = 1; n <= 150; n++) tx.put(`versions/aa/${n}`, Buffer.from("x"), bytesCodec);
    tx.put("doomed/aa", Buffer.from('{"below":null}'), bytesCodec);
  });
  await kv.put("b", { LARGE });
  const { periodic } = kv.tested.type;
  await periodic?.(kv.tested.engine, new AbortController().signal);
  const rows = await kv.rows();
  assert.equal(rows.length, 2);
  assert.deepEqual(await kv.value("b"), { LARGE });
});

test("settings of the mount are kept, and told", async () => {
  const kv = await madeKv();
  assert.deepEqual((await kv.get("config")).data, {
    max_versions: 0,
    cas_required: false,
    delete_version_after: "0s",
    recycle_window: "168h0m0s",
  });
  await kv.post("config", { max_versions: 4 });
  await kv.post("config", { recycle_window: "24h" });
  const again = await madeKv({ storage: kv.storage, world: kv.world });
  assert.deepEqual((await again.get("config")).data, {
    max_versions: 4,
    cas_required: false,
    delete_version_after: "0s",
    recycle_window: "24h0m0s",
  });
});

test("settings that somebody else has changed hold from then on", async () => {
  const kv = await madeKv();
  const other = await madeKv({ storage: kv.storage, world: kv.world });
  await other.post("config", { max_versions: 1 });
  kv.tested.type.invalidate?.(kv.tested.engine, ["config"]);
  await kv.world.timers.turn();
  assert.equal((await kv.get("config")).data["max_versions"], 1);
});
