// A primary whose store was damaged on the disk while it was stopped: it starts, is healed from its secondary, and both are
// equal. Through whole servers, with real files on the primary's side and real TLS between them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import type { Generations } from "../../../src/storage/generations/generations.ts";
import { SqliteGenerations } from "../../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { at } from "../../support/http-client.ts";
import {
  Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { freePort } from "../../support/replication/tcp-proxy.ts";
import { type Opened, startServer } from "../../support/servers/test-server.ts";

const CHECK = "/v1/sys/replication/merkle-check";

async function onDisk(directory: string, clusterPort: number): Promise<ClusterOptions> {
  const claimed = await SqliteGenerations.claim({ directory, fs: new SystemFs() });
  let isOpen = true; // the first server is stopped by the test, and again with it
  const generations: Generations = {
    open: () => claimed.open(),
    begin: () => claimed.begin(),
    removeReplaced: () => claimed.removeReplaced(),
    close: async () => {
      if (isOpen) await claimed.close();
      isOpen = false;
    },
  };
  return { generations, clusterPort };
}

/** The same store, as somebody starts it again. */
async function again(
  t: TestContext,
  directory: string,
  port: number,
  opened: Opened,
): Promise<Cluster> {
  const { generations } = await onDisk(directory, port);
  const server = await startServer({
    generations: generations!,
    config: (config) => ({ ...config, clusterPort: { host: "127.0.0.1", port } }),
  });
  t.after(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  await server.unseal(opened.shares);
  return new Cluster(server, opened);
}

/** One bit of each; a row is gone, and one with its leaf. */
function damage(directory: string): void {
  const db = new DatabaseSync(join(directory, "store.db"));
  try {
    const keyOf = (name: string) => {
      const like = `shared/ns/%/mounts/%${name}%`;
      const row = db.prepare("SELECT key FROM data WHERE key LIKE ? ORDER BY key").get(like);
      return String(row?.["key"]);
    };
    const bit = (table: string, column: string, key: string) => {
      const row = db.prepare(`SELECT ${column} AS bytes FROM ${table} WHERE key = ?`).get(key);
      const bytes = Buffer.from(row!["bytes"] as Uint8Array);
      bytes[bytes.length - 1]! ^= 4;
      db.prepare(`UPDATE ${table} SET ${column} = ? WHERE key = ?`).run(bytes, key);
    };
    bit("data", "value", keyOf("value-bit"));
    bit("leaf", "hash", keyOf("leaf-bit"));
    bit("leaf", "scope", keyOf("scope-bit"));
    db.prepare("DELETE FROM data WHERE key = ?").run(keyOf("row-gone"));
    const gone = keyOf("both-gone");
    for (const table of ["data", "leaf"]) {
      db.prepare(`DELETE FROM ${table} WHERE key = ?`).run(gone);
    }
  } finally {
    db.close();
  }
}

test("what was damaged on the primary's disk is healed from the secondary, which stays as it is", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-healing-"));
  const port = await freePort();
  const a = await startPrimary(t, await onDisk(directory, port));
  const names = ["value-bit", "leaf-bit", "scope-bit", "row-gone", "both-gone", "whole"];
  for (const name of names) await a.put(name, { n: name });
  const b = await joined(t, a);
  await inSync(a, b);
  await a.server.stop();
  damage(directory);

  const healed = await again(t, directory, port, a.opened);
  await b.replication.recover();
  await inSync(healed, b);
  const answer = await healed.server.call("POST", CHECK, {
    token: a.token,
    body: { deep: true },
  });
  assert.equal(answer.status, 200, answer.text);
  const report = at(answer, "data", "merkle_corruption_report") as Record<string, unknown>;
  assert.deepEqual([report["corrupted_root"], report["healed_keys_count"]], [true, 5], answer.text);
  assert.match(String(at(answer, "warnings")), /5 damaged records were healed/);

  for (const name of names) {
    const read = await healed.server.call("GET", `/v1/secret/data/${name}`, { token: a.token });
    assert.equal(read.status, 200, read.text);
    assert.equal(at(read, "data", "data", "n"), name);
  }
  assert.equal((await healed.status())["corrupted_merkle_tree"], false);
  assert.ok((await healed.server.server.store.check()).ok);
  assert.ok((await b.server.server.store.check()).ok);
  await inSync(healed, b);
  const roots = [healed, b].map(({ server }) => hex(server.server.store.trees.compositeRoot()));
  assert.equal(roots[0], roots[1]);
  const metrics = await healed.server.call("GET", "/v1/sys/metrics?format=prometheus", {
    token: a.token,
  });
  assert.match(metrics.text, /^holdfast_replication_records_healed_total 5$/m);
  assert.ok(healed.server.lines.some((line) => line.includes("replication.healed")));
});
