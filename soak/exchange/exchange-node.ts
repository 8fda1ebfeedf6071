// A node whose data is exchanged by restoring a snapshot, on a directory of its own: what the experiment prepares, kills
// and looks at.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fs } from "@holdfast/shared/world";
import { SqliteGenerations } from "../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { at } from "../../tests/support/http-client.ts";
import { startServer, type TestServer } from "../../tests/support/servers/test-server.ts";
import { sendSnapshot, takeSnapshot } from "../../tests/support/snapshots/snapshot-calls.ts";
import { until } from "../../tests/support/until.ts";

export const SECRETS = 8;
/** What the snapshot holds under every name. */
export const SAVED = "saved";

export interface Keys {
  readonly share: string;
  readonly token: string;
}

/** `directory` is that of the store. */
export async function startNode(directory: string, fs: Fs = new SystemFs()): Promise<TestServer> {
  return startServer({ generations: await SqliteGenerations.claim({ directory, fs }) });
}

/** A fresh store with secrets, and its snapshot. */
export async function prepare(directory: string): Promise<Keys & { readonly archive: Buffer }> {
  const node = await startNode(directory);
  try {
    const { shares, token } = await node.open();
    const body = { type: "kv", options: { version: "1" } };
    await expect(node.call("POST", "/v1/sys/mounts/kv", { token, body }));
    for (let n = 0; n < SECRETS; n++) await write(node, token, n, SAVED);
    const { status, body: archive } = await takeSnapshot(node.url, token);
    if (status !== 200) throw new Error(`the snapshot: ${status}`);
    return { share: shares[0] ?? "", token, archive };
  } finally {
    await node.stop();
  }
}

export async function write(
  node: TestServer,
  token: string,
  n: number,
  value: string,
): Promise<void> {
  await expect(node.call("POST", `/v1/kv/s${n}`, { token, body: { value } }));
}

export async function values(node: TestServer, token: string): Promise<string[]> {
  const found: string[] = [];
  for (let n = 0; n < SECRETS; n++) {
    const answer = await node.call("GET", `/v1/kv/s${n}`, { token });
    found.push(answer.status === 200 ? String(at(answer, "data", "value")) : String(answer.status));
  }
  return found;
}

/** Gives how it ended: done, or failed with its cause. */
export async function restore(node: TestServer, token: string, archive: Buffer): Promise<string> {
  const { status, text } = await sendSnapshot(node.url, token, "snapshot", archive);
  if (status !== 204) return `failed: ${status} ${text}`;
  let state = "";
  await until(async () => {
    const answer = await node.call("GET", "/v1/sys/storage/raft/restore-status", { token });
    if (answer.status !== 200) return false;
    state = String(at(answer, "data", "state"));
    return state === "done" || state === "failed";
  });
  return state;
}

async function expect(call: Promise<{ readonly status: number; readonly text: string }>) {
  const { status, text } = await call;
  if (status >= 300) throw new Error(`${status} ${text}`);
}

/** For the plant: which generation is in use is written over the old answer, and is on no disk. */
export class CarelessFs extends SystemFs {
  override replace(path: string, bytes: Uint8Array): void {
    if (path.endsWith(`${join("/", "current")}`)) writeFileSync(path, bytes, { mode: 0o600 });
    else super.replace(path, bytes);
  }
}
