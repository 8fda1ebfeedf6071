// Folders of people who write plugins: made where they say, with the rights that their system gives.

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { folderTaken } from "./failures.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A folder with these files, from which our own packages are found. */
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
}
