// The page on plugins, from nothing to a mount, as somebody does it who has never seen one.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { PluginServer } from "../support/plugins/mounted-plugins.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("ten minutes: a plugin is made, tested, built, registered, mounted and counts, by the page's own lines", async (t) => {
  const server = await PluginServer.start(t);
  const home = mkdtempSync(join(tmpdir(), "hf-page-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const blocks = blocksOf(readPage("plugin-sdk.md")).filter(({ kind }) => kind === "sh");
  assert.equal(blocks.length, 3, "the page was read");
  const lines = adapted(blocks.map(({ text }) => text).join("\n"), [
    ["/usr/lib/holdfast/plugins", server.place.directory],
  ]);
  // As a newcomer has it: `node` is whatever the machine has, which may be too old for tests in TypeScript.
  const own = (process.env["PATH"] ?? "").split(delimiter);
  const path = [join(ROOT, "bin"), ...own.filter((one) => !one.includes("node_modules"))];
  const { stdout, stderr } = await promisify(execFile)("bash", ["-e", "-c", lines], {
    cwd: home,
    env: {
      HOME: home,
      PATH: path.join(delimiter),
      HOLDFAST_ADDR: server.test.url,
      HOLDFAST_TOKEN: server.opened.token,
    },
  });
  assert.match(stdout, /tests 1\n/);
  assert.match(stdout, /count\s+2/);
  // Between such marks no line is broken: it is there to be copied.
  assert.match(
    stderr,
    /`holdfast plugin register -sha256=\w{64} -command=doorbell.mjs secret doorbell`/,
  );
  const { json } = await server.call("GET", "doorbell/front");
  assert.deepEqual((json as { data: unknown }).data, { count: 2 });
  const refused = await server.call("POST", "doorbell/front", { body: { by: 1000 } });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /by must be a whole number from 1 to 100/);
  assert.equal((await server.data("sys/mounts/doorbell"))["running_plugin_version"], "v1.1.0");
});

test("what no plugin can be made of is refused with its place: packages of others, files that are not there, no type", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "hf-page-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const build = async (source: string) => {
    writeFileSync(join(home, "a.ts"), source);
    const run = promisify(execFile)(join(ROOT, "bin", "holdfast"), ["plugin", "build", "a.ts"], {
      cwd: home,
    });
    const { stderr } = await run.then(
      () => assert.fail("it was built"),
      (error: unknown) => error as { stderr: string },
    );
    return stderr;
  };
  assert.match(await build('import x from "left-pad";\nexport default x;\n'), /imports left-pad/);
  assert.match(await build('import x from "./b.ts";\nexport default x;\n'), /no such file/);
  assert.match(await build("enum A { B }\nexport default A;\n"), /types cannot be left out/);
  assert.match(await build("const a = 1;\nthis is ( no code\n"), /a\.ts:2: its types cannot/);
  assert.match(await build("export default 7;\n"), /no type of engine/);
  assert.deepEqual(readdirSync(home), ["a.ts"], "nothing is left");
});
