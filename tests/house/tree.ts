// The files of the house, as the checks look at them.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readManifest } from "./packages.ts";

export const root = join(import.meta.dirname, "../..");

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

export function walk(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

export const WORKSPACES = ["shared", "plugin-sdk", "client", "engines", "plugins/postgresql"];
export const files = ["src", ...WORKSPACES, "sim", "soak", "bench", "tests"].flatMap(walk);
export const scripts = files.filter((path) => path.endsWith(".ts"));

export function manifestOf(workspace: string) {
  return readManifest(read(join(workspace, "package.json")));
}
