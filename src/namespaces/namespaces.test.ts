import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { jsonCodec } from "@holdfast/shared/codec";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { madeNamespaces, refused, restarted } from "../../tests/support/made/made-namespaces.ts";
import { tamper } from "../../tests/support/stores/watched-engine.ts";
import type { Namespaces } from "./namespaces.ts";
import { closeRoom, openRoom } from "../../tests/support/jobs.ts";

const root = ROOT_NAMESPACE;

function ref(namespaces: Namespaces, path: string): NamespaceRef {
  const found = namespaces.named(path);
  assert.ok(found !== null, path);
  return found;
}

test("a namespace is there for the next request, with the index of the write that made it", async () => {
  const { namespaces, store } = await madeNamespaces();
  const made = await namespaces.write(root, "team", { owner: "ops" });
  assert.match(made.id, /^[a-z2-7]{8}$/);
  assert.match(made.uuid, /^[0-9a-f-]{36}$/);
  assert.equal(made.created, store.index);
  assert.deepEqual(ref(namespaces, "team"), { id: made.id, path: "team", created: made.created });
  assert.deepEqual(namespaces.read(root, "team"), made);
});

test("T-A09: created is the index of the creation, and no later write moves it", async () => {
  const { namespaces, store } = await madeNamespaces();
  const { created } = await namespaces.write(root, "team");
  await namespaces.write(root, "team", { k: "v" });
  assert.ok(store.index > created);
  assert.equal(ref(namespaces, "team").created, created);
  assert.equal((await namespaces.write(root, "team/child")).created, store.index);
});

test("a parent must exist, by whichever way the child is named", async () => {
  const { namespaces } = await madeNamespaces();
  await assert.rejects(namespaces.write(root, "a/b"), refused("namespace-parent-missing"));
  await namespaces.write(root, "a");
  await namespaces.write(root, "a/b");
  await namespaces.write(ref(namespaces, "a"), "c");
  await namespaces.write(ref(namespaces, "a"), "b/d");
  assert.deepEqual(
    ["a", "a/b", "a/c", "a/b/d"].map((path) => ref(namespaces, path).path),
    ["a", "a/b", "a/c", "a/b/d"],
  );
  assert.equal(namespaces.read(ref(namespaces, "a"), "b/d").path, "a/b/d");
});

test("one that is withheld from this cluster is found by no path before its rows have gone, nor what is in it; by its id it is, for what is revoked meanwhile", async () => {
  const withheld = new Set<string>();
  const { namespaces } = await madeNamespaces({ isWithheld: (id) => withheld.has(id) });
  const { id } = await namespaces.write(root, "team");
  const below = await namespaces.write(root, "team/below");
  await namespaces.write(root, "other");
  for (const one of [id, below.id]) withheld.add(one);
  assert.equal(namespaces.named("team"), null);
  assert.equal(namespaces.named("team/below"), null);
  assert.equal(namespaces.resolve(root, ["team", "below", "kv"]).taken, 0);
  assert.throws(() => namespaces.read(root, "team"), refused("namespace-not-found"));
  assert.equal(namespaces.has(root, "team"), false);
  const { records } = namespaces.list(root, { limit: 10 });
  assert.deepEqual(
    records.map(({ path }) => path),
    ["other"],
  );
  assert.equal(namespaces.byId(id)?.path, "team");
  withheld.clear();
  assert.equal(namespaces.named("team/below")?.id, below.id);
});

test("of two simultaneous creations one creates and the other updates", async () => {
  const { namespaces } = await madeNamespaces();
  const [first, second] = await Promise.all([
    namespaces.write(root, "team", { by: "first" }),
    namespaces.write(root, "team", { by: "second" }),
  ]);
  assert.equal(first.id, second.id);
  assert.equal(first.created, second.created);
  assert.deepEqual(namespaces.read(root, "team").metadata, { by: "second" });
  assert.equal(namespaces.childrenOf(root).length, 1);
});

test("metadata is replaced when given and left alone when not", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "team", { a: "1", b: "2" });
  assert.deepEqual((await namespaces.write(root, "team")).metadata, { a: "1", b: "2" });
  assert.deepEqual((await namespaces.write(root, "team", { c: "3" })).metadata, { c: "3" });
  assert.deepEqual((await namespaces.write(root, "team", {})).metadata, {});
});

test("a patch merges, null removes, and the whole stays within the limits", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "team", { a: "1", b: "2" });
  const patched = await namespaces.patch(root, "team", { b: null, c: "3", d: null });
  assert.deepEqual(patched.metadata, { a: "1", c: "3" });
  assert.deepEqual((await namespaces.patch(root, "team", {})).metadata, { a: "1", c: "3" });
  const many = Object.fromEntries(Array.from({ length: 63 }, (_, i) => [`k${i}`, ""]));
  await assert.rejects(namespaces.patch(root, "team", many), refused("namespace-metadata"));
  assert.deepEqual(namespaces.read(root, "team").metadata, { a: "1", c: "3" });
  assert.deepEqual((await namespaces.patch(root, "team", null)).metadata, {});
  await assert.rejects(namespaces.patch(root, "other", {}), refused("namespace-not-found"));
});

test("two patches at once both count", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "team");
  await Promise.all([
    namespaces.patch(root, "team", { a: "1" }),
    namespaces.patch(root, "team", { b: "2" }),
  ]);
  assert.deepEqual(namespaces.read(root, "team").metadata, { a: "1", b: "2" });
});

test("metadata has limits in number, lengths and all together", async () => {
  const { namespaces } = await madeNamespaces();
  const of = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
  const good = [of(64, "x".repeat(100)), { ["k".repeat(128)]: "v".repeat(512) }];
  for (const metadata of good) await namespaces.write(root, "team", metadata);
  const bad = [of(65, ""), of(64, "x".repeat(200)), { "": "v" }];
  for (const metadata of [...bad, { ["k".repeat(129)]: "" }, { k: "v".repeat(513) }]) {
    assert.throws(() => namespaces.write(root, "team", metadata), refused("namespace-metadata"));
  }
  assert.deepEqual(namespaces.read(root, "team").metadata, good[1]);
});

test("a name that differs from another in case only is refused", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "Team");
  await assert.rejects(namespaces.write(root, "team"), refused("namespace-other-case"));
  assert.throws(() => namespaces.read(root, "team"), refused("namespace-not-found"));
  await assert.rejects(namespaces.patch(root, "team", {}), refused("namespace-not-found"));
  await assert.rejects(namespaces.write(root, "team/x"), refused("namespace-parent-missing"));
  assert.equal(await namespaces.delete(root, "team"), null);
  assert.equal(namespaces.has(root, "team"), false);
  assert.equal(namespaces.has(root, "Team"), true);
});

test("T-D05: nesting and length of paths have an end", async () => {
  const { namespaces } = await madeNamespaces();
  let path = "n0";
  for (let depth = 1; depth <= 16; depth++) {
    await namespaces.write(root, path);
    path += `/n${depth}`;
  }
  await assert.rejects(namespaces.write(root, path), refused("namespace-too-deep"));
  let long = "x".repeat(128);
  for (let i = 0; i < 3; i++) {
    await namespaces.write(root, long);
    long += `/${"x".repeat(127)}`;
  }
  const third = ref(namespaces, long.slice(0, -128));
  await namespaces.write(third, "y".repeat(127)); // 512 in all
  await assert.rejects(
    namespaces.write(third, "z".repeat(128)),
    refused("namespace-path-too-long"),
  );
});

test("the number of namespaces has an end", async () => {
  const { namespaces } = await madeNamespaces({ maxNamespaces: 3 });
  for (const name of ["a", "b", "c"]) await namespaces.write(root, name);
  await assert.rejects(namespaces.write(root, "d"), refused("namespaces-too-many"));
  await namespaces.write(root, "a", { still: "updated" });
});

test("a path that something else has taken is refused, and namespaces tell theirs", async () => {
  const codec = jsonCodec<string>();
  const made = await madeNamespaces(({ barrier }) => ({
    pathsTaken: [
      {
        takenBy: (tx, { id }, name) =>
          tx.on(barrier.view("shared/ns/")).get(`${id}/mounts/${name}`, codec),
      },
    ],
  }));
  const { namespaces, barrier } = made;
  const spaces = barrier.view("shared/ns/");
  await spaces.write((tx) => tx.put("root/mounts/kv", "the mount kv/", codec));
  await assert.rejects(namespaces.write(root, "kv"), refused("namespace-path-taken"));
  const other = await namespaces.write(root, "other");
  await namespaces.write(root, "other/kv"); // another namespace's mount is none of its business
  const [taken, free] = await spaces.write((tx) => [
    namespaces.takenBy(tx, root, "other"),
    namespaces.takenBy(tx, other, "other"),
  ]);
  assert.deepEqual([taken, free], ["the namespace other/", null]);
});

test("children are listed in the order of their names, page by page", async () => {
  const { namespaces } = await madeNamespaces();
  for (const name of ["b", "a", "C", "d", "a/x"]) await namespaces.write(root, name);
  assert.deepEqual(
    namespaces.childrenOf(root).map(({ path }) => path),
    ["a", "b", "C", "d"],
  );
  const first = namespaces.list(root, { limit: 3 });
  assert.deepEqual(
    first.records.map(({ path }) => path),
    ["a", "b", "C"],
  );
  assert.equal(first.next, "C");
  const second = namespaces.list(root, { limit: 3, after: "C" });
  assert.deepEqual(
    second.records.map(({ path }) => path),
    ["d"],
  );
  assert.equal(second.next, null);
  assert.deepEqual(namespaces.list(ref(namespaces, "d"), { limit: 3 }), {
    records: [],
    next: null,
  });
});

test("a restart finds the same tree", async () => {
  const before = await madeNamespaces();
  await before.namespaces.write(root, "a", { k: "v" });
  await before.namespaces.write(root, "a/b");
  const after = await restarted(before);
  for (const path of ["a", "a/b"]) {
    assert.deepEqual(after.namespaces.named(path), before.namespaces.named(path));
    assert.deepEqual(after.namespaces.read(root, path), before.namespaces.read(root, path));
  }
});

test("nothing is known before opening and after closing", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "a");
  await closeRoom(namespaces);
  assert.equal(namespaces.named("a"), null);
  openRoom(namespaces);
  assert.equal(namespaces.named("a")?.path, "a");
});

test("a record that is damaged hides its namespace and nothing else", async () => {
  const before = await madeNamespaces();
  await before.namespaces.write(root, "a");
  await before.namespaces.write(root, "b");
  const key = "shared/namespaces/tree/root/a";
  await tamper(before.engine.inner, { data: [{ key, value: Buffer.alloc(64, 1) }] });
  const { namespaces, world } = await restarted(before);
  assert.equal(namespaces.named("a"), null);
  assert.equal(namespaces.named("b")?.path, "b");
  assert.ok(world.lines.some((line) => line.includes("a namespace cannot be read")));
});

test("thousands of namespaces are loaded at a start", async () => {
  const before = await madeNamespaces();
  const names = Array.from({ length: 3000 }, (_, i) => `n${i}`);
  await Promise.all(names.map((name) => before.namespaces.write(root, name)));
  const { namespaces } = await restarted(before);
  assert.equal(namespaces.childrenOf(root).length, 3000);
  for (const name of names) assert.equal(namespaces.named(name)?.path, name);
  assert.equal(new Set(namespaces.childrenOf(root).map(({ id }) => id)).size, 3000);
});

test("whatever is written, patched and deleted at once, memory is what a restart finds", async () => {
  const path = fc
    .array(fc.constantFrom("a", "b", "B"), { minLength: 1, maxLength: 3 })
    .map((names) => names.join("/"));
  const step = fc.record({ kind: fc.constantFrom("write", "write", "patch", "delete"), path });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.boolean(), async (steps, together) => {
      const made = await madeNamespaces();
      const { namespaces } = made;
      const run = ({ kind, path: at }: (typeof steps)[number]): Promise<unknown> => {
        if (kind === "write") return namespaces.write(root, at, { at });
        if (kind === "patch") return namespaces.patch(root, at, { patched: "yes" });
        return namespaces.delete(root, at);
      };
      if (together) await Promise.allSettled(steps.map(run));
      else for (const each of steps) await Promise.allSettled([run(each)]);
      await namespaces.idle();
      const again = await restarted(made);
      const all = (room: Namespaces, at: NamespaceRef): unknown[] =>
        room
          .childrenOf(at)
          .flatMap((child) => [child, room.read(root, child.path), ...all(room, child)]);
      assert.deepEqual(all(again.namespaces, root), all(namespaces, root));
    }),
    { numRuns: 60 },
  );
});
