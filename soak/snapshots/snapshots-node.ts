// A node that makes snapshots by itself and for others while it is written to, on a directory of its own: what the
// experiment prepares, kills and looks at.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "@holdfast/shared/bytes";
import { ArchiveParser } from "../../src/snapshots/archive/archive-parser.ts";
import { isOurName } from "../../src/snapshots/targets/target.ts";
import { FORMAT } from "../../src/storage/engines/sqlite-format.ts";
import { SqliteGenerations } from "../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { type Answer, at } from "../../tests/support/http-client.ts";
import { startServer, type TestServer } from "../../tests/support/servers/test-server.ts";

/** Writes go round over so many secrets: what they hold tells which one was the last. */
export const SECRETS = 4;
export const RETAIN = 2;
export const PREFIX = "nightly";
const AUTO = "/v1/sys/storage/raft/snapshot-auto";

/** Files of others among ours; some look much like it. */
const FOREIGN: readonly string[] = [
  "README",
  `${PREFIX}-1.snap`,
  `${PREFIX}-0000000000000000001.snap.old`,
  `.${PREFIX}-0000000000000000001.snap.tmp`,
  `x${PREFIX}-0000000000000000001.snap`,
];

export interface Keys {
  readonly share: string;
  readonly token: string;
}

/** Where everything lies below the directory of an experiment. */
export function placesIn(directory: string) {
  return {
    store: join(directory, "store"),
    data: join(directory, "data"),
    spool: join(directory, "data", "server", "spool"),
    /** Where the configuration puts its snapshots. */
    stored: join(directory, "stored"),
    /** Where somebody saves some of his own. */
    saved: join(directory, "saved"),
  };
}

export async function startNode(directory: string): Promise<TestServer> {
  const { store, data, stored } = placesIn(directory);
  return startServer({
    generations: await SqliteGenerations.claim({ directory: store, fs: new SystemFs() }),
    settings: { data_dir: data, snapshot_roots: [stored], outbound_allow: ["127.0.0.1"] },
  });
}

/** A fresh node with secrets and a configuration, at rest. */
export async function prepare(directory: string, change: object = {}): Promise<Keys> {
  const { stored, saved, data } = placesIn(directory);
  for (const path of [stored, saved, data]) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of FOREIGN) writeFileSync(join(stored, name), foreignText(name), { mode: 0o600 });
  const node = await startNode(directory);
  try {
    const { shares, token } = await node.open();
    const body = { type: "kv", options: { version: "1" } };
    done(await node.call("POST", "/v1/sys/mounts/kv", { token, body }));
    for (let n = 1; n <= SECRETS; n++) await write(node, token, n);
    const config = {
      interval: "24h",
      retain: RETAIN,
      file_prefix: PREFIX,
      path_prefix: stored,
      storage_type: "local",
      local_max_space: 1_000_000_000,
      ...change,
    };
    done(await node.call("POST", `${AUTO}/config/${PREFIX}`, { token, body: config }));
    return { share: shares[0] ?? "", token };
  } finally {
    await node.stop();
  }
}

/** The n-th of all writes. */
export async function write(node: TestServer, token: string, n: number): Promise<void> {
  const body = { value: String(n) };
  done(await node.call("POST", `/v1/kv/s${n % SECRETS}`, { token, body }));
}

/** How many writes there were, by what the secrets hold; null where no number of them leaves just that. */
export async function writesIn(node: TestServer, token: string): Promise<number | null> {
  const found: number[] = [];
  for (let n = 0; n < SECRETS; n++) {
    const answer = await node.call("GET", `/v1/kv/s${n}`, { token });
    found.push(answer.status === 200 ? Number(at(answer, "data", "value")) : Number.NaN);
  }
  const last = Math.max(...found);
  const expected = found.map((_, n) => last - ((((last - n) % SECRETS) + SECRETS) % SECRETS));
  return found.every((value, n) => value === expected[n]) ? last : null;
}

export function runNow(node: TestServer, token: string): Promise<Answer> {
  return node.call("POST", `${AUTO}/run/${PREFIX}`, { token });
}

/** Of the last one that was made by the configuration. */
export async function lastName(node: TestServer, token: string): Promise<string> {
  const status = await node.call("GET", `${AUTO}/status/${PREFIX}`, { token });
  return (
    String(at(status, "data", "last_snapshot_url"))
      .split("/")
      .at(-1) ?? ""
  );
}

/** Names of ours, oldest first. */
export function oursIn(directory: string): string[] {
  const names = readdirSync(placesIn(directory).stored);
  return names.filter((name) => isOurName(PREFIX, name)).toSorted();
}

/** Throws where it is not whole. */
export function checkWhole(archive: Uint8Array): void {
  const parser = new ArchiveParser(FORMAT);
  parser.push(archive);
  parser.end();
}

/** What has become of the files of others, in words. */
export function foreignTrouble(directory: string): string[] {
  const { stored } = placesIn(directory);
  const names = readdirSync(stored);
  return FOREIGN.filter(
    (name) => !names.includes(name) || text(readFileSync(join(stored, name))) !== foreignText(name),
  ).map((name) => `${name} is not ours, and was touched`);
}

/** What is left of work that was cut. */
export function leftOvers(directory: string): string[] {
  const { stored, spool } = placesIn(directory);
  const hidden = readdirSync(stored).filter(
    (name) => name.startsWith(".") && !FOREIGN.includes(name),
  );
  return [...hidden, ...readdirSync(spool)];
}

export function done(answer: Answer): void {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
}

function foreignText(name: string): string {
  return `somebody else's ${name}\n`;
}
