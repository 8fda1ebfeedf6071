// Folders of people who write plugins: made where they say, with the rights that their system gives.

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { folderTaken } from "./failures.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A folder with these files, from which our own packages are found, and the runtime that they need: the machine's may be an older one,
 *  which finds no test in TypeScript and says that all is well. */
export function makeProject(folder: string, files: Readonly<Record<string, string>>): void {
  const path = resolve(folder);
  if (existsSync(path)) throw folderTaken(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  const packages = join(path, "node_modules", "@holdfast");
  mkdirSync(packages, { recursive: true });
  for (const name of ["shared", "plugin-sdk"]) symlinkSync(join(ROOT, name), join(packages, name));
  const programs = join(path, "node_modules", ".bin");
  mkdirSync(programs);
  symlinkSync(process.execPath, join(programs, "node"));
}

/** A plugin directory for one program, with what else its processes need. */
export interface TrialPlace {
  readonly directory: string;
  readonly temporary: string;
  readonly copies: string;
  remove(): void;
}

export function makeTrialPlace(): TrialPlace {
  const base = mkdtempSync(join(realpathSync(tmpdir()), "hf-try-"));
  const folder = (name: string) => join(base, name);
  for (const name of ["plugins", "sockets"]) mkdirSync(folder(name), { mode: 0o755 });
  return {
    directory: folder("plugins"),
    temporary: folder("sockets"),
    copies: folder("copies"),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** The program as it is, but that nobody else may write it; gives its sum. */
export function copyProgram(file: string, to: string): string {
  copyFileSync(file, to);
  chmodSync(to, statSync(file).mode & 0o755);
  return createHash("sha256").update(readFileSync(to)).digest("hex");
}

/** What a server would start as it is; else it is source. */
export function isProgram(file: string): boolean {
  if (!/\.[mc]?[jt]s$/.test(file)) return true;
  return readFileSync(file).subarray(0, 2).toString("latin1") === "#!";
}
