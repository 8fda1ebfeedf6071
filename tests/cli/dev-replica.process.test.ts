// `holdfast server --dev --dev-replica …` as a visitor uses it: every line of the banner is pasted into a shell, in its
// order, and does what it says.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { makeHome } from "./harness.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");
const DEV = ["server", "--dev", "--dev-listen-address", "127.0.0.1:0", "--dev-replica"];

async function devPair(t: TestContext, more: readonly string[]) {
  const home = makeHome((call) => t.after(call));
  const env = { PATH: process.env["PATH"], HOME: home };
  const child = spawn(PROGRAM, [...DEV, ...more], { env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let text = "";
  await new Promise<void>((resolve, reject) => {
    const take = (data: Buffer) => {
      text += data.toString("utf8");
      if (/\] {2}ready/.test(text)) resolve();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  const pasted = text
    .split("\n")
    .flatMap((line) => /^ {2}((?:\/|export).*)$/.exec(line)?.[1] ?? []);
  const setting = pasted.filter((line) => line.startsWith("export")).join("\n");
  const shell = (line: string) =>
    spawnSync("sh", ["-c", `${setting}\n${line}`], { env, cwd: home, encoding: "utf8" });
  return { child, ended, text, pasted, shell };
}

test("five lines of the banner are a failover, and nothing is left when it ends", async (t) => {
  const { child, ended, text, pasted, shell } = await devPair(t, ["dr", "--dev-tls"]);
  const steps = pasted.slice(pasted.findLastIndex((line) => line.startsWith("export")) + 1);
  assert.equal(steps.length, 5, text);
  const printed = steps.map((line) => {
    const { status, stdout, stderr } = shell(line);
    // A plan is not for a primary that lives, and says so.
    assert.equal(status, line.includes("-plan") ? 2 : 0, `${line}\n${stdout}${stderr}`);
    return stdout;
  });
  assert.match(printed[1] ?? "", /^\[!\] +primary-gone/m);
  assert.match(printed[4] ?? "", /^who +both$/m);
  const [, ticket = ""] = /^ {2}Ticket +(\S+)$/m.exec(text) ?? [];
  assert.ok(existsSync(ticket), text);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  assert.ok(!existsSync(dirname(ticket)), "its directory is gone");
});

test("the lines of the banner show four clusters: the primary is replaced by who stands in for it, and the other region goes on", async (t) => {
  const { child, ended, text, pasted, shell } = await devPair(t, ["four"]);
  const [, banner = ""] = /^(Four clusters with [^]*)Stop with/m.exec(text) ?? [];
  const prose = banner.split("\n").filter((line) => !line.startsWith("  "));
  assert.ok(prose.length > 5 && prose.every((line) => line.length <= 80), banner);
  const tickets = [...text.matchAll(/^ {2}Ticket +(\S+) \(stand-in-[ab]\)$/gm)].map(
    ([, path]) => path,
  );
  assert.equal(tickets.length, 2, text);
  const [look = "", put = "", demote = "", promote = "", get = "", again = "", ...none] =
    pasted.slice(pasted.findIndex((line) => line.includes("-topology")));
  assert.deepEqual(none, []);
  const printed = (line: string, expected = 0) => {
    const { status, stdout, stderr } = shell(line);
    assert.equal(status, expected, `${line}\n${stdout}${stderr}`);
    return stdout;
  };
  // Who stands in for the other region is heard of with the next word of that.
  await until(() => {
    const { status, stdout } = shell(look);
    const names = [...stdout.matchAll(/^[ |+-]*([a-z-]+)(?: \(this cluster\))? {2}\S/gm)];
    return (
      status === 0 && names.map(([, name]) => name).join() === "a,stand-in-a,region-b,stand-in-b"
    );
  });
  for (const line of [put, demote, promote]) printed(line);
  await until(() => shell(get).stdout.includes("four"));
  // The primary of before was demoted, and follows nobody yet.
  await until(() => /HAS NOT COME OVER/.test(shell(again).stdout));
  assert.match(printed(again, 2), /region-b \(this cluster\) {2}performance secondary, region b/);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  assert.ok(
    tickets.every((path) => !existsSync(dirname(path ?? ""))),
    "their directories are gone",
  );
});

test("the lines of the banner show two regions: what is written in one, and tokens of both", async (t) => {
  const { child, ended, text, pasted, shell } = await devPair(t, ["performance"]);
  const [, banner = ""] = /^(This is region [^]*)Stop with/m.exec(text) ?? [];
  const prose = banner.split("\n").filter((line) => !line.startsWith("  "));
  assert.ok(prose.length > 5 && prose.every((line) => line.length <= 80), banner);
  const steps = pasted.slice(pasted.findIndex((line) => line.includes("kv put -address")));
  assert.equal(steps.length, 5, text);
  const printed = steps.map((line) => {
    const { status, stdout, stderr } = shell(line);
    assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
    return stdout;
  });
  assert.match(printed[1] ?? "", /^who +both$/m);
  assert.match(printed[3] ?? "", /^all +management +true /m);
  assert.match(printed[4] ?? "", /^Writes +what is shared is sent on to region a$/m);
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
});
