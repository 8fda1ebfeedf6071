// `holdfast server --dev --dev-plugin FILE` as an author uses it: mounted at its name, built anew and reloaded when it is saved, and
// what is wrong with it is said while the one before goes on.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "../support/http-client.ts";
import { until } from "../support/until.ts";
import { makeHome } from "./harness.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");

test("a plugin is mounted at its name, and what is saved runs; what cannot be built leaves the one before", async (t) => {
  const home = makeHome((work) => t.after(work));
  const env = { PATH: process.env["PATH"], HOME: home };
  const made = spawnSync(PROGRAM, ["plugin", "new", "doorbell"], { cwd: home, env });
  assert.equal(made.status, 0, String(made.stderr));
  const file = join(home, "doorbell", "doorbell.ts");
  const child = spawn(
    PROGRAM,
    [
      "server",
      "--dev",
      "--dev-listen-address",
      "127.0.0.1:0",
      "--dev-plugin",
      "doorbell/doorbell.ts",
    ],
    { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] },
  );
  t.after(() => child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => (text += data.toString("utf8")));
  }
  const says = (what: RegExp) =>
    until(() => {
      assert.equal(child.exitCode, null, text);
      return what.test(text);
    });
  await says(/plugin doorbell v1\.0\.0 is mounted at doorbell\/; doorbell\.ts is watched/);
  await says(/\] {2}ready/);
  const [, address = ""] = /Address +(\S+)/.exec(text) ?? [];
  const [, token = ""] = /Root token +(\S+)/.exec(text) ?? [];
  const count = async () => {
    const { json } = await call(address, "POST", "/v1/doorbell/front", { token, body: { by: 3 } });
    return (json as { data: { count: number } }).data.count;
  };
  assert.equal(await count(), 3);
  const source = readFileSync(file, "utf8");
  writeFileSync(file, source.replace("+ input.by", "+ 10 * input.by").replace("v1.0.0", "v1.0.1"));
  await says(/plugin doorbell v1\.0\.1 was built anew and reloaded/);
  assert.equal(await count(), 33, "the new one, with what the one before has kept");
  writeFileSync(file, "enum A { B }\nexport default A;\n");
  await says(/doorbell\.ts: no plugin can be made of it: .*types cannot be left out/);
  assert.equal(await count(), 63);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
});

test("a plugin that is written is for development mode alone", () => {
  const { status, stderr } = spawnSync(PROGRAM, ["server", "--dev-plugin", "x.ts"], {
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.match(stderr, /--dev-plugin needs --dev/);
});
