// `holdfast server --dev --dev-clouds` as a visitor uses it: every line of the banner is pasted into a
// shell, and does what it says. The stand-ins end with the server, however it ends.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { makeHome } from "./harness.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "holdfast");
const DEV = ["server", "--dev", "--dev-clouds", "--dev-listen-address", "127.0.0.1:0"];

async function devServer(t: TestContext, more: readonly string[] = []) {
  const home = makeHome((call) => t.after(call));
  const env = { PATH: process.env["PATH"], HOME: home };
  // Of a real account, which the stand-ins do not know.
  const real = { CLOUDB_CLIENT_ID: "real", AZURE_TENANT_ID: "real", CLOUDA_REGION: "mars" };
  const child = spawn(PROGRAM, [...DEV, ...more], {
    env: { ...env, ...real },
    cwd: home, // where npx would not find it
    stdio: ["ignore", "pipe", "pipe"],
  });
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
  // A line that goes on is one to a shell.
  const pasted = text
    .replaceAll(/ \\\n +/g, " ")
    .split("\n")
    .flatMap((line) => /^ {2}((?:\/|curl|export).*)$/.exec(line)?.[1] ?? []);
  const states = pasted.flatMap((line) => /^curl -s (\S+)$/.exec(line)?.[1] ?? []);
  const setting = pasted.filter((line) => line.startsWith("export")).join("\n");
  const shell = (line: string) =>
    spawnSync("sh", ["-c", `${setting}\n${line}`], { env, cwd: home, encoding: "utf8" });
  return { child, ended, text, pasted, states, shell };
}

/** What is there, but for sessions, which end by themselves. */
async function stateOf(url: string): Promise<string> {
  const { sessions: _, ...objects } = (await (await fetch(url)).json()) as Record<string, unknown>;
  return JSON.stringify(objects);
}

test("the lines of the banner work as they stand, and objects appear and vanish", async (t) => {
  const { child, ended, pasted, states, shell, text } = await devServer(t);
  assert.equal(states.length, 2, text);
  const [a = "", b = ""] = states;
  const printed = new Map<string, string>();
  for (const line of pasted.filter((one) => !/^(curl|export)/.test(one))) {
    const { status, stdout, stderr } = shell(line);
    assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
    printed.set(line.replace(PROGRAM, "holdfast"), stdout);
    if (line.endsWith("cloudb/creds/app")) {
      const [, user = "none"] =
        /username +(service-\S+)/.exec([...printed.values()].join("\n")) ?? [];
      assert.ok((await stateOf(a)).includes(user), "the user is there");
      const [, id = "none"] = /client_id +(\S+)/.exec(stdout) ?? [];
      assert.ok((await stateOf(b)).includes(id), "the application is there");
    }
  }
  const read = printed.get("holdfast read clouda/creds/reader") ?? "";
  assert.match(read, /lease_duration +1800\n/);
  assert.match(read, /^export AWS_SECRET_ACCESS_KEY=/m);
  assert.match(printed.get("holdfast read cloudb/creds/app") ?? "", /^export ARM_CLIENT_SECRET=/m);
  const executed = [...printed].find(([line]) => line.includes(" exec "))?.[1] ?? "";
  assert.match(executed, /^AWS_SESSION_TOKEN=/m);
  while (/"service-/.test((await stateOf(a)) + (await stateOf(b)))) await turn();
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  for (const url of states) await gone(url);
});

test("a server with TLS is configured as well, and one that is killed takes the stand-ins with it", async (t) => {
  const { child, ended, states, shell } = await devServer(t, ["--dev-tls"]);
  const { status, stdout, stderr } = shell(`${PROGRAM} list clouda/roles`);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /deploy\nreader/);
  child.kill("SIGKILL");
  await ended;
  for (const url of states) await gone(url);
});

test("a disabling that its credentials stopped is mended by writing them again, and says so", async (t) => {
  const { shell } = await devServer(t);
  const holdfast = (line: string) => {
    const { status, stdout, stderr } = shell(`${PROGRAM} ${line}`);
    return { status, text: stdout + stderr, words: (stdout + stderr).replaceAll(/\s+/g, " ") };
  };
  assert.equal(holdfast("read cloudb/creds/app").status, 0);
  assert.equal(holdfast("write cloudb/config client_secret=bad").status, 0);
  const stopped = holdfast("secrets disable -yes cloudb");
  assert.equal(stopped.status, 1, stopped.text);
  assert.match(stopped.words, /cloudb\/ could not be disabled: stopped after 0 revoked leases/);
  assert.match(stopped.words, /Next: mend the cause .*run `holdfast secrets disable cloudb` again/);
  assert.match(stopped.words, /`holdfast lease revoke -force -prefix cloudb`/);
  const refused = holdfast("read cloudb/creds/app");
  assert.match(refused.words, /this mount is being disabled/);
  assert.equal(holdfast("read cloudb/config").status, 0);
  const mended = holdfast("write cloudb/config client_secret=still-bad");
  assert.equal(mended.status, 0, mended.text);
  assert.doesNotMatch(holdfast("secrets move cloudb other").words, /choose another -path/);
  const listed = holdfast("secrets list -format json");
  assert.match(listed.text, /"leases_left": 1/);
  const nowhere = holdfast("lease revoke -sync -yes -prefix cluodb");
  assert.equal(nowhere.status, 3, nowhere.text);
  assert.match(nowhere.words, /nothing is mounted at cluodb: nothing was revoked/);
  assert.doesNotMatch(nowhere.words, /Success/);
  const forced = holdfast("lease revoke -yes -force -prefix cloudb");
  assert.equal(forced.status, 0, forced.text);
  for (const how of ["-yes -prefix", "-yes -force -prefix"]) {
    const none = holdfast(`lease revoke ${how} cloudb/creds`);
    assert.equal(none.status, 3, none.text);
    assert.match(none.words, /no lease is below cloudb\/creds: nothing was revoked/);
  }
  assert.match(holdfast("secrets disable -yes cloudb").text, /Success!/);
});

/** Until nobody answers there any more. */
async function gone(url: string): Promise<void> {
  for (;;) {
    try {
      await (await fetch(url)).text();
    } catch {
      return;
    }
    await turn();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
