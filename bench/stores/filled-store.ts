// Stores with many entries, filled once and kept between runs. Their content follows from their size
// alone, so that every process knows which keys there are.

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT } from "../../src/storage/engines/sqlite-format.ts";
import type { FillOptions } from "./fill-process.ts";
import { shuffledForever } from "../measure.ts";
import { ask } from "../processes.ts";
import type { Context } from "../row.ts";

/** Raise it when what is filled in changes. */
const CONTENT = 4;

export const VALUE_BYTES = 200;
/** Under `shared/`: as many records as the store's size says, all in one folder. */
export const RECORDS = "records/";
/** Under `shared/`: a tenth as many again, in folders of more than a page each. */
export const FOLDERS = "folders/";
export const IN_FOLDER = 200;
/** Every entry belongs to one of so many mounts, in turn. */
export const MOUNTS = 64;

/** Of the mount that the nth entry belongs to. */
export function mountOf(n: number): string {
  return `${digits(n % MOUNTS, 8)}-0000-4000-8000-000000000000`;
}

/** Of records and folders together. */
export function entryCount(entries: number): number {
  return entries + Math.floor(entries / 10);
}

export function folderCount(entries: number): number {
  return Math.ceil(entries / 10 / IN_FOLDER);
}

/** 36 characters, as long as a UUID; ascending, so that filling appends. */
export function recordName(n: number): string {
  const spread = Math.imul(n, 0x9e37_79b1) >>> 0;
  return `${digits(n, 8)}-0000-4000-8000-${digits(spread, 12)}`;
}

export function folderName(n: number): string {
  return `team-${digits(n, 8)}/`;
}

/** Some of the keys of a store's records below `shared/`, in no order. */
export function someKeys(entries: number, count: number): string[] {
  const next = shuffledForever(Array.from({ length: entries }, (_, n) => n));
  return Array.from({ length: Math.min(count, entries) }, () => RECORDS + recordName(next()));
}

/** The sizes the rows speak of. */
export function sizes(context: Context) {
  return context.quick
    ? { small: 100, middle: 1000, large: 5000 }
    : { small: 1000, middle: 100_000, large: 1_000_000 };
}

/** The directory of a store of that size. Fills it, in a process of its own, if there is none. */
export async function filledStore(context: Context, entries: number): Promise<string> {
  const size = entries === 1_000_000 ? "million" : String(entries);
  const place = join(context.cache, `bench-${size}-${FORMAT}.${CONTENT}`);
  const directory = join(place, "data");
  const complete = join(place, "complete");
  if (existsSync(complete)) return directory;
  // One that was cut short, or filled by an earlier version.
  forgetFilledStores(context.cache, `bench-${size}-`);
  mkdirSync(place, { recursive: true });
  if (!context.quick) process.stderr.write(`filling a store with ${entries} entries, once ...\n`);
  // The log ends in as many small entries as the server always keeps, besides the large ones.
  const input: FillOptions = { directory, entries, singles: context.quick ? 100 : 16_384 };
  await ask("stores/fill-process.ts", input);
  writeFileSync(complete, "");
  return directory;
}

/** Removes the stores that were kept. */
export function forgetFilledStores(cache: string, prefix = "bench-"): void {
  for (const name of existsSync(cache) ? readdirSync(cache) : []) {
    if (name.startsWith(prefix)) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function digits(n: number, length: number): string {
  return n.toString(16).padStart(length, "0");
}
