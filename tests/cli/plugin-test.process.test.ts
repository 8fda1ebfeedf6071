// `holdfast plugin test FILE` on real programs: good ones of both kinds, and each way of being wrong by its own line.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { smallPlugin } from "../support/plugins/plugin-place.ts";
import { makeHome, run } from "./harness.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const WIDTH = 80;

interface Finding {
  readonly check: string;
  readonly result: string;
  readonly found: string;
}

function placeFor(t: TestContext) {
  const home = makeHome((call) => t.after(call));
  const env = { HOME: home, PATH: process.env["PATH"] ?? "" };
  const put = (name: string, text: string) => {
    writeFileSync(join(home, name), text, { mode: 0o755 });
    return join(home, name);
  };
  const findings = async (args: readonly string[], code: number) => {
    const ran = await run(["plugin", "test", ...args, "-format", "json"], { env });
    assert.equal(ran.code, code, ran.all);
    const all = JSON.parse(ran.stdout) as Finding[];
    const wrong = all.filter(({ result }) => result === "wrong");
    return { all, wrong, stderr: ran.stderr };
  };
  return { home, env, put, findings };
}

test("a plugin of our SDK is built, tried for two mounts and stopped, in lines of a terminal; nothing is left", async (t) => {
  const { home, env, put, findings } = placeFor(t);
  await run(["plugin", "new", join(home, "doorbell")], { env });
  const file = join(home, "doorbell", "doorbell.ts");
  const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith("hf-try-")).length;
  const before = left();
  const { code, stdout, all } = await run(["plugin", "test", file], { env, columns: WIDTH });
  assert.equal(code, 0, all);
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.length > WIDTH),
    [],
  );
  assert.match(stdout, /^says what it is +good +secret v1\.0\.0 *$/m);
  assert.match(stdout, /^serves a second mount +good +in the same process *$/m);
  assert.match(stdout, /^stops +good +ended \d+ ms after it was told to *$/m);
  assert.ok(left() <= before, "its folder is gone");
  const source = readFileSync(file, "utf8");
  const thrown = source.replace("(await storage.get(input.name, count)) ?? 0", "null!.x");
  assert.notEqual(thrown, source);
  put("doorbell/throws.ts", thrown);
  const { wrong } = await findings([join(home, "doorbell", "throws.ts")], 1);
  assert.deepEqual(
    wrong.map(({ check }) => check),
    ["answers what it declares"],
  );
  assert.match(wrong[0]?.found ?? "", /^readCounter \(GET \/:name\) throws/);
});

test("a plugin of another SDK is tried by what it answers, and what it does badly stands at its own check", async (t) => {
  const { put, findings } = placeFor(t);
  const small = put("small.mjs", smallPlugin());
  const good = await findings([small, "-args", "--multiplexes"], 0);
  const found = new Map(good.all.map(({ check, found: what }) => [check, what]));
  assert.equal(found.get("declares its paths"), "any path; 3 without a token, 2 with sudo");
  assert.equal(found.get("documents itself"), "an OpenAPI document of 4 paths");
  assert.match(found.get("read where nothing is") ?? "", /unsupportedPath/);
  const checksOf = async (...args: string[]) => {
    const { wrong, stderr } = await findings([small, ...args], 1);
    return { checks: wrong.map(({ check }) => check), found: wrong[0]?.found ?? "", stderr };
  };
  const exits = await checksOf("-args", "--exits");
  assert.deepEqual(exits.checks, ["says what it is"]);
  assert.match(exits.found, /exited with code 7.*it begins badly/);
  const refuses = await checksOf("-option", "refuses=initialize");
  assert.deepEqual(refuses.checks, ["serves a mount"]);
  assert.match(refuses.found, /it does not want to begin/);
  assert.deepEqual((await checksOf("-args", "--deaf", "-args", "--multiplexes")).checks, ["stops"]);
});

test("a plugin for databases is tried by what it says of one; what is no program is refused", async (t) => {
  const { home, env, findings } = placeFor(t);
  const program = join(home, "postgresql");
  execFileSync(
    process.execPath,
    ["scripts/bundle-plugin.ts", "plugins/postgresql/main.ts", program],
    {
      cwd: ROOT,
    },
  );
  const { all } = await findings([program, "-type", "database"], 0);
  assert.equal(all.find(({ check }) => check === "kind of database")?.found, "postgresql");
  assert.match(
    all.find(({ check }) => check === "empty configuration")?.found ?? "",
    /^refused: connection_url/,
  );
  const missing = await run(["plugin", "test", join(home, "none")], { env });
  assert.equal(missing.code, 2, missing.all);
  const odd = await run(["plugin", "test", program, "-option", "x"], { env });
  assert.equal(odd.code, 2);
  assert.match(odd.stderr, /-option takes KEY=VALUE/);
});
