import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { documented, exactVersions, lockfile } from "./packages.ts";
import { read, WORKSPACES } from "./tree.ts";

test("packages: the checks find what was planted and nothing else", () => {
  const versions = ["^1.0.0", "~1.0.0", "latest", "*", "file:../a", "git+ssh://a", "1.x", "a/b#c"];
  for (const version of versions) {
    for (const group of ["dependencies", "devDependencies", "optionalDependencies"]) {
      const found = exactVersions("p", JSON.stringify({ [group]: { a: version } }));
      assert.equal(found.length, 1, version);
    }
  }
  assert.deepEqual(exactVersions("p", '{"dependencies":{"a":"1.2.3","b":"1.2.3-rc.1"}}'), []);

  const integrity = `sha512-${"A".repeat(86)}==`;
  const good = { version: "1.0.0", integrity, resolved: "https://registry.npmjs.org/a/-/a.tgz" };
  const locked = (entry: object) =>
    lockfile("l", JSON.stringify({ packages: { "": { workspaces: ["w"] }, w: {}, a: entry } }));
  assert.deepEqual(locked(good), []);
  assert.equal(locked({ ...good, integrity: undefined }).length, 1);
  assert.equal(locked({ ...good, integrity: "sha1-AAAA" }).length, 1);
  assert.equal(locked({ ...good, hasInstallScript: true }).length, 1);
  assert.equal(locked({ ...good, link: true }).length, 1);
  assert.deepEqual(locked({ link: true, resolved: "w" }), [], "a workspace of the house");
  assert.ok(locked({ link: true, resolved: "elsewhere" }).length > 0);
  for (const resolved of ["git+ssh://git@a/b.git", "http://registry.npmjs.org/a", "file:../a"]) {
    assert.equal(locked({ ...good, resolved }).length, 1, resolved);
  }

  assert.equal(documented('{"dependencies":{"a":"1.0.0"}}', "d", "about a and `b`").length, 1);
  assert.deepEqual(documented('{"dependencies":{"a":"1.0.0"}}', "d", "| `a` | because |"), []);
});

test("dependencies have exact versions, checksums, no install scripts, and a written reason", () => {
  assert.deepEqual(lockfile("package-lock.json", read("package-lock.json")), []);
  const page = "docs/dependencies.md";
  for (const workspace of ["", ...WORKSPACES]) {
    const path = join(workspace, "package.json");
    assert.deepEqual(exactVersions(path, read(path)), []);
    assert.deepEqual(documented(read(path), page, read(page)), []);
  }
});
