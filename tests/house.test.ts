// The rules of the house, checked on every file; and each check tried on a planted violation first,
// because a check that finds nothing may also be one that looks at nothing.

import assert from "node:assert/strict";
import test from "node:test";
import { handTypedRequests } from "./house/command-paths.ts";
import { depth, fileName, openingComment, dialect, switchedOffTests } from "./house/files.ts";
import { engineView, importDirection, type Packages } from "./house/rooms.ts";
import { files, manifestOf, read, scripts } from "./house/tree.ts";
import { pooledMemory, worldUse } from "./house/world.ts";

const packages: Packages = (workspace) => ({
  shipped: [
    ...Object.keys(manifestOf(workspace).dependencies),
    // A plugin is shipped as the one file that is made of it and of these, which no server installs.
    ...(workspace.startsWith("plugins/") ? Object.keys(manifestOf(workspace).devDependencies) : []),
  ],
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
      ["src/http/a.ts", 'import { createServer } from "node:http";'],
      ["src/core/a.ts", 'import { createServer } from "../base/node-http.ts";'],
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
