// The rules of the house, checked on every file; and each check tried on a planted violation first,
// because a check that finds nothing may also be one that looks at nothing.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { errorsPage, productFiles, readErrorCodes } from "../scripts/error-codes.ts";
import { STATUS } from "../src/http/status.ts";
import { needsNode } from "./house/browser.ts";
import { handTypedRequests } from "./house/command-paths.ts";
import { ROOMS } from "../src/server/rooms.ts";
import {
  crowded,
  depth,
  fileName,
  openingComment,
  dialect,
  switchedOffTests,
  unknownFiles,
} from "./house/files.ts";
import { casesApart, casesListed, casesNamed } from "./house/cases.ts";
import { documented, exactVersions, lockfile, readManifest } from "./house/packages.ts";
import { strayPointers } from "./house/pointers.ts";
import { roomsApart } from "./house/room-list.ts";
import { engineView, importDirection, type Packages } from "./house/rooms.ts";
import { importsOf, readCode } from "./house/source.ts";
import { pooledMemory, worldUse } from "./house/world.ts";

const root = join(import.meta.dirname, "..");

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function walk(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

const WORKSPACES = ["shared", "plugin-sdk", "client", "engines"];
const files = ["src", ...WORKSPACES, "sim", "soak", "bench", "tests"].flatMap(walk);
const scripts = files.filter((path) => path.endsWith(".ts"));
const manifestOf = (workspace: string) => readManifest(read(join(workspace, "package.json")));
const packages: Packages = (workspace) => ({
  shipped: Object.keys(manifestOf(workspace).dependencies),
  forTests: Object.keys(manifestOf("").devDependencies), // tests run from the whole house
});

type Check = (path: string, source: string) => string[];
type Case = readonly [path: string, source: string];

interface Rule {
  readonly check: Check;
  /** Each must be found, exactly once. */
  readonly violations: readonly Case[];
  readonly innocent: readonly Case[];
  /** Where the rule is enforced; the checks narrow it further by path. */
  readonly on: readonly string[];
}

const rules: Readonly<Record<string, Rule>> = {
  "imports point one way": {
    check: (path, source) =>
      importDirection(path, source, (workspace) => ({
        shipped: workspace === "" ? ["openpgp"] : [],
        forTests: ["fast-check"],
      })),
    violations: [
      ["src/base/a.ts", 'import { b } from "../crypto/b.ts";'],
      ["src/base/a.ts", 'import type { B } from "../storage/b.ts";'],
      ["src/crypto/a.ts", 'export * from "../storage/b.ts";'],
      ["src/storage/a.ts", 'import {\n  b, // a comment\n} from "../barrier/b.ts";'],
      ["src/storage/engines/a.ts", 'export { b } from "../../barrier/b.ts";'],
      ["src/barrier/a.ts", 'const b = await import("../seal/b.ts");'],
      ["src/tokens/a.ts", 'import { Policy } from "../policies/policy.ts";'],
      ["src/tokens/a.ts", 'import { type Policy } from "../policies/policy.ts";'],
      ["src/tokens/a.ts", 'import "../core/pipeline.ts";'],
      ["src/tokens/a.test.ts", 'import { step } from "../core/pipeline.ts";'],
      ["src/endpoint/a.ts", 'import { b } from "../crypto/b.ts";'],
      ["src/acl/a.ts", 'import { b } from "../endpoint/b.ts";'],
      ["src/core/a.ts", 'import { b } from "../http/b.ts";'],
      ["src/http/a.ts", 'import { Tokens } from "../tokens/tokens.ts";'],
      ["src/cli/a.ts", 'import { b } from "../core/b.ts";'],
      ["client/a.ts", 'import { b } from "../src/cli/b.ts";'],
      ["client/a.ts", 'import { b } from "@holdfast/plugin-sdk/b";'],
      ["engines/kv/a.ts", 'import { b } from "../../src/barrier/b.ts";'],
      ["engines/kv/a.ts", 'import { b } from "../aws/b.ts";'],
      ["engines/kv/a.ts", 'import { b } from "openpgp";'],
      ["engines/kv/a.ts", 'import { b } from "../../shared/b.ts";'],
      ["plugin-sdk/a.ts", 'import { b } from "../src/core/pipeline.ts";'],
      ["plugin-sdk/a.ts", 'import type { B } from "@holdfast/engines/kv/b";'],
      ["plugin-sdk/a.ts", 'import { b } from "@holdfast/plugin-sdk/b";'],
      ["shared/a.ts", 'import { b } from "@holdfast/plugin-sdk/b";'],
      ["src/core/a.ts", 'import { b } from "@holdfast/engines/kv/b";'],
      ["src/core/a.ts", 'import { b } from "../../shared/failure.ts";'],
      ["src/server/a.ts", 'import { b } from "../cli/b.ts";'],
      ["src/core/a.ts", 'import { b } from "../server/b.ts";'],
      ["src/stuff/a.ts", ""],
      ["src/stray.ts", ""],
      ["src/core/a.ts", "const a = await import(name);"],
      ["src/core/a.ts", "const a = await import(`../${name}.ts`);"],
      ["src/core/a.ts", 'import { World } from "../../sim/world.ts";'],
      ["src/core/a.ts", 'import fc from "fast-check";'],
      ["src/core/a.ts", 'import fs from "fs";'],
      ["src/core/a.test.ts", 'import left from "@left/pad/deep";'],
    ],
    innocent: [
      ["src/tokens/a.ts", 'import type { Policy } from "../policies/policy.ts";'],
      ["src/tokens/a.ts", 'import { b } from "../barrier/b.ts";\nimport { c } from "./c.ts";'],
      ["src/policies/a.ts", 'import { b } from "../acl/b.ts";'],
      ["src/crypto/a.ts", 'import { readKey } from "openpgp";'],
      ["src/crypto/a.test.ts", 'import fc from "fast-check";\nimport { W } from "../../sim/w.ts";'],
      [
        "src/base/a.ts",
        '// import { b } from "../crypto/b.ts";\nconst s = `from "../crypto/b.ts"`;',
      ],
      ["engines/kv/a.ts", 'import { b } from "@holdfast/plugin-sdk/b";'],
      ["engines/kv/a.ts", 'import { b } from "@holdfast/shared/b";'],
      ["engines/kv/a.ts", 'import { b } from "./b.ts";'],
      ["src/core/a.ts", 'import { b } from "@holdfast/shared/b";'],
      [
        "src/main.ts",
        'import { serve } from "./daemon/run.ts";\nconst c = import("./cli/run.ts");',
      ],
      ["sim/a.ts", 'import { b } from "../src/core/b.ts";'],
    ],
    on: scripts,
  },
  "an engine sees of a request what an engine may see": {
    check: engineView,
    violations: [
      ["engines/kv/a.ts", 'import type { RequestContext as R } from "@holdfast/shared/b";'],
      ["engines/kv/a.ts", "const endpoint = endpointsOf<Kv>();"],
    ],
    innocent: [
      ["engines/kv/a.ts", "const endpoint = engineEndpoints<Kv>();"],
      ["engines/kv/a.ts", "function f(request: EngineRequest) {}"],
      ["src/mounts/a.ts", "const endpoint = endpointsOf<Mounts>();"],
    ],
    on: scripts,
  },
  "the real world is reached through system/ alone": {
    check: worldUse,
    violations: [
      ["src/core/a.ts", "const now = Date.now();"],
      ["src/core/a.ts", "const now = new Date();"],
      ["src/core/a.ts", "const now = new Date;"],
      ["src/core/a.ts", "const now = Date();"],
      ["src/core/a.ts", "const Time = Date;"],
      ["src/core/a.ts", "const now = performance.now();"],
      ["src/core/a.ts", "const now = process.hrtime.bigint();"],
      ["src/core/a.ts", 'import { performance as p } from "node:perf_hooks";'],
      ["src/core/a.ts", "setTimeout(() => {}, 5);"],
      ["src/core/a.ts", "const later = setImmediate;"],
      ["src/core/a.ts", "const s = `${setInterval(f, 5)}`;"],
      ["src/core/a.ts", "connect({ signal: AbortSignal.timeout(5) });"],
      ["src/core/a.ts", 'import { scheduler } from "node:timers/promises";'],
      ["src/core/a.ts", "const n = Math.random();"],
      ["src/core/a.ts", 'import { randomBytes } from "node:crypto";'],
      ["src/core/a.ts", "const id = crypto.randomUUID();"],
      ["src/core/a.ts", "webcrypto.getRandomValues(bytes);"],
      ["src/core/a.ts", "crypto.randomFillSync(bytes);"],
      ["src/core/a.ts", 'const pair = generateKeyPairSync("ed25519");'],
      ["src/core/a.ts", 'import { readFileSync } from "node:fs";'],
      ["src/core/a.ts", 'const fs = await import("node:fs/promises");'],
      ["src/core/a.ts", 'import net from "node:net";'],
      ["src/core/a.ts", 'import { createServer } from "node:http";'],
      ["src/core/a.ts", 'export { connect } from "node:tls";'],
      ["src/core/a.ts", 'import { createSocket } from "node:dgram";'],
      ["src/core/a.ts", "const answer = await fetch(url);"],
      ["src/core/a.ts", 'const home = process.env["HOME"];'],
      ["src/core/a.ts", "const { env } = process;"],
      ["src/core/a.ts", 'import { env } from "node:process";'],
      ["src/core/a.ts", 'import { spawn } from "node:child_process";'],
      ["src/core/a.ts", 'import { Worker } from "node:worker_threads";'],
      ["src/core/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
      ["plugin-sdk/storage.ts", 'import { readFileSync } from "node:fs";'],
      ["plugin-sdk/storage.ts", "const now = Date.now();"],
      ["engines/kv/a.ts", 'const home = process.env["HOME"];'],
      ["shared/a.ts", "const now = Date.now();"],
      ["src/storage/log.ts", 'import { DatabaseSync } from "node:sqlite";'],
      ["src/storage/engines/sqlite-writer.ts", "const now = Date.now();"],
      ["src/core/a.ts", 'const fs = process.getBuiltinModule("node:fs");'],
      ["src/core/a.ts", 'globalThis["setTimeout"](f, 5);'],
      ["src/core/a.ts", 'import { createServer } from "node:module";'],
      ["src/system/random.ts", "const now = Date.now();"],
      ["src/system/clock.ts", "const n = Math.random();"],
    ],
    innocent: [
      ["src/core/a.ts", "// Date.now() would be wrong here\nconst s = 'setTimeout(f)';"],
      ["src/core/a.ts", "const day = Date.UTC(2026, 0, 1) + Date.parse(text);"],
      ["src/core/a.ts", "function dateOf(ms: number): Date { return new Date(ms); }"],
      ["src/core/a.ts", "socket.setTimeout(5); replication.performance.mode; random.uuid();"],
      ["src/core/a.ts", 'const re = /"/; const s = "Math.random()";'],
      ["src/core/a.ts", 'import type { Socket } from "node:net";'],
      ["src/core/a.ts", 'import { createHmac } from "node:crypto";'],
      ["src/core/a.test.ts", "const now = Date.now();"],
      ["src/system/clock.ts", "Date.now(); process.hrtime.bigint();"],
      ["src/storage/engines/sqlite-writer.ts", 'import { Worker } from "node:worker_threads";'],
      ["src/storage/engines/sqlite.ts", 'import { DatabaseSync } from "node:sqlite";'],
      ["src/main.ts", "run(process.argv, process.env);"],
      ["sim/a.ts", "setTimeout(f, Math.random());"],
    ],
    on: scripts,
  },
  "no memory comes from the shared pool": {
    check: pooledMemory,
    violations: [
      ["src/core/a.ts", "const b = Buffer.allocUnsafe(32);"],
      ["sim/a.ts", "const { allocUnsafeSlow } = Buffer;"],
      ["src/core/a.test.ts", "const b = Buffer.allocUnsafe(32);"],
      ["src/core/a.ts", "const b = Buffer.concat([c, d]);"],
    ],
    innocent: [
      ["src/core/a.ts", "const b = Buffer.alloc(32); // not allocUnsafe"],
      ["src/core/a.ts", "const b = concat(c, d);"],
      ["src/core/a.test.ts", "const b = Buffer.concat([c, d]);"],
    ],
    on: scripts,
  },
  "no folder is deeper than a room's family": {
    check: depth,
    violations: [["src/storage/engines/sqlite/writer.ts", ""]],
    innocent: [
      ["src/storage/engines/sqlite.ts", ""],
      ["tests/a/b/c/d/e.ts", ""],
    ],
    on: files,
  },
  "files are named for their subject": {
    check: fileName,
    violations: [
      ["src/base/utils.ts", ""],
      ["src/base/helpers.test.ts", ""],
      ["src/common/bytes.ts", ""],
      ["src/core/manager.ts", ""],
      ["src/tokens/service.ts", ""],
      ["src/tokens/types.ts", ""],
      ["src/tokens/index.ts", ""],
      ["src/tokens/OneTime.ts", ""],
      ["src/tokens/one_time.ts", ""],
    ],
    innocent: [
      ["src/tokens/one-time.ts", ""],
      ["src/http/server.process.test.ts", ""],
      ["src/policies/type-check.ts", ""],
    ],
    on: files,
  },
  "files open with a comment": {
    check: openingComment,
    violations: [
      ["src/core/a.ts", 'import { b } from "./b.ts";\n// late'],
      ["sim/a.ts", "\n// a line too late"],
      ["soak/a.c", "#include <stdio.h>"],
      ["bench/a.ts", ""],
    ],
    innocent: [
      ["src/core/a.ts", "// What this is."],
      ["soak/run.ts", "#!/usr/bin/env node\n// What this is."],
      ["soak/a.c", "/* What this is. */"],
      ["tests/vectors/a.json", "{}"],
    ],
    on: files,
  },
  "commands ask through the client's functions": {
    check: handTypedRequests,
    violations: [
      ["src/cli/commands/a.ts", 'await client.request("GET", "sys/mounts");'],
      ["src/cli/a.ts", "const { data } = await client.inRoot().request(verb, path);"],
      ["src/cli/a.ts", 'client\n  .request("GET", `sys/${name}`)'],
      ["src/cli/a.ts", 'client.call({ method: "GET", path: "sys/mounts", answer: "data" });'],
      ["src/cli/a.ts", 'client.call<JsonObject>({ method: "GET", path, answer: "data" });'],
      ["src/cli/a.ts", "const answer = await transport.send(sent);"],
    ],
    innocent: [
      ["src/cli/commands/a.ts", "await mounts.listMounts(client); // not client.request()"],
      ["src/cli/commands/path.ts", "await client.request(verb, path, asked);"],
      ["src/daemon/a.ts", "await client.request(verb, path);"],
    ],
    on: scripts,
  },
  "names are plain words": {
    check: dialect,
    violations: [
      ["src/core/a.ts", "const given = 1;"],
      ["src/core/a.ts", "function f(told = 1) {}"],
      ["src/core/a.ts", "const { a: asked } = b;"],
      ["engines/kv/a.ts", "interface ShownSecret {}"],
      ["tests/a.ts", "const MOST_BYTES = 5;"],
    ],
    innocent: [
      ["src/core/a.ts", "// What is given is told.\nuse('asked'); const masked = row.toldAt;"],
      ["src/core/a.ts", "const row = { given: 1 }; if (isAtMost(row)) foretold();"],
    ],
    on: scripts.filter((path) => !path.startsWith("client/api/")),
  },
  "no test is switched off": {
    check: switchedOffTests,
    violations: [
      ["tests/a.test.ts", 'test.skip("a", () => {});'],
      ["src/core/a.test.ts", 'describe.only("a", () => {});'],
      ["src/core/a.test.ts", 'it.todo("a");'],
      ["src/core/a.test.ts", 'test("a", (t) => { t.skip(); });'],
      ["src/core/a.test.ts", 'test("a", { skip: true }, () => {});'],
      ["src/core/a.test.ts", "test(`a ${b}`, { timeout: 5, only: true }, () => {});"],
    ],
    innocent: [
      ["src/core/a.test.ts", 'test("test.skip is refused", () => { seek({ skip: 3 }); });'],
      ["src/core/a.test.ts", 'test("a", { timeout: 5 }, () => { only({ todo: 1 }); });'],
      ["src/core/a.ts", "test.skip();"],
    ],
    on: scripts,
  },
};

for (const [name, { check, violations, innocent, on }] of Object.entries(rules)) {
  test(`${name}: the check finds what was planted and nothing else`, () => {
    for (const [path, source] of violations) {
      const found = check(path, source);
      assert.equal(found.length, 1, [path, source, ...found].join("\n"));
    }
    for (const [path, source] of innocent) assert.deepEqual(check(path, source), []);
  });

  test(name, () => {
    const real: Check =
      name === "imports point one way"
        ? (path, source) => importDirection(path, source, packages)
        : check;
    assert.deepEqual(
      on.flatMap((path) => real(path, read(path))),
      [],
    );
  });
}

test("the list of rooms: the check finds what was planted and nothing else", () => {
  const api = "const endpoint = endpointsOf<Lamps>();";
  const lamps = { key: "lamps", name: "lamps", files: ["src/lamps/api.ts"] };
  const files = [
    ["src/lamps/room.ts", "// A room."],
    ["src/lamps/api.ts", `${api} export const lampsApi = [];`],
    ["src/lamps/api-pages.ts", `${api} export function pagesOf() {}`],
    ["src/lamps/api.test.ts", `${api} export const testApi = [];`],
    ["src/oil/oil.ts", "// endpointsOf<Oil>() would make it a room"],
  ] as const;
  assert.deepEqual(roomsApart(files, [lamps]), []);
  assert.equal(roomsApart(files, []).length, 3, "a room that is not in the list");
  const more = (path: string, source: string) => roomsApart([...files, [path, source]], [lamps]);
  assert.equal(more("src/oil/room.ts", "").length, 1);
  assert.equal(more("src/oil/deep/api.ts", "endpointsOf<Oil>();").length, 1);
  assert.equal(more("src/lamps/api-more.ts", `${api} export const moreApi = [];`).length, 1);
  assert.equal(roomsApart(files, [{ ...lamps, name: "oil" }]).length, 1);
  assert.equal(
    roomsApart(files, [{ ...lamps, files: [...lamps.files, "src/oil/oil.ts"] }]).length,
    1,
  );
  assert.equal(roomsApart(files.slice(1), [lamps]).length, 1);
});

test("every room is in the list, and whatever is declared is declared by one", () => {
  const listed = Object.entries(ROOMS).map(([key, { name, declares }]) => ({
    key,
    name,
    files: declares.map(({ file }) => file),
  }));
  assert.deepEqual(
    roomsApart(
      scripts.map((path) => [path, read(path)]),
      listed,
    ),
    [],
  );
});

test("no folder is crowded: the check finds what was planted, and nothing in the house", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `src/a/f${i}.ts`);
  assert.deepEqual(crowded([...many(20), "src/a/b/f.ts", "src/a/f.test.ts"]), []);
  assert.equal(crowded(many(21)).length, 1);
  assert.deepEqual(crowded(files), []);
});

test("the map names files that are there", () => {
  assert.deepEqual(unknownFiles("`core/a.ts` and `b.ts`", ["src/core/a.ts"]), ["b.ts"]);
  const map = read("ARCHITECTURE.md");
  assert.ok(map.includes("`pipeline.ts`"));
  assert.deepEqual(unknownFiles(map, files), []);
});

test("the walk sees the house", () => {
  for (const path of ["shared/world.ts", "src/storage/engines/engine.ts", "tests/house.test.ts"]) {
    assert.ok(files.includes(path), path);
  }
});

test("readCode() tells code from comments, strings, templates and regular expressions", () => {
  const source = [
    'a(/* b( */ \'c(\', "d\\"("); // e(',
    "f(`g( ${h(`i( ${j}`)} k(`);",
    'l = /m[/]"(/g.test(n) / o(p) / q;',
    "return /r'/;",
  ].join("\n");
  const { text, strings } = readCode(source);
  assert.deepEqual(text.match(/\b[a-z]\b/g)?.join(""), "afhjlnopq");
  assert.deepEqual(strings, ["c(", 'd\\"(', "g( ", "i( ", "", " k("]);
  assert.equal(text.split("\n").length, 4);
});

test("importsOf() finds every form of import with its line", () => {
  const source = [
    'import a from "a";',
    'import type { B } from "b";',
    'import {\n  c,\n  d as e,\n} from "c";',
    'import * as f from "f";',
    'export * from "g";',
    'export type { H } from "h";',
    'import "i";',
    'const j = await import("j");',
    'export const k = "k", from = "l";',
    "import.meta.dirname;",
  ].join("\n");
  const imports = importsOf(readCode(source)).map((found) => {
    return `${found.line} ${found.to}${found.typeOnly ? " type" : ""}`;
  });
  assert.deepEqual(
    imports.toSorted(),
    ["10 i", "11 j", "1 a", "2 b type", "3 c", "7 f", "8 g", "9 h type"].toSorted(),
  );
});

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

const FAILURES = `
/**
 * @code lamp-out The lamp is out.
 * @remedy Fill it.
 */
export function lampOut(): Failure {
  return new Failure("unavailable", "lamp-out", "no oil");
}
`;

test("codes of errors: the check finds what was planted and nothing else", () => {
  const problemsOf = (...sources: readonly (readonly [path: string, source: string])[]) =>
    readErrorCodes(
      [["src/lamps/failures.ts", FAILURES] as const, ...sources].map(([path, source]) => ({
        path,
        source,
      })),
    ).problems;
  const row = (code: string) => `/** @code ${code} It is so. @remedy Mend it. */\n`;
  const planted: readonly [path: string, source: string, found: RegExp][] = [
    ["src/a/failures.ts", 'new Failure("invalid", "a", "b");', /a has no row/],
    ["src/a/failures.ts", row("a"), /no failure is made with a/],
    ["src/a/failures.ts", row("lamp-out"), /lamp-out has 2 rows/],
    ["src/a/failures.ts", 'new Failure("invalid", "lamp-out", "b");', /lamp-out has 2 kinds/],
    ["src/a/failures.ts", "new Failure(kind, codeOf(x), text);", /a code is a literal/],
    ["src/a/a.ts", 'new Failure("unavailable", "lamp-out", "b");', /outside the room's failures/],
    ["src/a/failures.ts", "/** @code a It is so. */", /not "@code/],
    [
      "src/a/failures.ts",
      'function no(code: string) {\n  return new Failure("invalid", code, "b");\n}\nno("a");',
      /a has no row/,
    ],
    [
      "src/a/failures.ts",
      'class No extends Failure {\n  constructor() {\n    super("invalid", "a", "b");\n  }\n}',
      /a has no row/,
    ],
  ];
  for (const [path, source, found] of planted) {
    const problems = problemsOf([path, source]);
    assert.equal(problems.length, 1, [source, ...problems].join("\n"));
    assert.match(problems[0] ?? "", found);
  }
  assert.deepEqual(problemsOf(), []);
  assert.deepEqual(
    problemsOf([
      "src/a/failures.ts",
      `${row("a")}${row("b")}const A = "a";\nnew Failure("invalid", A, "x");\n` +
        'new Failure("denied", late ? "b" : error.code, "x");',
    ]),
    [],
  );
});

test("every code of an error has one kind and one row in docs/errors.md, and every row a code", () => {
  const codes = readErrorCodes(productFiles(root));
  assert.deepEqual(codes.problems, []);
  assert.ok(codes.made.length > 300, "the sources were read");
  // The formatter pads tables and breaks nothing else.
  const plain = (page: string) => page.replace(/ +/g, " ").replace(/-{3,}/g, "---").trim();
  const page = read("docs/errors.md");
  assert.equal(plain(page), plain(errorsPage(codes, STATUS)), "run `npm run gen`");
});

test("pointers: the check finds what was planted and nothing else", () => {
  const exists = (start: string) => "docs/decisions/0007-the-way.md".startsWith(start);
  const planted = [
    "// See core contract 9.",
    "// As row 88 says.",
    "// That is issue 14, which is done.",
    "// The specification's reason is in section 3.4 of the specification.",
    "// As findings/house.md has it.",
    "// The contract's 3.4 says so.",
    "/** As cloud-engines 2.7 has it. */",
    "const a = 5; // decision 44",
    "// Both (D44) are kept.",
    "// Nobody sees values (P20).",
    "// Clients of spec 1 match on it.",
    "// One thing, whose reason is in decision\n// 12.",
    "// See docs/no-such-page.md.",
    'test("decision 5: it is so", () => {});',
    'test("P5: it is so", () => {});',
  ];
  for (const source of planted) {
    assert.equal(strayPointers("src/core/a.ts", source, exists).length, 1, source);
  }
  assert.equal(strayPointers("docs/a.md", "It is so\n(decision\n5).", exists).length, 1);
  const innocent = [
    "// See docs/decisions/0007.",
    "// T-B16: a curve, P-521; 3D; contracts of others.",
    'const text = "see decision 44";',
    'test("T-D07: it is so", () => {});',
  ];
  for (const source of innocent) {
    assert.deepEqual(strayPointers("src/core/a.ts", source, exists), [], source);
  }
});

test("no comment, no name of a test and no page points at a text that is not here", () => {
  const pages = walk("docs");
  const exists = (start: string) => pages.some((page) => page.startsWith(start));
  const ends = new Set(
    [...files, ...walk("scripts")].flatMap((path) => {
      const parts = path.split("/");
      return parts.map((_, i) => parts.slice(i).join("/"));
    }),
  );
  const isSource = (end: string) => ends.has(end);
  assert.equal(strayPointers("src/a.ts", "// As no/such.ts does.", exists, isSource).length, 1);
  assert.deepEqual(strayPointers("src/a.ts", "// As core/pipeline.ts.", exists, isSource), []);
  const pagesAbove = ["ARCHITECTURE.md", "CHANGELOG.md", "README.md"];
  const beside = [...walk("plugin-sdk"), ...walk("scripts"), ...pages, ...pagesAbove];
  const all = [...new Set([...scripts, ...beside])];
  assert.deepEqual(
    all.flatMap((path) => strayPointers(path, read(path), exists, isSource)),
    [],
  );
});

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

test("case numbers: the check finds what was planted and nothing else", () => {
  const listed = casesListed(
    "docs/cases/a.md",
    "| Case | What |\n| --- | --- |\n| C1 | It is so. |",
  );
  const named = (source: string) => casesNamed("tests/spec/a.test.ts", source);
  assert.deepEqual(casesApart({ named: named('test("C1, T-A01: so", f);'), listed }), []);
  assert.equal(casesApart({ named: named('test("C1, C2: so", f);'), listed }).length, 1);
  assert.equal(casesApart({ named: named('test("T-A01: so", f);'), listed }).length, 1);
  assert.equal(
    casesApart({ named: named('test("C1: a", f);'), listed: [...listed, ...listed] }).length,
    1,
  );
});

test("tests name the cases of docs/cases, and every case is named by a test", () => {
  const named = scripts.flatMap((path) =>
    path.startsWith("tests/house") ? [] : casesNamed(path, read(path)),
  );
  const listed = walk("docs/cases").flatMap((path) => casesListed(path, read(path)));
  assert.ok(listed.length > 300, "the pages were read");
  assert.deepEqual(casesApart({ named, listed }), []);
});
