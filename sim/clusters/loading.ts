// What the product loads when it is first needed comes from the disk, in time that no seed knows of: the first walk of a process
// would be another one than the second.

import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { loadX509 } from "../../src/base/x509.ts";

const ROOT = join(import.meta.dirname, "..", "..");

let loaded: Promise<void> | null = null;

/** Before a walk begins. */
export function loadAll(): Promise<void> {
  return (loaded ??= load());
}

async function load(): Promise<void> {
  await loadX509();
  const files = globSync("src/{cluster,replication}/**/*.ts", {
    cwd: ROOT,
    exclude: (name) => name.endsWith(".test.ts"),
  });
  for (const file of files) await import(pathToFileURL(join(ROOT, file)).href);
}
