// The transcripts against the server itself, one after another on a fresh one: what the command line prints
// is what the product does.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { run } from "./harness.ts";
import { runTranscript, transcripts } from "./transcript.ts";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");
const ORDER = [
  "first-day.txt",
  "namespaces.txt",
  "acl.txt",
  "policies.txt",
  "secrets.txt",
  "audit.txt",
  "mistakes.txt",
  "ceremonies.txt",
];

async function startServer(t: TestContext): Promise<{ address: string; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-cli-server-"));
  mkdirSync(join(directory, "home"));
  const config = join(directory, "server.hcl");
  writeFileSync(
    config,
    `data_dir       = "${join(directory, "data")}"
default_mounts = []
storage "memory" {}
listener "tcp" {
  address     = "127.0.0.1:0"
  tls_disable = true
}
`,
  );
  const child = spawn(process.execPath, [MAIN, "server", "-config", config], {
    env: { ...process.env, HOME: join(directory, "home") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  t.after(async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  let log = "";
  const address = await new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      log += text;
      const found = /ready: .*addresses=(http:\S+)/.exec(log)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    void ended.then(() => reject(new Error(`the server ended:\n${log}`)));
  });
  return { address, directory };
}

function tokenOf(known: ReadonlyMap<string, string>) {
  return { HOLDFAST_TOKEN: known.get("root_token")! };
}

async function mounted(path: string, env: Record<string, string>): Promise<void> {
  const { code, all } = await run(["secrets", "enable", "-path", path, "kv-v1"], { env });
  assert.equal(code, 0, all);
}

async function unmounted(path: string, env: Record<string, string>): Promise<void> {
  const { code, all } = await run(["secrets", "disable", "-yes", path], { env });
  assert.equal(code, 0, all);
}

test("the transcripts hold on the server itself", async (t) => {
  const { address, directory } = await startServer(t);
  const env = { HOLDFAST_ADDR: address, HOME: join(directory, "home") };
  const all = new Map(transcripts());
  assert.deepEqual([...all.keys()], ORDER.toSorted(), "each has its place in the order");
  const known = new Map([["audit_dir", join(directory, "data", "audit")]]);
  for (const name of ORDER) {
    // Rules about places where nothing is mounted come with a warning.
    if (name === "policies.txt") await mounted("secret", { ...env, ...tokenOf(known) });
    await runTranscript(name, all.get(name)!, env, known);
    if (name === "policies.txt") await unmounted("secret", { ...env, ...tokenOf(known) });
  }

  const root = { env: { ...env, HOLDFAST_TOKEN: known.get("root_token")! } };
  const help = await run(["path-help", "sys/unseal"], root);
  assert.equal(help.code, 0, help.stderr);
  assert.match(help.stdout, /^POST or PUT sys\/unseal$/m);
  const doctor = await run(["doctor"], root);
  assert.equal(doctor.code, 1, doctor.all);
  assert.match(doctor.stdout, /audit\.none +wrong/, "that is all it finds: nothing is recorded");
  const login = await run(["login", "-"], { env, stdin: known.get("made_token")! });
  assert.equal(login.code, 0, login.all);
  assert.equal((await run(["read", "sys/key-status"], { env })).code, 0, "the kept token is used");
});
