import assert from "node:assert/strict";
import { test } from "node:test";
import { samePaths } from "./same-paths.ts";

test("a socket that a plugin names lies in one of its folders, however the path is written", () => {
  const paths = samePaths({ own: "/run/x/own", ours: "/run/x/ours" });
  assert.equal(paths.fromPlugin("/run/x/own/plugin1"), "/run/x/own/plugin1");
  assert.equal(paths.fromPlugin("/run/x/own/./a/../plugin1"), "/run/x/own/plugin1");
  for (const path of [
    "/run/x/own/../../other/socket",
    "/run/x/own/..",
    "/run/x/own/",
    "/run/x/own",
    "/run/x/owner/socket",
    "run/x/own/socket",
  ]) {
    assert.equal(paths.fromPlugin(path), null, path);
  }
});
