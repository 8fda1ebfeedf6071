// Places for stores of the sqlite engine, and engines in them, also of other processes. All of it goes when the tests end.

import { type ChildProcess, spawn } from "node:child_process";
import * as files from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach } from "node:test";
import { batchOf } from "../../contract/engine.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { SqliteEngine, type SqliteOptions } from "../../../src/storage/engines/sqlite.ts";

const root = files.mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
after(() => files.rmSync(root, { recursive: true }));
let places = 0;

export function newPlace(): string {
  return join(root, `${places++}`);
}

// Also after a failure: what stays open would keep the tests from ending.
const engines: SqliteEngine[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const each of children.splice(0)) each.kill("SIGKILL");
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

export async function open(
  directory: string,
  options: Partial<SqliteOptions> = {},
): Promise<SqliteEngine> {
  const engine = await SqliteEngine.open({ directory, fs: new SystemFs(), ...options });
  engines.push(engine);
  return engine;
}

export function putting(key: string, value: Uint8Array | null) {
  return batchOf({ data: [{ key, value }] });
}

export function sumRow(slot: number, count: number) {
  return { slot, sum: new Uint8Array(32).fill(count), count };
}

export function modeOf(path: string): string {
  return (files.statSync(path).mode & 0o777).toString(8);
}

/** Runs a module in a process of its own; it finds `SqliteEngine`, `open` and `putting`. */
export function child(directory: string, body: string, limit = ""): ChildProcess {
  const source = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    import { SqliteEngine } from ${source("../../../src/storage/engines/sqlite.ts")};
    import { SystemFs } from ${source("../../../src/system/fs.ts")};
    const directory = ${JSON.stringify(directory)};
    const open = () => SqliteEngine.open({ directory, fs: new SystemFs() });
    const batch = { expect: { name: "none", value: null }, leaves: [], sums: [], log: [],
      cutLogAbove: null, trimLogBelow: null, meta: [] };
    const putting = (key, value) => ({ ...batch, data: [{ key, value }] });
    ${body}
  `;
  const args = ["-c", `${limit} exec "$0" --input-type=module -e "$1"`, process.execPath, program];
  const started = spawn("/bin/sh", args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(started);
  return started;
}

/** The first line that the process prints. */
export async function line(process: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of process.stdout!.setEncoding("utf8")) {
    text += String(chunk);
    if (text.includes("\n")) break;
  }
  return text.trim();
}
