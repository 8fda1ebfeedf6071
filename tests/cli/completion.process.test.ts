// Completion scripts, as far as the shells of this machine can say: bash is asked to complete, others to
// read the script where they are installed.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { COMMAND_NAMES } from "../../src/cli/catalogue.ts";
import { SERVER_USAGE } from "../../src/daemon/flags.ts";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { makeHome, run } from "./harness.ts";

const { stdout: script } = await run(["completion", "bash"]);

function complete(...words: readonly string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const completing = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _holdfast; echo "\${COMPREPLY[*]}"`;
  // Without --norc it reads the machine's settings where it takes its pipe for a network connection.
  const args = ["--norc", "-u", "-c", `${script}\n${completing}`];
  const { status, stdout, stderr } = spawnSync("bash", args, { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
  return stdout.trim().split(/\s+/).filter(Boolean);
}

test("bash completes commands, their words, flags and values", () => {
  assert.deepEqual(complete("holdfast", "sta"), ["status"]);
  assert.ok(complete("holdfast", "").includes("server"));
  assert.deepEqual(complete("holdfast", "operator", "un"), ["unseal"]);
  assert.deepEqual(complete("holdfast", "operator", "init", "-key"), [
    "-key-shares",
    "-key-threshold",
  ]);
  assert.deepEqual(complete("holdfast", "operator", "init", "--key"), [
    "--key-shares",
    "--key-threshold",
  ]);
  assert.deepEqual(complete("holdfast", "-format", "j"), ["json"]);
  assert.deepEqual(complete("holdfast", "status", "--format", "y"), ["yaml"]);
  assert.deepEqual(complete("holdfast", "completion", "z"), ["zsh"]);
  assert.deepEqual(complete("holdfast", "-namespace", "x", "audit", "l"), ["list"]);
  assert.deepEqual(complete("holdfast", "status", "-region", "s"), [], "no guess at a value");
  assert.deepEqual(complete("holdfast", "acl", "bootstrap", ""), ["status", "reset"]);
  assert.deepEqual(complete("holdfast", "acl", "bootstrap", "-secret"), ["-secret-out"]);
  assert.deepEqual(complete("holdfast", "token", "rev"), ["revoke", "revoke-self"]);
  assert.deepEqual(complete("holdfast", "secrets", "enable", "cl"), ["clouda", "cloudb"]);
});

test("flags of the server are completed, all that its help has and none of those for commands", () => {
  const inHelp = [...SERVER_USAGE.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => `--${name}`);
  assert.ok(inHelp.length > 10);
  assert.deepEqual(complete("holdfast", "server", "--").toSorted(), inHelp.toSorted());
  assert.deepEqual(complete("holdfast", "server", "-dev-plugin-d"), ["-dev-plugin-dir"]);
  assert.deepEqual(complete("holdfast", "server", "--dev-replica", "p"), ["performance"]);
});

test("a flag is completed by what it means to its command", () => {
  assert.deepEqual(complete("holdfast", "policy", "write", "-type", ""), ["acl", "rgp", "egp"]);
  assert.deepEqual(complete("holdfast", "acl", "token", "create", "--type", "m"), ["management"]);
  assert.deepEqual(complete("holdfast", "policy", "write", "-level", "s"), ["soft-mandatory"]);
  assert.deepEqual(complete("holdfast", "policy", "test", "-cases", "/etc/hostn"), [
    "/etc/hostname",
  ]);
});

test("every command can be reached by completion in every shell", async (t) => {
  const home = makeHome((call) => t.after(call));
  for (const name of COMMAND_NAMES) {
    const words = name.split(" ");
    assert.ok(complete("holdfast", ...words).includes(words.at(-1)!), name);
  }
  for (const shell of ["zsh", "fish"]) {
    const { stdout } = await run(["completion", shell]);
    for (const name of COMMAND_NAMES) {
      for (const word of name.split(" ")) assert.ok(stdout.includes(word), `${shell}: ${name}`);
    }
    // Not by standard input: fish reads none from the sockets that Node makes.
    const file = join(home, shell);
    writeFileSync(file, stdout);
    const { error, status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    if (error === undefined) assert.deepEqual([status, stderr], [0, ""]);
  }
});

test("fish completes by the words in front, where it is installed", async (t) => {
  const home = makeHome((call) => t.after(call));
  const file = join(home, "holdfast.fish");
  writeFileSync(file, (await run(["completion", "fish"])).stdout);
  const completed = (line: string) => {
    const { error, stdout, stderr } = spawnSync(
      "fish",
      ["--no-config", "-c", `source ${file}; complete -C ${JSON.stringify(line)}`],
      { encoding: "utf8", env: { PATH: process.env["PATH"] ?? "", HOME: home } },
    );
    if (error !== undefined) return null;
    assert.equal(stderr.slice(0, 500), "");
    return stdout.split("\n").flatMap((one) => one.split("\t")[0] || []);
  };
  if (completed("holdfast ") === null) return;
  assert.deepEqual(completed("holdfast sta"), ["status"]);
  assert.deepEqual(completed("holdfast -namespace x token rev"), ["revoke", "revoke-self"]);
  assert.deepEqual(completed("holdfast acl bootstrap re"), ["reset"]);
  assert.deepEqual(completed("holdfast policy read -ty"), ["-type"]);
  assert.deepEqual(completed("holdfast read -ty"), [], "a word of another command is not its own");
});

test("mounts, policies and namespaces are asked of the server, and what a shell would obey is left out", async (t) => {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
  const keys = (...names: string[]) => ({
    status: 200,
    body: { request_id: "r", data: { keys: names } },
  });
  const secret = {
    "secret/": { type: "kv" },
    "shop/": { type: "kv" },
    "clouda/": { type: "clouda" },
  };
  const data = { secret, auth: { "userpass/": { type: "userpass" } } };
  server.instead.set("GET sys/internal/ui/mounts", {
    status: 200,
    body: { request_id: "r", data },
  });
  server.instead.set(
    "LIST sys/policies/acl",
    keys("ops", "shop", "$(touch x)", "a b", "`id`", "o;ls"),
  );
  server.instead.set("LIST sys/namespaces", keys("team/"));
  const mount = { path: "secret/", type: "kv", options: { version: "2" } };
  server.instead.set("GET sys/internal/ui/mounts/secret/app", {
    status: 200,
    body: { request_id: "r", data: mount },
  });
  server.instead.set("LIST secret/metadata/app", keys("db", "mail/"));
  const program = join(import.meta.dirname, "..", "..", "bin", "holdfast");
  const completed = async (around: Record<string, string>, ...words: string[]) => {
    const quoted = [program, ...words].map((word) => `'${word}'`).join(" ");
    const line = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _holdfast; echo "\${COMPREPLY[*]}"`;
    const path = process.env["PATH"] ?? "";
    const { stdout, stderr } = await promisify(execFile)(
      "bash",
      ["--norc", "-u", "-c", `${script}\n${line}`],
      {
        env: { ...around, PATH: path },
      },
    );
    assert.equal(stderr, "");
    return stdout.trim().split(/\s+/).filter(Boolean);
  };
  assert.deepEqual(await completed(env, "kv", "get", "s"), ["secret/", "shop/"]);
  assert.deepEqual(await completed(env, "kv", "get", "secret/app/"), [
    "secret/app/db",
    "secret/app/mail/",
  ]);
  assert.deepEqual(await completed(env, "secrets", "tune", ""), ["clouda/", "secret/", "shop/"]);
  assert.deepEqual(await completed(env, "auth", "disable", "u"), ["userpass/"]);
  assert.deepEqual(await completed(env, "policy", "read", ""), ["ops", "shop"]);
  assert.deepEqual(await completed(env, "token", "create", "-policy", "o"), ["ops"]);
  assert.deepEqual(await completed(env, "status", "-namespace", "t"), ["team/"]);
  await server.stop();
  assert.deepEqual(await completed(env, "policy", "read", ""), [], "nothing, and not a word");
});
