// Real files, synchronous: they are few and small, and read or written at moments when nothing else
// may happen. Links are not followed in the last part of a path; the directories above it belong
// to the operator. Large or busy data is the storage engine's, not ours.

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { hex, wipe } from "@holdfast/shared/bytes";
import {
  fileChanging,
  fileFailed,
  fileNotRegular,
  fileTooLarge,
  forbidden,
} from "@holdfast/shared/failures";
import { type Barred, isRefusal, whyForbidden } from "../base/forbidden.ts";
import { SystemRandom } from "./random.ts";
import { isSystemError } from "./system-error.ts";
import type { FileInfo, Fs, Random } from "@holdfast/shared/world";

export class SystemFs implements Fs {
  readonly #random: Random;

  /** `random` names temporary files. */
  constructor(random: Random = new SystemRandom()) {
    this.#random = random;
  }

  /** The whole file in memory of its own, or null when there is none. */
  read(path: string, maxBytes: number): Buffer | null {
    // Without O_NONBLOCK the opening of a pipe that nobody writes to would never return.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = orAbsent("read", path, () => openSync(path, flags));
    if (handle === null) return null;
    try {
      return attempt("read", path, () => readRegular(handle, path, maxBytes));
    } finally {
      closeSync(handle);
    }
  }

  replace(path: string, bytes: Uint8Array): void {
    attempt("write", path, () => {
      const directory = dirname(path);
      removeLeftovers(path);
      const temporary = join(directory, temporaryName(path, hex(this.#random.bytes(6))));
      try {
        writeNew(temporary, bytes);
        renameSync(temporary, path);
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
      syncDirectory(directory);
    });
  }

  /** What lies at the path itself; a link is "other", whatever it points to. */
  info(path: string): FileInfo | null {
    const stat = orAbsent("look at", path, () => lstatSync(path));
    if (stat === null) return null;
    return {
      kind: stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "other",
      size: stat.size,
      mode: stat.mode & 0o7777,
      ours: stat.uid === process.geteuid?.(),
    };
  }

  makeDirectory(path: string): void {
    attempt("make directory", path, () => {
      const first = mkdirSync(path, { recursive: true, mode: 0o700 });
      if (first === undefined) return;
      // A file is only as durable as every directory entry on the way to it.
      const top = dirname(resolve(first));
      for (let at = dirname(resolve(path)); ; at = dirname(at)) {
        syncDirectory(at);
        if (at === top) return;
      }
    });
  }

  /** Names in order; none when there is no such directory. */
  list(path: string): string[] {
    return orAbsent("list", path, () => readdirSync(path))?.toSorted() ?? [];
  }

  /** Removes a file or a link, durably: what was taken back must not reappear after a power cut. */
  remove(path: string): void {
    const removed = orAbsent("remove", path, () => {
      unlinkSync(path);
      return true;
    });
    if (removed) attempt("remove", path, () => syncDirectory(dirname(path)));
  }

  removeDirectory(path: string): void {
    const removed = orAbsent("remove", path, () => {
      rmdirSync(path);
      return true;
    });
    if (removed) attempt("remove", path, () => syncDirectory(dirname(path)));
  }

  freeBytes(path: string): number {
    const { bavail, bsize } = attempt("measure", path, () => statfsSync(path));
    return bavail * bsize;
  }
}

function readRegular(handle: number, path: string, maxBytes: number): Buffer {
  const stat = fstatSync(handle);
  if (!stat.isFile()) {
    throw fileNotRegular(`${path} is not a regular file`);
  }
  if (stat.size > maxBytes) {
    const message = `${path} has ${stat.size} bytes; at most ${maxBytes} are read`;
    throw fileTooLarge(message);
  }
  // One byte more than expected shows that the file grew since it was measured.
  const buffer = Buffer.alloc(stat.size + 1);
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(handle, buffer, length, buffer.length - length, null);
    if (count === 0) return buffer.subarray(0, length);
    length += count;
  }
  wipe(buffer);
  throw fileChanging(`${path} grew while it was read`);
}

/** Complete, durable and 0600 from its first byte on. `wx` follows no link and reuses no file. */
function writeNew(path: string, bytes: Uint8Array): void {
  const handle = openSync(path, "wx", 0o600);
  try {
    fchmodSync(handle, 0o600); // an odd umask could have taken our own rights away
    for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function syncDirectory(path: string): void {
  const handle = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function temporaryName(path: string, mark: string): string {
  return `.${basename(path)}.${mark}.tmp`;
}

/**
 * A crash in the middle of replace() leaves its temporary file, which may hold a key; the next
 * replace() of the same path removes it. Should another process be writing the same path right
 * now, its rename fails and it says so: names are random, so nobody's half-written file is taken.
 */
function removeLeftovers(path: string): void {
  const directory = dirname(path);
  for (const name of readdirSync(directory)) {
    const mark = /\.([0-9a-f]{12})\.tmp$/.exec(name)?.[1];
    if (mark !== undefined && name === temporaryName(path, mark)) {
      rmSync(join(directory, name), { force: true });
    }
  }
}

/** Null when nothing lies at the path. */
function orAbsent<T>(action: string, path: string, run: () => T): T | null {
  return attempt(action, path, () => {
    try {
      return run();
    } catch (error) {
      if (isSystemError(error) && error.code === "ENOENT") return null;
      throw error;
    }
  });
}

/** Turns what the system refused into a Failure; anything else is our mistake and stays itself. */
function attempt<T>(action: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code !== undefined && isRefusal(error.code)) {
      const why = whyForbidden(error.code, barredAt(path, CHANGES.has(action)));
      throw forbidden(`cannot ${action} ${path}: ${why}`);
    }
    // Node's text is "CODE: reason, call 'path'"; the rest of it would only repeat ours.
    const reason =
      error.code === "ELOOP"
        ? "it is a link, and links are not followed"
        : (error.message.split(", ")[0] ?? error.code);
    throw fileFailed(`cannot ${action} ${path}: ${reason}`);
  }
}

/** Names are made, replaced and removed by writing to their directory. */
const CHANGES: ReadonlySet<string> = new Set(["write", "make directory", "remove"]);

/** What is in the way to a path that the system refuses. */
export function barredAt(path: string, changes = false): Barred {
  for (let at = changes ? dirname(resolve(path)) : resolve(path); ; at = dirname(at)) {
    try {
      const stat = lstatSync(at);
      return {
        path: at,
        directory: stat.isDirectory(),
        ours: stat.uid === process.geteuid?.(),
      };
    } catch {
      if (at === dirname(at)) return { path: at, directory: true, ours: false };
    }
  }
}
