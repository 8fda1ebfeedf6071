// `doctor plugins` on this machine, with the programs that are here.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { run as cli } from "./harness.ts";

const base = mkdtempSync(join(tmpdir(), "hf-"));
after(() => rmSync(base, { recursive: true, force: true }));
const plugins = join(base, "plugins");
const sockets = join(base, "sockets");
for (const path of [plugins, sockets]) mkdirSync(path, { mode: 0o755 });
chmodSync(base, 0o711);
const file = join(base, "holdfast.hcl");

function configure(more: string): void {
  writeFileSync(
    file,
    `storage "sqlite" { path = "${base}/data" }
listener "tcp" { address = "127.0.0.1:0"  tls_disable = true }
plugin_directory = "${plugins}"
plugin_tmpdir = "${sockets}"
${more}
`,
  );
}

interface Row {
  readonly check: string;
  readonly result: string;
  readonly found: string;
  readonly next: string;
}

async function rowsOf(): Promise<{ readonly code: number; readonly rows: readonly Row[] }> {
  const { code, stdout, all } = await cli(["doctor", "plugins", "-config", file, "-json"]);
  assert.notEqual(stdout, "", all);
  return { code, rows: JSON.parse(stdout) as Row[] };
}

test("doctor plugins says what runs here, by running it, and what to install", async () => {
  const script = join(plugins, "good");
  writeFileSync(script, "#!/bin/sh\n", { mode: 0o755 });
  configure('plugin_oci_runtimes = ["/opt/none/runsc", "runc"]');
  const { rows } = await rowsOf();
  const row = (check: string) => rows.find((one) => one.check === check);
  assert.equal(row("directory")?.found, `${plugins}, 1 file`);
  assert.equal(row("setpriv")?.result, "good");
  assert.deepEqual(row("runsc"), {
    check: "runsc",
    result: "watch",
    found: "is not installed",
    next: "install runsc, or leave it out of plugin_oci_runtimes",
  });
  if (process.env["HOLDFAST_NO_CONTAINERS"] !== "1") {
    assert.equal(row("runc")?.result, "good", row("runc")?.found ?? "not tried");
    assert.equal(row("bwrap")?.result, "good", row("bwrap")?.found ?? "not tried");
  }
  assert.deepEqual(readdirSync(sockets), [], "nothing is left");
  const table = await cli(["doctor", "plugins", "-config", file], { columns: 80 });
  for (const line of table.stdout.split("\n")) assert.ok(line.length <= 80, line);
});

test("doctor plugins names what would not be run: files, folders, runtimes and engines", async () => {
  writeFileSync(join(plugins, "text"), "hello", { mode: 0o755 });
  configure(`container_socket = "${base}/none.sock"`);
  const { code, rows } = await rowsOf();
  assert.equal(code, 1);
  const wrong = rows.filter(({ result }) => result === "wrong");
  assert.deepEqual(
    wrong.map(({ check }) => check),
    ["file", "engine"],
  );
  assert.match(wrong[0]?.found ?? "", /plugin file text: it is neither a program nor a script/);
  assert.match(wrong[1]?.found ?? "", /none\.sock: it cannot be reached by its socket/);
  chmodSync(plugins, 0o777);
  assert.match((await rowsOf()).rows[0]?.found ?? "", /others may write to/);
  const nothing = await cli(["doctor", "plugins"]);
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /name the server's configuration with -config/);
});
