import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { secretComparison, targetReading } from "./request-target.ts";

const root = join(import.meta.dirname, "../..");
const files = globSync("{src,shared,plugin-sdk,client,engines}/**/*.ts", {
  cwd: root,
  exclude: ["**/node_modules/**"],
}).toSorted();

function found(check: (path: string, source: string) => string[]): string[] {
  return files.flatMap((path) => check(path, readFileSync(join(root, path), "utf8")));
}

test("T-A05: the check finds a second reading of a path, and nothing else", () => {
  for (const [path, source] of [
    ["src/core/a.ts", "const url = new URL(incoming.target, base);"],
    ["src/http/a.ts", "const url = URL.parse(target);"],
    ["src/endpoint/a.ts", "if (URL.canParse(path)) go();"],
    ["src/tokens/a.ts", "const name = decodeURIComponent(segment);"],
    ["src/http/a.ts", "const path = decodeURI(target);"],
    ["shared/endpoint/router.ts", "const path = CanonicalPath.parse(raw);"],
    ["src/quotas/quotas.ts", "const { path } = splitTarget(raw);"],
    ["src/audit/a.ts", "const query = new URLSearchParams(text);"],
    ["src/endpoint/a.ts", "const query = parseQuery(text);"],
    ["src/core/a.ts", "const text = unescape(raw);"],
  ] as const) {
    assert.equal(targetReading(path, source).length, 1, source);
  }
  for (const [path, source] of [
    ["src/core/a.ts", "// new URL(target) would resolve dots"],
    ["src/core/finding.ts", "CanonicalPath.parse(splitTarget(raw).path); parseQuery(raw);"],
    ["shared/endpoint/router.ts", "const path = CanonicalPath.of(segments);"],
    ["client/server-address.ts", "const url = new URL(text);"],
    ["src/core/a.test.ts", "new URL(server.url);"],
    [
      "shared/text/query.ts",
      "export function parseQuery(raw: string) { decodeURIComponent(raw); }",
    ],
  ] as const) {
    assert.deepEqual(targetReading(path, source), [], source);
  }
});

test("T-A05: a request's path and query are read in one place", () => {
  assert.ok(files.includes("src/core/finding.ts"));
  assert.deepEqual(found(targetReading), []);
});

test("T-B21: the check finds secrets that are compared with an operator, and nothing else", () => {
  for (const source of [
    "if (token.secret.reveal() === given) return true;",
    "return given !== found.secret.reveal();",
    "if (a.reveal() == b) go();",
  ]) {
    assert.equal(secretComparison("src/tokens/a.ts", source).length, 1, source);
  }
  for (const source of [
    'if (typed === null || typed.reveal() === "") throw none();',
    "return sameBytes(utf8(a.reveal()), b);",
    "if (hashOf(token.reveal()) !== hash) return null;",
    "const given = secret.reveal();",
  ]) {
    assert.deepEqual(secretComparison("src/tokens/a.ts", source), [], source);
  }
});

test("T-B21: no secret is compared with an operator", () => {
  assert.deepEqual(found(secretComparison), []);
});
