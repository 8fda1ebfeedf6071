// The list of commands: each is loaded under its own name, and can be explained.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMAND_NAMES, findCommand, GROUPS, loadAll, loadCommand } from "./catalogue.ts";
import { commandHelp, groupHelp, overview } from "./help.ts";
import { flagName } from "./line/flag.ts";
import { GLOBAL_FLAGS } from "./settings.ts";
import { VERSION } from "../system/version.ts";

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

test("the help of a command names each of its flags and arguments, and fits its terminal", async () => {
  for (const command of await loadAll()) {
    const help = commandHelp(command, 80);
    for (const key of Object.keys(command.flags)) assert.ok(help.includes(`-${flagName(key)}`));
    assert.ok(command.examples.length > 0, command.name);
    for (const width of [80, 100]) {
      const lines = commandHelp(command, width).split("\n");
      // A word in quotes, or one word, may be longer than a line.
      const long = lines.filter(
        (line) => line.length > width && !/^ +\S*'[^']*'( \\)?$/.test(line),
      );
      assert.deepEqual(long, [], command.name);
    }
  }
  for (const line of (await overview(80)).split("\n")) assert.ok(line.length <= 80, line);
  for (const group of GROUPS) {
    for (const line of (await groupHelp(group, 80)).split("\n")) assert.ok(line.length <= 80, line);
  }
});

test("the version is that of the package", () => {
  const manifest = readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8");
  assert.equal(VERSION, JSON.parse(manifest).version);
});
