// The list of commands: each is loaded under its own name, and can be explained.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMAND_NAMES, findCommand, loadAll, loadCommand } from "./catalogue.ts";
import { commandHelp, overview } from "./help.ts";
import { flagName } from "./flag.ts";
import { GLOBAL_FLAGS } from "./settings.ts";
import { VERSION } from "../base/version.ts";

test("every command has the name it is found by", async () => {
  for (const name of COMMAND_NAMES) {
    assert.equal((await loadCommand(name)).name, name);
    const words = name.split(" ");
    assert.deepEqual(findCommand(words), { kind: "command", name, words: words.length });
  }
});

test("no command has a flag that means something else everywhere", async () => {
  const globals = Object.keys(GLOBAL_FLAGS).map(flagName);
  for (const { name, flags, args } of await loadAll()) {
    for (const key of Object.keys(flags)) {
      assert.ok(!globals.includes(flagName(key)), `${name}: -${flagName(key)}`);
      assert.ok(!Object.hasOwn(args, key), `${name}: ${key} is a flag and an argument`);
    }
  }
});

test("the help of a command names each of its flags and arguments, and fits 100 columns", async () => {
  for (const command of await loadAll()) {
    const help = commandHelp(command);
    for (const key of Object.keys(command.flags)) assert.ok(help.includes(`-${flagName(key)}`));
    assert.ok(command.examples.length > 0, command.name);
    for (const line of help.split("\n")) assert.ok(line.length <= 100, line);
  }
  for (const line of (await overview()).split("\n")) assert.ok(line.length <= 100, line);
});

test("the version is that of the package", () => {
  const manifest = readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8");
  assert.equal(VERSION, JSON.parse(manifest).version);
});
