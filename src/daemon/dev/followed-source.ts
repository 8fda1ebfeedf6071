// Whether somebody has saved a file of a folder, and the programs in it.

import { createHash } from "node:crypto";
import {
  copyFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

const EXECUTABLE = 0o111;

/** Calls for each change in the folder of the file; gives how to stop that. */
export function followSource(file: string, changed: () => void): () => void {
  return followFolder(dirname(file), changed, /\.[mc]?[jt]s$/);
}

/** The same of whatever is in the folder, or is called so. */
export function followFolder(folder: string, changed: () => void, called = /(?:)/): () => void {
  const watcher = watch(folder, (_, name) => {
    if (name === null || called.test(name)) changed();
  });
  watcher.on("error", () => {}); // the folder is gone, and with it whoever saves
  return () => watcher.close();
}

export interface FoundProgram {
  readonly name: string;
  /** Another one when it was replaced or written. */
  readonly state: string;
}

/** Executables, by links too; null: there is no such folder. */
export function programsIn(folder: string): FoundProgram[] | null {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  return readdirSync(folder).flatMap((name) => {
    if (name.startsWith(".")) return [];
    const facts = statSync(join(folder, name), { throwIfNoEntry: false });
    if (facts?.isFile() !== true || (facts.mode & EXECUTABLE) === 0) return [];
    return [{ name, state: `${facts.ino} ${facts.size} ${facts.mtimeMs} ${facts.ctimeMs}` }];
  });
}

/** Gives its SHA-256. */
export function copyProgram(from: string, to: string): string {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
  return sumOf(readFileSync(to));
}

/** The same of a program that is a text. */
export function writeProgram(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return sumOf(Buffer.from(text));
}

export function removeProgram(path: string): void {
  rmSync(path, { force: true });
}

function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Readable by the programs in it, and writable by us alone: as a plugin directory has to be. */
export function makePluginDirectory(path: string): void {
  mkdirSync(path, { mode: 0o755 });
}
