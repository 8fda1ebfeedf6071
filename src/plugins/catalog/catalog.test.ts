import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { Catalog } from "./catalog.ts";
import type { KeptEntry } from "./rows.ts";
import { Runtimes } from "./runtimes.ts";

async function opened() {
  const { barrier } = await madeBarrier();
  const make = () => {
    const view = barrier.view("shared/plugins/");
    const runtimes = new Runtimes(view);
    return { view, runtimes, catalog: new Catalog(view, runtimes) };
  };
  return { ...make(), make };
}

const entry: KeptEntry = {
  type: "secret",
  name: "mine",
  version: "",
  sha256: "ab".repeat(32),
  command: "mine",
  args: [],
  env: [],
  ociImage: "",
  runtime: "",
  network: "none",
  reportedVersion: "",
  declared: false,
};
const runtime = {
  name: "box",
  ociRuntime: "runc",
  rootless: false,
  cgroupParent: "",
  cpuNanos: 0,
  memoryBytes: 0,
};
const inBox: KeptEntry = { ...entry, ociImage: "mine", runtime: "box" };

async function refusal(work: () => unknown): Promise<Failure> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error;
  }
  assert.fail("nothing was refused");
}

test("chosen is the version that was asked for, else the one without, else the newest", async () => {
  const { catalog } = await opened();
  const chosen = (version: string) =>
    catalog.choose("secret", "mine", version)?.program.version ?? null;
  assert.equal(chosen(""), null);
  for (const version of ["v1.9.0", "v1.10.0", "v1.10.0-rc.1"]) {
    await catalog.register({ ...entry, version });
  }
  assert.equal(chosen(""), "v1.10.0");
  assert.equal(chosen("v1.9.0"), "v1.9.0");
  assert.equal(chosen("v1.8.0"), null);
  assert.equal(chosen("v1.9.0+builtin"), null);
  await catalog.register(entry);
  assert.equal(chosen(""), "");
  assert.equal(catalog.choose("auth", "mine", ""), null);
  assert.equal(catalog.choose("secret", "../mine", ""), null);
});

test("a pin goes before whatever is asked for, and its version stays until it is gone", async () => {
  const { catalog } = await opened();
  await catalog.register({ ...entry, version: "v1.0.0" });
  await catalog.register({ ...entry, version: "v2.0.0" });
  await catalog.pin("secret", "mine", "1.0");
  for (const wanted of ["", "v2.0.0"]) {
    const chosen = catalog.choose("secret", "mine", wanted);
    assert.equal(chosen?.program.version, "v1.0.0");
    assert.equal(chosen?.isPinned, true);
  }
  assert.deepEqual(catalog.pins(), [{ type: "secret", name: "mine", version: "v1.0.0" }]);
  const id = { type: "secret", name: "mine", version: "v1.0.0" } as const;
  assert.equal((await refusal(() => catalog.delete(id))).message, "cannot delete a pinned version");
  await catalog.unpin("secret", "mine");
  await catalog.unpin("secret", "mine");
  await catalog.delete(id);
  assert.equal(catalog.choose("secret", "mine", "")?.isPinned, false);
  assert.equal(catalog.find(id), null);
});

test("only what is registered can be pinned, and no version that is built in or none", async () => {
  const { catalog } = await opened();
  await catalog.register(entry);
  const texts = ["v1.0.0", "", "v1.0.0+builtin", "x"].map(async (version) => {
    const { kind, texts } = await refusal(() => catalog.pin("secret", "mine", version));
    assert.equal(kind, "invalid");
    return texts.join();
  });
  assert.match(
    (await Promise.all(texts)).join("\n"),
    /not found.*\nversion must name.*\n.*built in.*\n.*not a valid/,
  );
  assert.deepEqual(catalog.pins(), []);
});

test("what is started has its runtime with it; an image without one has the usual one", async () => {
  const { catalog, runtimes } = await opened();
  await catalog.register(entry);
  assert.equal(catalog.choose("secret", "mine", "")?.program.container, null);
  await catalog.register({ ...inBox, runtime: "" });
  assert.equal(catalog.choose("secret", "mine", "")?.program.container?.ociRuntime, "");
  await runtimes.register(runtime);
  await catalog.register(inBox);
  assert.deepEqual(catalog.choose("secret", "mine", "")?.program.container, runtime);
  await runtimes.register({ ...runtime, memoryBytes: 2 ** 26 });
  assert.equal(catalog.choose("secret", "mine", "")?.program.container?.memoryBytes, 2 ** 26);
});

test("a runtime goes when the last plugin that needs it has gone, or needs another", async () => {
  const { catalog, runtimes } = await opened();
  await runtimes.register(runtime);
  await runtimes.register({ ...runtime, name: "other" });
  await catalog.register(inBox);
  await catalog.register({ ...inBox, version: "v1.0.0" });
  await catalog.register({ ...inBox, type: "auth", name: "a" });
  const refused = await refusal(() => runtimes.delete("box"));
  assert.equal(
    refused.message,
    'unable to delete "box" runtime. Registered plugins=[a mine] are referencing it.',
  );
  await catalog.register({ ...inBox, runtime: "other" });
  await catalog.register({ ...entry, version: "v1.0.0" });
  await catalog.delete({ type: "auth", name: "a", version: "" });
  await runtimes.delete("box");
  assert.equal(runtimes.find("box"), null);
  assert.equal((await refusal(() => runtimes.delete("box"))).kind, "not-found");
  const lost = await refusal(() => catalog.register({ ...inBox, version: "v3.0.0" }));
  assert.match(
    lost.texts.join(),
    /^specified plugin runtime "box", but failed to retrieve config: /,
  );
  assert.doesNotMatch(lost.message, /box/, "what is audited says nothing of it");
  assert.equal(catalog.find({ type: "secret", name: "mine", version: "v3.0.0" }), null);
});

test("T-H15: a runtime is deleted while a plugin that needs it is registered: never the one without the other", async () => {
  const { catalog, runtimes, view } = await opened();
  for (let round = 0; round < 1000; round++) {
    await runtimes.register(runtime);
    const works = [() => catalog.register(inBox), () => runtimes.delete("box")];
    if (round % 2 === 1) works.reverse();
    const results = await Promise.allSettled(works.map((work) => work()));
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    const needed = catalog.find(entry)?.runtime === "box";
    assert.equal(runtimes.find("box") !== null, needed);
    assert.equal(view.keys("runtime-uses/", { limit: 9 }).length, needed ? 1 : 0);
    await catalog.delete(entry);
    if (needed) await runtimes.delete("box");
  }
});

test("what the configuration has declared, it alone changes", async () => {
  const { catalog } = await opened();
  await catalog.register({ ...entry, declared: true }, "configuration");
  for (const work of [() => catalog.register(entry), () => catalog.delete(entry)]) {
    assert.equal((await refusal(work)).code, "plugin-declared");
  }
  await catalog.delete(entry, "configuration");
  await catalog.register(entry);
  assert.equal(catalog.entries().length, 1);
});

test("what is registered is there for another reader, who is told", async () => {
  const { catalog, make } = await opened();
  const other = make().catalog;
  let calls = 0;
  const stop = other.watch(() => calls++);
  await catalog.register(entry);
  assert.equal(other.entries()[0]?.name, "mine");
  assert.equal(calls, 1);
  stop();
  await catalog.delete(entry);
  assert.deepEqual([calls, other.entries()], [1, []]);
});

test("entries are by type, name and version, each type by itself", async () => {
  const { catalog } = await opened();
  await catalog.register({ ...entry, type: "auth", name: "b" });
  await catalog.register({ ...entry, version: "v1.10.0" });
  await catalog.register({ ...entry, version: "v1.9.0" });
  await catalog.register({ ...entry, name: "a-b" });
  await catalog.register({ ...entry, name: "a" });
  assert.deepEqual(
    catalog.entries().map(({ type, name, version }) => `${type} ${name} ${version}`.trim()),
    ["auth b", "secret a", "secret a-b", "secret mine v1.9.0", "secret mine v1.10.0"],
  );
  assert.deepEqual(
    catalog.entries(["auth"]).map(({ name }) => name),
    ["b"],
  );
});

test("T-H06: names of plugins and runtimes have one spelling, or are refused", async () => {
  const { catalog, runtimes } = await opened();
  const bad = [
    "",
    "A",
    "a/b",
    "../x",
    "a..b",
    "-a",
    ".a",
    "a b",
    "a;b",
    "$(a)",
    "a\n",
    "a\0",
    "ä",
    "a".repeat(129),
  ];
  for (const name of bad) {
    assert.equal((await refusal(() => catalog.register({ ...entry, name }))).kind, "invalid");
    if (name === "A") continue; // runtimes may
    assert.equal((await refusal(() => runtimes.register({ ...runtime, name }))).kind, "invalid");
  }
  assert.deepEqual([catalog.entries(), runtimes.list()], [[], []]);
});

test("there are at most a hundred versions of a plugin", async () => {
  const { catalog } = await opened();
  for (let at = 0; at < 100; at++) await catalog.register({ ...entry, version: `v${at}.0.0` });
  const refused = await refusal(() => catalog.register(entry));
  assert.match(refused.message, /^100 versions of the plugin are registered already/);
  await catalog.register({ ...entry, version: "v7.0.0", command: "other" });
});
