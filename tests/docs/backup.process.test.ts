// docs/operations/backup.md: its commands take a copy of a store that is being written, and bring
// it back.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { promisify } from "node:util";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { configured, PROGRAM, ROOT, StartedServer } from "../support/servers/started-server.ts";

const PAGE = readPage("operations/backup.md");
const UPGRADE = readPage("operations/upgrade.md");

// The program of that name, where a machine may have none.
const SQLITE = `
sqlite3() {
  "$NODE" -e 'new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec(process.argv[2])' "$1" "$2"
}
`;

async function shell(
  home: string,
  block: string,
  more: Record<string, string> = {},
): Promise<void> {
  const here = adapted(block, [
    ["/var/backups/holdfast", join(home, "backups")],
    ["/var/lib/holdfast", join(home, "data")],
    ["/etc/holdfast", join(home, "h.hcl")],
    ["-o holdfast -g holdfast ", ""],
    ["runuser -u holdfast -- ", ""],
  ]);
  const path = `${join(ROOT, "bin")}:${process.env["PATH"] ?? ""}`;
  const env = { PATH: path, HOME: home, NODE: process.execPath, ...more };
  const script = `set -eu\n${SQLITE}\n${here}\n`;
  // It rejects, with what was printed, unless the exit code is 0.
  await promisify(execFile)("bash", ["-c", script], { env });
}

function block(heading: string): string {
  const [, part = ""] = PAGE.split(new RegExp(`\n##+ ${heading}\n`));
  const found = blocksOf(part).find(({ kind, byHand }) => kind === "sh" && !byHand);
  assert.ok(found, heading);
  return found.text;
}

async function opened(server: StartedServer, key: string): Promise<void> {
  const { status } = await server.call("POST", "/v1/sys/unseal", { body: { key } });
  assert.equal(status, 200);
}

test("a copy taken while the server writes is restored with what was acknowledged before", async (t) => {
  const { home, config } = configured(t);
  const command = [PROGRAM, "server", "--config", config];
  const first = await new StartedServer(t, home, command).ready();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = (await first.call("POST", "/v1/sys/init", { body })).json as {
    keys_base64: readonly [string];
    root_token: string;
  };
  const [share] = made.keys_base64;
  const token = made.root_token;
  await opened(first, share);
  const mount = { type: "kv", options: { version: "1" } };
  assert.equal((await first.call("POST", "/v1/sys/mounts/kv", { token, body: mount })).status, 204);

  let writes = 0;
  const acknowledged: number[] = [];
  let stop = false;
  const reached = Promise.withResolvers<void>();
  const writer = async () => {
    while (!stop) {
      const n = (writes += 1);
      const { status } = await first.call("POST", `/v1/kv/s${n}`, { body: { n }, token });
      assert.equal(status, 204);
      if (acknowledged.push(n) === 30) reached.resolve();
    }
  };
  const writing = [writer(), writer()];
  await Promise.race([reached.promise, ...writing]);
  const before = [...acknowledged];
  await shell(home, block("Taking a copy"));
  assert.equal(statSync(join(home, "backups", "store.db")).mode & 0o777, 0o600);
  assert.ok(acknowledged.length > before.length, "it was written to meanwhile");
  stop = true;
  await Promise.all(writing);
  assert.equal(await first.stop(), 0);

  await shell(home, block("Putting a copy back"));
  const second = await new StartedServer(t, home, command).ready();
  await opened(second, share);
  for (const at of before) {
    const { status, json: answer } = await second.call("GET", `/v1/kv/s${at}`, { token });
    assert.equal(status, 200, `s${at}`);
    assert.equal((answer as { data: { n: number } }).data.n, at);
  }
  assert.equal(await second.stop(), 0);

  // An older release before what a newer one wrote.
  const store = new DatabaseSync(join(home, "data", "store", "store.db"));
  store.exec("PRAGMA user_version = 99");
  store.close();
  const refused = new StartedServer(t, home, command);
  assert.equal(await refused.ended, 2);
  const [, promised = "?"] = /refuses it\s+\(`([^`]+)`/.exec(UPGRADE) ?? [];
  assert.ok(refused.log.includes(promised), refused.log);
});

test("a snapshot that was saved is restored, and again when the data directory is gone", async (t) => {
  const { home, config } = configured(t);
  const command = [PROGRAM, "server", "--config", config];
  const address = (server: StartedServer) => /addresses=(\S+)/.exec(server.log)?.[1] ?? "";
  const first = await new StartedServer(t, home, command).ready();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = (await first.call("POST", "/v1/sys/init", { body })).json as {
    keys_base64: readonly [string];
    root_token: string;
  };
  const [share] = made.keys_base64;
  const token = made.root_token;
  await opened(first, share);
  const valueOf = async (server: StartedServer) => {
    const { json } = await server.call("GET", "/v1/kv/a", { token });
    return (json as { data?: { value?: string } }).data?.value;
  };
  const put = (value: string) => first.call("POST", "/v1/kv/a", { token, body: { value } });
  const mount = { type: "kv", options: { version: "1" } };
  assert.equal((await first.call("POST", "/v1/sys/mounts/kv", { token, body: mount })).status, 204);
  await put("saved");
  const env = { HOLDFAST_ADDR: address(first), HOLDFAST_TOKEN: token };
  await shell(home, block("Saving a snapshot"), env);
  await put("later");
  await shell(home, block("Restoring a snapshot"), env);
  assert.equal(await valueOf(first), "saved");
  assert.equal(await first.stop(), 0);

  rmSync(join(home, "data"), { recursive: true });
  const second = await new StartedServer(t, home, command).ready();
  assert.match(second.log, /initialized=false/);
  const [restore = ""] = block("On an empty machine").split("\n");
  await shell(home, restore, { HOLDFAST_ADDR: address(second) });
  await opened(second, share);
  assert.equal(await valueOf(second), "saved");
  assert.equal(await second.stop(), 0);
});
