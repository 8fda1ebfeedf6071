// Removing a generation of SQLite: its keys are overwritten before it is unlinked, so that shares of another time
// open nothing that is found on the disk.

import { join } from "node:path";
import type { Fs } from "@holdfast/shared/world";
import { EngineError } from "../engines/engine.ts";
import { WriterFailure } from "../engines/sqlite-failure.ts";
import { SqliteThread } from "../engines/sqlite-thread.ts";
import {
  DATABASE,
  directoryInUse,
  directoryOf,
  type Generation,
  markUsed,
  readLayout,
  removeEmptied,
  settleLayout,
} from "./layout.ts";

/** Removes what a crash has left of other generations. Gives the directory of the one in use. */
export async function tidied(directory: string, fs: Fs): Promise<string> {
  const layout = readLayout(fs, directory);
  for (const number of layout.abandoned) await removeGeneration(directory, number, fs);
  await removeReplaced(directory, fs);
  return directoryInUse(directory, layout);
}

/** Removes the generation that the one in use has replaced. */
export async function removeReplaced(directory: string, fs: Fs): Promise<void> {
  const { inUse, replaced } = readLayout(fs, directory);
  if (inUse === null || replaced === null) return;
  markUsed(fs, directory, inUse);
  await removeGeneration(directory, replaced.generation, fs);
  settleLayout(fs, directory, inUse);
}

export async function removeGeneration(
  directory: string,
  generation: Generation,
  fs: Fs,
): Promise<void> {
  const database = join(directoryOf(directory, generation), DATABASE);
  if (fs.info(database) !== null) await erase(database);
  // Where SQLite could not open it, or a crash came in between.
  for (const file of [`${database}-wal`, `${database}-shm`, database]) fs.remove(file);
  if (generation !== null) removeEmptied(fs, directory, generation);
}

/** A database that is damaged, or not even made, has no keys that could be overwritten by name. */
async function erase(path: string): Promise<void> {
  try {
    const writer = await SqliteThread.start({ path, synchronous: "FULL" }, new WriterFailure());
    await writer.close({ erase: true });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
  }
}
