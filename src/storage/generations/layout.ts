// How generations of a store lie in its directory. One is in use; a next one is filled beside it, and becomes the
// one in use by replacing one small file. Before the first exchange there is neither file nor number: the
// store lies in the directory itself.
//
//   lock.db              one process at a time, whatever the generation
//   current              "3\n": generation 3 is in use; "3 replaces 2\n" until 2 is gone, "1 replaces store.db\n"
//   3/store.db           the store
//   4/filling, 4/store.db   the next one, not in use yet: after a crash it is removed
//
// What neither a crash nor an exchange can have left is not touched: somebody has put it there.

import { join } from "node:path";
import { text, utf8 } from "@holdfast/shared/bytes";
import type { Fs } from "@holdfast/shared/world";
import { generationUnclear, storageFileMissing } from "../failures.ts";

export const DATABASE = "store.db";
const POINTER = "current";
const FILLING = "filling";
/** What a crash leaves of a file that was about to get its name. */
const UNWRITTEN = /^\.(?:filling|store\.db)\.[0-9a-f]+\.tmp$/;
const NAME = /^[1-9][0-9]{0,8}$/;
const LINE = /^([1-9][0-9]{0,8})(?: replaces (store\.db|[1-9][0-9]{0,8}))?\n$/;

/** Null: not one of several, the store in the directory itself. */
export type Generation = number | null;

export interface Layout {
  readonly inUse: Generation;
  /** That which was in use before and may still be there. */
  readonly replaced: { readonly generation: Generation } | null;
  /** Those that a crash has left half filled. */
  readonly abandoned: readonly number[];
  /** A number that nothing there has. */
  readonly free: number;
}

/** Throws a Failure where it is not clear which one is in use: opening another would serve other data. */
export function readLayout(fs: Fs, directory: string): Layout {
  const pointer = fs.read(join(directory, POINTER), 64);
  const numbers = fs
    .list(directory)
    .filter((name) => NAME.test(name) && fs.info(join(directory, name))?.kind === "directory")
    .map(Number);
  const apart = fs.info(join(directory, DATABASE)) !== null;
  const free = Math.max(0, ...numbers) + 1;
  const abandoned = numbers.filter((number) => isUnused(fs, directory, number));
  if (pointer === null) {
    const kept = numbers.filter((number) => !abandoned.includes(number));
    if (kept.length > 0) throw pointerMissing(directory, kept, apart);
    return { inUse: null, replaced: null, abandoned, free };
  }
  const line = LINE.exec(text(pointer));
  if (line === null)
    throw generationUnclear(`${join(directory, POINTER)} does not name a generation`);
  const inUse = Number(line[1]);
  const replaced = line[2] === undefined ? null : { generation: generationOf(line[2]) };
  if (apart && replaced?.generation !== null) throw twoInUse(directory, inUse);
  if (fs.info(join(directory, String(inUse), DATABASE)) === null) {
    const path = join(directory, String(inUse), DATABASE);
    throw storageFileMissing(`${path} is missing, and ${join(directory, POINTER)} names it`);
  }
  return { inUse, replaced, abandoned: abandoned.filter((number) => number !== inUse), free };
}

export function directoryInUse(directory: string, { inUse }: Pick<Layout, "inUse">): string {
  return directoryOf(directory, inUse);
}

export function directoryOf(directory: string, generation: Generation): string {
  return generation === null ? directory : join(directory, String(generation));
}

/** An empty directory that is removed at the next start unless it is taken into use. */
export function beginGeneration(fs: Fs, directory: string, number: number): string {
  const made = directoryOf(directory, number);
  fs.makeDirectory(made);
  fs.replace(join(made, FILLING), utf8(""));
  return made;
}

/** From here on it is in use, also after a power cut. */
export function takeIntoUse(fs: Fs, directory: string, next: number, before: Generation): void {
  const line = `${next} replaces ${before ?? DATABASE}\n`;
  fs.replace(join(directory, POINTER), utf8(line));
}

/** Nothing takes it for one that a crash has left any more. */
export function markUsed(fs: Fs, directory: string, inUse: number): void {
  fs.remove(join(directory, String(inUse), FILLING));
}

/** That which was replaced is gone. */
export function settleLayout(fs: Fs, directory: string, inUse: number): void {
  fs.replace(join(directory, POINTER), utf8(`${inUse}\n`));
}

/** The directory of a generation whose database is gone. What somebody has put there stays, and so does it. */
export function removeEmptied(fs: Fs, directory: string, generation: number): void {
  const emptied = directoryOf(directory, generation);
  for (const name of fs.list(emptied)) if (UNWRITTEN.test(name)) fs.remove(join(emptied, name));
  fs.remove(join(emptied, FILLING)); // last: until then it is known as one that nobody uses
  if (fs.list(emptied).length === 0) fs.removeDirectory(emptied);
}

function generationOf(name: string): Generation {
  return name === DATABASE ? null : Number(name);
}

/** Half filled, or made and not even marked so: a crash may come while the mark is written. */
function isUnused(fs: Fs, directory: string, number: number): boolean {
  const names = fs.list(directoryOf(directory, number));
  return names.includes(FILLING) || names.every((name) => UNWRITTEN.test(name));
}

function pointerMissing(directory: string, kept: readonly number[], apart: boolean) {
  const pointer = join(directory, POINTER);
  const also = apart ? ` beside ${join(directory, DATABASE)}` : "";
  return generationUnclear(
    `${pointer} is missing, but there are generations (${kept.join(", ")})${also}; write the number of the one ` +
      `that was in use into it, or move the others out of ${directory}`,
  );
}

function twoInUse(directory: string, inUse: number) {
  const apart = join(directory, DATABASE);
  const pointer = join(directory, POINTER);
  return generationUnclear(
    `${apart} lies beside generation ${inUse}, which ${pointer} names; to use ${apart}, move ${pointer} and ` +
      `${directoryOf(directory, inUse)} away; otherwise move ${apart} away`,
  );
}
