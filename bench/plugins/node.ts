// A server with the plugin that is measured in its catalog, and where its files lie.

import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../scripts/bundle-plugin.ts";
import { type Caller, call } from "../api/api-caller.ts";
import { type ReadyNode, withNode } from "../api/api-node.ts";
import type { Context } from "../row.ts";

export const NAME = "bench";
export const CATALOG = `sys/plugins/catalog/secret/${NAME}`;
const FILE = "bench.mjs";

export interface PluginFolder {
  readonly settings: string;
  /** Of the one file. */
  readonly sha256: string;
}

/** As an author makes it: all of it in one file. */
export function pluginFile(): string {
  return bundle(join(import.meta.dirname, "bench-plugin.ts"));
}

/** A short path of its own: names of sockets have little room. */
export async function withFolder<T>(use: (folder: PluginFolder) => Promise<T>): Promise<T> {
  const base = mkdtempSync(join(tmpdir(), "hf-"));
  try {
    const [directory, runs] = [join(base, "plugins"), join(base, "runs")];
    for (const path of [directory, runs]) mkdirSync(path, { mode: 0o755 });
    const text = pluginFile();
    writeFileSync(join(directory, FILE), text);
    chmodSync(join(directory, FILE), 0o755);
    const settings = `plugin_directory = ${JSON.stringify(directory)}
plugin_tmpdir = ${JSON.stringify(runs)}
plugin_isolation = "none"
`;
    return await use({ settings, sha256: createHash("sha256").update(text).digest("hex") });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

export async function register(caller: Caller, sha256: string, name = NAME): Promise<void> {
  const body = { sha256, command: FILE };
  await call(caller, "POST", `sys/plugins/catalog/secret/${name}`, body);
}

/** Registered; mounted by whoever needs it. */
export async function withPlugins<T>(
  { directory }: Context,
  use: (node: ReadyNode) => Promise<T>,
): Promise<T> {
  return await withFolder(({ settings, sha256 }) =>
    withNode(
      directory,
      async (node) => {
        await register(node.caller, sha256);
        return await use(node);
      },
      settings,
    ),
  );
}

export async function mount(caller: Caller, path: string, type = NAME): Promise<void> {
  await call(caller, "POST", `sys/mounts/${path}`, { type });
}

/** Of the one process of the plugin. */
export async function pluginPid(caller: Caller): Promise<number> {
  const { data } = (await call(caller, "GET", CATALOG)) as {
    data: { processes: readonly { pid: number }[] };
  };
  const [first, ...others] = data.processes;
  if (first === undefined || others.length > 0) throw new Error("the plugin has no one process");
  return first.pid;
}

/** What the server has started that has a word in its command. */
export function childOf(pid: number, word: string): number | null {
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "latin1"))?.[1];
      const words = readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0");
      if (Number(parent) === pid && words.includes(word)) return Number(name);
    } catch {
      continue; // it has ended meanwhile
    }
  }
  return null;
}
