import assert from "node:assert/strict";
import test from "node:test";
import { needsNode } from "./browser.ts";
import { read } from "./tree.ts";

test("what browsers load: the check finds what was planted and nothing else", () => {
  const house: Readonly<Record<string, string>> = {
    "client/sdk.ts": 'import { a } from "./a.ts";\nimport type { B } from "node:net";',
    "client/a.ts": 'export { c } from "@holdfast/shared/text/c";',
    "shared/text/c.ts": "const bytes = text.Buffer; // Buffer",
  };
  const found = (more: Readonly<Record<string, string>>) => {
    const all = { ...house, ...more };
    return needsNode("client/sdk.ts", (path) => all[path] ?? assert.fail(path));
  };
  assert.deepEqual(found({}), { files: Object.keys(house), problems: [] });
  for (const source of [
    'import { join } from "node:path";',
    'const fs = await import("node:fs");',
    'import { x } from "some-package";',
    "const a = await import(name);",
    "const b = Buffer.alloc(3);",
    'const home = process.env["HOME"];',
  ]) {
    const { problems } = found({ "shared/text/c.ts": source });
    assert.equal(problems.length, 1, [source, ...problems].join("\n"));
  }
});

test("nothing that can be reached from @holdfast/client needs Node", () => {
  const { files: reached, problems } = needsNode("client/sdk.ts", read);
  assert.deepEqual(problems, []);
  assert.ok(reached.includes("client/api/kv.ts") && reached.includes("shared/failure.ts"));
  const { exports } = JSON.parse(read("client/package.json")) as {
    exports: Record<string, string>;
  };
  assert.equal(exports["."], "./sdk.ts");
});
