// Completion scripts, as far as the shells of this machine can say: bash is asked to complete, others to
// read the script where they are installed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMAND_NAMES } from "../../src/cli/catalogue.ts";
import { makeHome, run } from "./harness.ts";

const { stdout: script } = await run(["completion", "bash"]);

function complete(...words: readonly string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const asked = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _holdfast; echo "\${COMPREPLY[*]}"`;
  const { status, stdout, stderr } = spawnSync("bash", ["-u", "-c", `${script}\n${asked}`], {
    encoding: "utf8",
  });
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
  assert.deepEqual(complete("holdfast", "status", "-namespace", "s"), [], "no guess at a value");
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
