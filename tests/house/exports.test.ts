// What a workspace lets others import stands in its package.json, by name. An import of anything else fails, when
// types are checked and when it runs.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const root = join(import.meta.dirname, "../..");
const WORKSPACES = ["shared", "plugin-sdk", "client", "engines"];
/** Generated, a file for each room: the folder is exported and not each of them. */
const FOLDERS = ["client/api/*"];

function exportsOf(workspace: string): [name: string, file: string][] {
  const manifest = readFileSync(join(root, workspace, "package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { exports: Record<string, string> };
  return Object.entries(exports);
}

test("every workspace lists what may be imported of it, and it is there", () => {
  for (const workspace of WORKSPACES) {
    const listed = exportsOf(workspace);
    assert.ok(listed.length > 0, workspace);
    for (const [name, file] of listed) {
      if (FOLDERS.includes(join(workspace, name))) continue;
      assert.doesNotMatch(name, /\*/, `${workspace} exports a whole folder`);
      assert.ok(existsSync(join(root, workspace, file)), `${workspace}: ${file}`);
    }
  }
});

test("what is listed is found; an inside, planted for each workspace, is not", () => {
  const isExported = (name: string) => {
    try {
      return import.meta.resolve(name).startsWith("file:");
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      assert.equal(code, "ERR_PACKAGE_PATH_NOT_EXPORTED", name);
      return false;
    }
  };
  for (const name of ["shared/failure", "engines/kv/kv", "client", "client/api/kv"]) {
    assert.ok(isExported(`@holdfast/${name}`), name);
  }
  const insides = {
    shared: "json/json-scanner",
    "plugin-sdk": "testing/testing",
    client: "fetch-transport",
    engines: "kv/document",
  };
  for (const [workspace, inside] of Object.entries(insides)) {
    assert.ok(existsSync(join(root, workspace, `${inside}.ts`)), "there is such a file");
    assert.ok(!isExported(`@holdfast/${workspace}/${inside}`), `${workspace}/${inside}`);
  }
});
