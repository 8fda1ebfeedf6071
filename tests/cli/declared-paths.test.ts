// Commands name paths of the API; each must be one that is declared, so that a renamed endpoint is found
// here and not by a user.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { everyEndpoint } from "../../src/surface.ts";

const root = join(import.meta.dirname, "..", "..");
// Asked for where the server has them; token-check.ts goes on without.
const NOT_YET = ["auth/token/lookup-self", "sys/internal/ui/resultant-acl"];

function isDeclared(path: string): boolean {
  const declared = everyEndpoint.map((endpoint) => endpoint.path.slice(1));
  return declared.some((one) => one === path || one.replace(/:[a-z_]+\+?$/, "") === path);
}

test("every path that a command asks for is declared", () => {
  const sources = globSync("src/cli/**/*.ts", { cwd: root }).filter(
    (name) => !name.endsWith(".test.ts"),
  );
  const asked = sources.flatMap((name) =>
    Array.from(
      readFileSync(join(root, name), "utf8").matchAll(
        /(?:request\(\s*"[A-Z]+",\s*|(?:ATTEMPT|target) = )["`]([a-z][a-z/-]+)/g,
      ),
      ([, path = ""]) => [name, path] as const,
    ),
  );
  assert.ok(asked.length > 20, "the pattern finds them");
  for (const [name, path] of asked) {
    assert.ok(isDeclared(path) || NOT_YET.includes(path), `${name}: ${path}`);
  }
});
