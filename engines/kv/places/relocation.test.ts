import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DENIED, type MadeKv, madeKv, NOT_FOUND } from "../../../tests/support/made/made-kv.ts";

const LARGE = "x".repeat(20 * 1024);
const ONE = { taken: 0, refused: 0 };

async function threeVersions(): Promise<MadeKv> {
  const kv = await madeKv();
  await kv.post("metadata/a", { custom_metadata: { owner: "team" } });
  for (let n = 1; n <= 3; n++) await kv.put("a", { n, LARGE });
  return kv;
}

/** Everything but these, each "capability path". */
function allBut(...denied: readonly string[]) {
  return (capability: string, path: string) => !denied.includes(`${capability} ${path}`);
}

test("move takes versions, metadata and settings along, in two rows", async () => {
  const kv = await threeVersions();
  const before = (await kv.get("metadata/a")).data;
  const versions = await kv.rows("versions/");
  assert.deepEqual((await kv.post("move", { from: "a", to: "b/c" })).data, { moved: 1, ...ONE });
  assert.deepEqual((await kv.get("metadata/b/c")).data, before);
  assert.deepEqual(await kv.rows("versions/"), versions);
  assert.deepEqual(await kv.rows("secrets/"), ["secrets/b/c"]);
  assert.deepEqual(await kv.value("b/c", 2), { n: 2, LARGE });
  assert.deepEqual(await kv.refusal(kv.get("metadata/a")), NOT_FOUND);
});

test("copy makes a second secret that shares nothing with the first", async () => {
  const kv = await threeVersions();
  assert.deepEqual((await kv.post("copy", { from: "a", to: "b" })).data, { copied: 1, ...ONE });
  await kv.ask("DELETE", "metadata/a");
  for (let n = 1; n <= 3; n++) assert.deepEqual(await kv.value("b", n), { n, LARGE });
  const { data } = await kv.get("metadata/b");
  assert.deepEqual(data["custom_metadata"], { owner: "team" });
  await kv.ask("DELETE", "metadata/b");
  assert.deepEqual(await kv.rows(), []);
});

test("neither touches what is at the target, unless cas names its version", async () => {
  const kv = await threeVersions();
  await kv.put("b", { old: true });
  for (const kind of ["copy", "move"]) {
    for (const body of [{}, { cas: 0 }]) {
      const { texts } = await kv.refusal(kv.post(kind, { from: "a", to: "b", ...body }));
      assert.match(texts[0] ?? "", /^there is a secret at the target/);
    }
    const { texts } = await kv.refusal(kv.post(kind, { from: "a", to: "b", cas: 2 }));
    assert.match(texts[0] ?? "", /cas is 2, the current version is 1$/);
  }
  assert.deepEqual(await kv.value("b"), { old: true });
  await kv.post("move", { from: "a", to: "b", cas: 1 });
  assert.deepEqual(await kv.value("b"), { n: 3, LARGE });
});

test("a source that is not there is not found, and cas needs a target", async () => {
  const kv = await madeKv();
  assert.deepEqual(await kv.refusal(kv.post("move", { from: "a", to: "b" })), NOT_FOUND);
  await kv.put("a", {});
  const { texts } = await kv.refusal(kv.post("copy", { from: "a", to: "b", cas: 4 }));
  assert.match(texts[0] ?? "", /cas is 4, the current version is 0$/);
});

test("copy needs read on the source and create on the target", async () => {
  const kv = await threeVersions();
  for (const denied of ["read engine/data/a", "create engine/data/b"]) {
    kv.may = allBut(denied);
    assert.deepEqual(await kv.refusal(kv.post("copy", { from: "a", to: "b" })), DENIED);
  }
  kv.may = allBut("delete engine/data/a", "update engine/data/b");
  await kv.post("copy", { from: "a", to: "b" });
});

test("a target that is replaced needs update and delete instead", async () => {
  const kv = await threeVersions();
  await kv.put("b", {});
  for (const denied of ["update engine/data/b", "delete engine/metadata/b"]) {
    kv.may = allBut(denied);
    assert.deepEqual(await kv.refusal(kv.post("copy", { from: "a", to: "b", cas: 1 })), DENIED);
  }
});

test("move needs delete on the source and create on the target, and no right to read", async () => {
  const kv = await threeVersions();
  for (const denied of ["delete engine/data/a", "create engine/data/b"]) {
    kv.may = allBut(denied);
    assert.deepEqual(await kv.refusal(kv.post("move", { from: "a", to: "b" })), DENIED);
  }
  kv.may = (capability) => capability !== "read";
  await kv.post("move", { from: "a", to: "b" });
});

test("move is refused where the target is open to the caller in a way the source is not", async () => {
  const kv = await threeVersions();
  for (const way of ["data", "metadata", "subkeys"]) {
    kv.may = allBut(`read engine/${way}/a`);
    assert.deepEqual(await kv.refusal(kv.post("move", { from: "a", to: "b" })), DENIED, way);
    kv.may = allBut(`read engine/${way}/a`, `read engine/${way}/b`);
    await kv.post("move", { from: "a", to: "b" });
    kv.may = () => true;
    await kv.post("move", { from: "b", to: "a" });
  }
});

test("whoever may not undelete at the source gets no deleted version along", async () => {
  const kv = await threeVersions();
  await kv.post("delete/a", { versions: [2] });
  kv.may = allBut("update engine/undelete/a");
  assert.deepEqual(await kv.refusal(kv.post("move", { from: "a", to: "b" })), DENIED);
  await kv.post("copy", { from: "a", to: "b" });
  await kv.post("undelete/b", { versions: [2] });
  const copied = await kv.get("data/b", { version: "2" });
  assert.equal(copied.status, 404);
  assert.equal((copied.data["metadata"] as { destroyed: boolean }).destroyed, true);
  assert.deepEqual(await kv.value("b", 3), { n: 3, LARGE });
  kv.may = () => true;
  await kv.post("copy", { from: "a", to: "c" });
  await kv.post("undelete/c", { versions: [2] });
  assert.deepEqual(await kv.value("c", 2), { n: 2, LARGE });
});

test("a move without create, delete and read in the right places changes nothing, whatever the rest", async () => {
  const facts = [
    "read engine/data/a",
    "read engine/data/b",
    "create engine/data/b",
    "delete engine/data/a",
    "read engine/metadata/a",
    "read engine/metadata/b",
  ];
  await fc.assert(
    fc.asyncProperty(fc.subarray(facts), fc.constantFrom("copy", "move"), async (held, kind) => {
      const kv = await madeKv();
      await kv.put("a", { n: 1 });
      const has = (fact: string) => held.includes(fact);
      kv.may = (capability, path) => has(`${capability} ${path}`);
      const moved = await kv.post(kind, { from: "a", to: "b" }).then(
        () => true,
        () => false,
      );
      // The rule itself: nothing is readable afterwards that was not before.
      const couldRead = has("read engine/data/a");
      if (moved && has("read engine/data/b")) assert.ok(couldRead);
      if (moved) assert.ok(has("create engine/data/b"));
      if (moved && kind === "move") assert.ok(has("delete engine/data/a"));
      const source = await kv.tested.engine.versioned.has("a");
      assert.equal(source, !moved || kind === "copy");
    }),
    { numRuns: 60 },
  );
});

test("with recursive all of a folder goes, and the secret of the same name stays", async () => {
  const kv = await madeKv();
  for (const path of ["a", "a/1", "a/b/2", "ab/3", "c/b/2"]) await kv.put(path, { path });
  const { data, warnings } = await kv.post("move", { from: "a/", to: "c", recursive: true });
  assert.deepEqual(data, { moved: 1, taken: 1, refused: 0 });
  assert.deepEqual(warnings, ["left alone, because there is a secret at the target: a/b/2"]);
  assert.deepEqual(await kv.keys("metadata", { scan: "true" }), [
    "a",
    "a/b/2",
    "ab/3",
    "c/1",
    "c/b/2",
  ]);
  assert.deepEqual(await kv.value("c/1"), { path: "a/1" });
});

test("of a folder only what the caller may list and move is moved", async () => {
  const kv = await madeKv();
  for (const path of ["a/1", "a/2", "a/closed/3"]) await kv.put(path, {});
  kv.may = allBut("delete engine/data/a/2", "list engine/metadata/a/closed/");
  const { data, warnings } = await kv.post("move", { from: "a", to: "b", recursive: true });
  assert.deepEqual(data, { moved: 1, taken: 0, refused: 1 });
  assert.deepEqual(warnings, ["left alone, because you have no right to it: a/2"]);
  kv.may = () => true;
  assert.deepEqual(await kv.keys("metadata", { scan: "true" }), ["a/2", "a/closed/3", "b/1"]);
});

test("a folder that the caller may not list is not moved at all", async () => {
  const kv = await madeKv();
  await kv.put("a/1", {});
  kv.may = allBut("list engine/metadata/a/");
  const moving = kv.post("move", { from: "a", to: "b", recursive: true });
  assert.deepEqual(await kv.refusal(moving), DENIED);
});

test("a large folder is copied in several calls", async () => {
  const kv = await madeKv();
  await kv.storage.write(() => {});
  await Promise.all(Array.from({ length: 1001 }, (_, n) => kv.put(`a/${n}`, { n })));
  const first = await kv.post("copy", { from: "a", to: "b", recursive: true });
  assert.equal(first.data["copied"], 1000);
  const after = first.data["next"] ?? null;
  const second = await kv.post("copy", { from: "a", to: "b", recursive: true, after });
  assert.deepEqual(second.data, { copied: 1, taken: 0, refused: 0 });
});

test("places that make no sense are refused", async () => {
  const kv = await madeKv();
  await kv.put("a/b", {});
  const bodies = [
    { from: "a/b", to: "a/b" },
    { from: "a", to: "a/b", recursive: true },
    { from: "a/b", to: "a", recursive: true },
    { from: "a", to: "a", recursive: true },
    { from: "a", to: "b", recursive: true, cas: 1 },
    { from: "", to: "b" },
    { from: "a//b", to: "b" },
    { from: "a/../b", to: "b" },
    { from: "a/b", to: "x*" },
    { from: "a/b", to: "\ud800" },
    { from: "a/b", to: "x/".repeat(40) },
    { from: "a/b", to: `${"x".repeat(200)}/`.repeat(6) },
  ];
  for (const body of bodies) {
    assert.equal((await kv.refusal(kv.post("copy", body))).kind, "invalid", JSON.stringify(body));
  }
});

test("what is written meanwhile is judged too, and does not slip along", async () => {
  for (const kind of ["copy", "move"]) {
    const kv = await madeKv();
    await kv.put("a", { good: true });
    const seen: unknown[] = [];
    const slipped: Promise<unknown>[] = [];
    kv.may = (capability, path, body) => {
      if (capability !== "create" || path !== "engine/data/b") return true;
      const data = body?.["data"];
      seen.push(data);
      if (slipped.length === 0) slipped.push(kv.put("a", { bad: true }));
      return JSON.stringify(data) !== JSON.stringify({ bad: true });
    };
    assert.deepEqual(await kv.refusal(kv.post(kind, { from: "a", to: "b" })), DENIED);
    await Promise.all(slipped);
    assert.deepEqual(seen, [{ good: true }, { good: true }, { bad: true }]);
    assert.deepEqual(await kv.rows("secrets/"), ["secrets/a"]);
  }
});

test("a source that changes each time it is looked at is told to be tried again", async () => {
  const kv = await madeKv();
  await kv.put("a", {});
  const writes: Promise<unknown>[] = [];
  kv.may = (capability, path) => {
    if (capability === "create" && path === "engine/data/b") writes.push(kv.put("a", {}));
    return true;
  };
  const { texts } = await kv.refusal(kv.post("copy", { from: "a", to: "b" }));
  await Promise.all(writes);
  assert.match(texts[0] ?? "", /try again$/);
  assert.deepEqual(await kv.rows("secrets/"), ["secrets/a"]);
});
