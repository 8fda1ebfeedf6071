import assert from "node:assert/strict";
import test from "node:test";
import { NO_PATHS, type PathSet, SpecialPaths } from "./special-paths.ts";

const special = new SpecialPaths({
  root: ["config", "/root/*", "keys/+/rotate", "half*"],
  unauthenticated: ["login", "open/*", "+/public/*", "config", "users/"],
  localStorage: ["here/*", "exact"],
});

const paths: readonly [path: string, set: PathSet][] = [
  ["config", "sudo"], // said to be both
  ["config/", "ordinary"],
  ["config/x", "ordinary"],
  ["root", "ordinary"],
  ["root/", "sudo"],
  ["root/a/b", "sudo"],
  ["keys/a/rotate", "sudo"],
  ["keys/a/b/rotate", "ordinary"],
  ["keys//rotate", "ordinary"],
  ["halfway/there", "sudo"],
  ["half", "sudo"],
  ["login", "open"],
  ["login/", "ordinary"],
  ["logins", "ordinary"],
  ["open/", "open"],
  ["open/a", "open"],
  ["a/public/", "open"],
  ["a/public/b/c", "open"],
  ["a/b/public/c", "ordinary"],
  ["users", "ordinary"],
  ["users/", "open"],
  ["", "ordinary"],
];
for (const [path, set] of paths) {
  test(`${path || "the top"} is ${set}`, () => {
    assert.equal(special.sort(path), set);
    assert.equal(SpecialPaths.fromJson(special.toJson()).sort(path), set);
  });
}

test("keys of this cluster alone are told by the same rules", () => {
  assert.deepEqual(
    ["here/a", "here", "exact", "exact/a"].map((key) => special.isLocal(key)),
    [true, false, true, false],
  );
  assert.equal(new SpecialPaths(NO_PATHS).isLocal("a"), false);
});

test("of one that was never seen nothing is open", () => {
  assert.equal(SpecialPaths.fromJson(null).sort("login"), "ordinary");
  assert.equal(SpecialPaths.fromJson({ unauthenticated: [1, null] }).sort("login"), "ordinary");
});
