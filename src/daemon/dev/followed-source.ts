// Whether somebody has saved a file of a folder.

import { mkdirSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Calls for each change in the folder of the file; gives how to stop that. */
export function followSource(file: string, changed: () => void): () => void {
  const watcher = watch(dirname(file), (_, name) => {
    if (name === null || /\.[mc]?[jt]s$/.test(name)) changed();
  });
  watcher.on("error", () => {}); // the folder is gone, and with it whoever saves
  return () => watcher.close();
}

/** Readable by the programs in it, and writable by us alone: as a plugin directory has to be. */
export function makePluginDirectory(path: string): void {
  mkdirSync(path, { mode: 0o755 });
}
