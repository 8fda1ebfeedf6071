// Threats that the runtime itself is closed against: the program as operators start it, and what its process
// says of itself.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { configured, PROGRAM, ROOT, StartedServer } from "../support/servers/started-server.ts";

const FLAGS = ["--disallow-code-generation-from-strings", "--disable-proto=delete"];

function started(t: TestContext, ...command: readonly string[]): Promise<StartedServer> {
  const { home, config } = configured(t, 'storage "memory" {}\n');
  return new StartedServer(t, home, [...command, "server", "--config", config]).ready();
}

test("T-C12: the running server makes no code from text", async (t) => {
  const { pid } = await started(t, PROGRAM);
  const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  for (const flag of FLAGS) assert.ok(command.includes(flag), flag);
  // What these flags of the server come to, in a process of the same runtime.
  const flags = command.slice(1, command.indexOf(join(ROOT, "src", "main.ts")));
  const tried = spawnSync(process.execPath, [...flags, "-e", 'globalThis["eval"]("1")']);
  assert.match(tried.stderr.toString(), /Code generation from strings disallowed/);
});

test("T-N09: in the running server nothing can be added to what all objects have in common", async (t) => {
  const { log } = await started(t, PROGRAM);
  assert.doesNotMatch(log, /prototypes of the language can be changed/);
  assert.doesNotMatch(log, /the runtime was started without/);
  const other = await started(t, process.execPath, join(ROOT, "src", "main.ts"));
  assert.match(other.log, new RegExp(`started without ${FLAGS.join(" and ")}`), "and it is told");
  assert.doesNotMatch(
    other.log,
    /prototypes of the language can be changed/,
    "sealed all the same",
  );

  const script = `
    import { sealIntrinsics } from ${JSON.stringify(join(ROOT, "src", "daemon", "intrinsics.ts"))};
    sealIntrinsics();
    const failed = [Object, Array, Function, String, Map, Promise, Error, Buffer].filter(
      ({ prototype }) => !Reflect.defineProperty(prototype, "polluted", { value: 1 }),
    );
    const assigned = {};
    assigned["__proto__"] = { polluted: 1 };
    class Own extends Error { constructor() { super("x"); this.name = "Own"; } }
    console.log(failed.length, Object.keys(assigned), {}.polluted, new Own().name);`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(stdout.toString().trim(), "8 [ '__proto__' ] undefined Own", stderr.toString());
});
