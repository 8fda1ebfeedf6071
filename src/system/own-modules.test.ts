import assert from "node:assert/strict";
import test from "node:test";
import { besideParent, listedModules } from "./own-modules.ts";

const PARENT = import.meta.url;

test("what workspaces list is where the runtime finds it, and what they do not list is not ours to say", () => {
  const listed = listedModules();
  assert.ok(listed.size > 50);
  for (const [specifier, url] of listed)
    assert.equal(url, import.meta.resolve(specifier), specifier);
  for (const name of [
    "@holdfast/client",
    "@holdfast/plugin-sdk/testing",
    "@holdfast/shared/failure",
  ]) {
    assert.ok(listed.has(name), name);
  }
  assert.ok(!listed.has("@holdfast/shared/test-vectors"));
  assert.ok(![...listed.keys()].some((name) => name.includes("*")));
});

test("a path is one beside the importer; installed packages and other files are the runtime's to find", () => {
  for (const specifier of ["../main.ts", "../../shared/failure.ts", "./clock.ts"]) {
    assert.equal(besideParent(specifier, PARENT), import.meta.resolve(specifier));
  }
  const installed = new URL("../../node_modules/yaml/dist/index.js", PARENT).href;
  assert.equal(besideParent("./clock.ts", installed), undefined);
  assert.equal(besideParent("./clock.ts", "file:///elsewhere/a.ts"), undefined);
  assert.equal(besideParent("./clock.ts", undefined), undefined);
  assert.equal(besideParent("./data.json", PARENT), undefined);
  assert.equal(besideParent("node:fs", PARENT), undefined);
});
