// The process of the experiment with a full disk: a node with everything on it in one small file system. Says what it
// has seen and ends with status 0, or with another and what is wrong. Argument: `FullDiskTarget`.

import { closeSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SystemFs } from "../../src/system/fs.ts";
import { SystemSnapshotFiles } from "../../src/system/snapshot-files.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { type Answer, at } from "../../tests/support/http-client.ts";
import type { TestServer } from "../../tests/support/servers/test-server.ts";
import { sendSnapshot, takeSnapshot } from "../../tests/support/snapshots/snapshot-calls.ts";
import { until } from "../../tests/support/until.ts";
import {
  checkWhole,
  done,
  foreignTrouble,
  leftOvers,
  oursIn,
  placesIn,
  prepare,
  runNow,
  SECRETS,
  startNode,
  write,
  writesIn,
} from "./snapshots-node.ts";
import { endlessDirectories, endlessDisk } from "./snapshots-plants.ts";

export interface FullDiskTarget {
  readonly directory: string;
  readonly plant: boolean;
}

const MIB = 1024 * 1024;
const KEPT = 128 * MIB; // from snapshots, for the store
const LARGE = { count: 16, bytes: 500_000 };
const MAX_RUNS = 50;

const { directory, plant } = JSON.parse(process.argv[2] ?? "{}") as FullDiskTarget;
const wrong: string[] = [];
let written = SECRETS;

function expect(holds: boolean, otherwise: string): void {
  if (!holds) wrong.push(otherwise);
}

function free(): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** Something of somebody else's that leaves so many bytes. */
function ballast(left: number): string {
  const path = join(directory, "ballast");
  const file = openSync(path, "w", 0o600);
  for (let bytes = free() - left; bytes > 0; bytes -= MIB) {
    writeSync(file, Buffer.alloc(Math.min(bytes, MIB), 1));
  }
  closeSync(file);
  return path;
}

async function main(): Promise<string> {
  if (plant) {
    endlessDisk(SystemFs.prototype);
    endlessDirectories(SystemSnapshotFiles.prototype);
  }
  const { token, share } = await prepare(directory, { retain: MAX_RUNS });
  const node = await startNode(directory);
  await node.unseal([share]);
  const stopped = node.server.failed.then((cause) => {
    throw new Error(`the server stopped: ${errorText(cause)}`);
  });
  const made = await Promise.race([filled(node, token), stopped]);
  await node.stop();
  return `full disk: ${made} snapshots until it was full, and everything went on`;
}

async function filled(node: TestServer, token: string): Promise<number> {
  for (let n = 0; n < LARGE.count; n++) {
    const body = { value: String(n % 10).repeat(LARGE.bytes) };
    done(await node.call("POST", `/v1/kv/large-${n}`, { token, body }));
  }
  const small = await takeSnapshot(node.url, token);
  expect(small.status === 200, `a download on a disk with room: ${small.status}`);
  const made = await fillBySnapshots(node, token);
  const tight = ballast(KEPT + MIB);
  for (const [what, answer] of [
    ["a download", await takeSnapshot(node.url, token)],
    ["a restore", await sendSnapshot(node.url, token, "snapshot", small.body)],
  ] as const) {
    expect(answer.status === 503, `${what} on a full disk: ${answer.status}`);
  }
  rmSync(tight);
  await goesOn(node, token);
  await nearlyNothing(node, token);
  // As an operator does: what is old goes.
  for (const name of oursIn(directory).slice(0, 3)) rmSync(join(placesIn(directory).stored, name));
  const answer = await runNow(node, token);
  expect(answer.status === 200, `no snapshot with room again: ${answer.text}`);
  await goesOn(node, token);
  expect((await node.server.store.check()).ok, "the check is not clean");
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return made;
}

async function fillBySnapshots(node: TestServer, token: string): Promise<number> {
  let answer: Answer | null = null;
  let made = 0;
  for (; made < MAX_RUNS; made++) {
    answer = await runNow(node, token);
    expect(free() >= KEPT - MIB, `a snapshot left ${free()} bytes`);
    if (answer.status !== 200) break;
  }
  const saysWhy = /bytes are free/.test(answer?.text ?? "");
  expect(
    answer?.status === 502 && saysWhy,
    `${made} snapshots, and then ${answer?.status} ${answer?.text}`,
  );
  return made;
}

/** Writes are taken, and of snapshots only whole ones are there. */
async function goesOn(node: TestServer, token: string): Promise<void> {
  await write(node, token, ++written);
  expect((await writesIn(node, token)) === written, "what was written is not there");
  const { stored } = placesIn(directory);
  for (const name of oursIn(directory)) checkWhole(readFileSync(join(stored, name)));
  const left = leftOvers(directory);
  expect(left.length === 0, `left behind: ${left.join(", ")}`);
  wrong.push(...foreignTrouble(directory));
}

/** Others have filled the disk into the reserve of the store. */
async function nearlyNothing(node: TestServer, token: string): Promise<void> {
  const minted = await node.call("POST", "/v1/acl/token", {
    token,
    body: { Name: "short", Type: "client", Policies: ["default"] },
  });
  done(minted);
  const path = ballast(48 * MIB);
  const body = { value: "more" };
  const attempt = () => node.call("POST", "/v1/kv/more", { token, body });
  await until(async () => (await attempt()).status === 503);
  expect((await writesIn(node, token)) === written, "nothing can be read");
  // Where the store takes nothing either, that is what is told.
  const { status } = await runNow(node, token);
  expect(status === 502 || status === 503, `a snapshot on a full disk: ${status}`);
  done(await node.call("DELETE", "/v1/kv/large-0", { token }));
  done(await node.call("DELETE", `/v1/acl/token/${String(at(minted, "AccessorID"))}`, { token }));
  rmSync(path);
  await until(async () => (await attempt()).status < 300);
}

try {
  process.stdout.write(`${await main()}\n`);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exit(1);
}
