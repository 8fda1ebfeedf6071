// Real files that only grow: audit trails. Asynchronous, because a disk or a network share that
// hangs must not take the server with it. What lies at a path is never checked by name and opened
// afterwards: the directory is opened first, judged by its descriptor, and the file is reached
// through that descriptor, so that nobody can swap a link in between.

import { constants, type Stats } from "node:fs";
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Failure } from "@holdfast/shared/failure";
import { AppendError } from "../base/append-error.ts";
import { fileFailed, fileNotRegular as refused, forbidden } from "@holdfast/shared/failures";
import { isRefusal } from "../base/forbidden.ts";
import { factsOf, identityOf, realPathOf, throughDescriptor } from "./directory-facts.ts";
import { orClosed } from "./or-closed.ts";
import { isSystemError } from "./system-error.ts";
import type { AppendFile, AppendFiles, DirectoryFacts, Instant } from "@holdfast/shared/world";

type Readable = Omit<AppendFile, "append">;

// Without O_NONBLOCK the opening of a pipe that nobody reads would never return.
const SAFE = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const APPEND = constants.O_RDWR | constants.O_APPEND | SAFE;

export class SystemAppendFiles implements AppendFiles {
  readonly output: AppendFile = new StandardOutput();

  async open(
    path: string,
    { mode, allow }: { readonly mode: number; readonly allow: (at: DirectoryFacts) => void },
  ): Promise<AppendFile> {
    return attempt("open", path, async () => {
      await using directory = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
      const real = await realPathOf(directory, dirname(path));
      allow(await factsOf(await directory.stat(), real));
      const place = join(throughDescriptor(directory) ?? real, basename(path));
      const { handle, made } = await openOrMake(place, mode);
      return await orClosed(handle, async () => {
        const stats = await handle.stat();
        checkRegular(stats, path);
        // An odd umask could have taken rights away, or an earlier setting have given more.
        if (made || (stats.mode & 0o7777) !== mode) await handle.chmod(mode);
        if (made) await directory.sync();
        return new SystemAppendFile(handle, stats);
      });
    });
  }

  async look(path: string): Promise<Readable | null> {
    return attempt("read", path, async () => {
      const handle = await orAbsent(() => open(path, constants.O_RDONLY | SAFE));
      if (handle === null) return null;
      const stats = await orClosed(handle, () => handle.stat());
      if (stats.isFile()) return new SystemAppendFile(handle, stats);
      await handle.close();
      throw notRegular(path);
    });
  }

  async directory(path: string): Promise<DirectoryFacts | null> {
    return attempt("look at", path, async () => {
      const stats = await orAbsent(() => stat(path));
      return stats?.isDirectory() ? factsOf(stats, await realpath(path)) : null;
    });
  }

  async makeDirectory(path: string): Promise<void> {
    await attempt("make directory", path, () => mkdir(path, { recursive: true, mode: 0o700 }));
  }

  async names(directory: string): Promise<string[]> {
    return attempt("list", directory, async () => (await readdir(directory)).toSorted());
  }

  async rename(from: string, to: string): Promise<void> {
    await attempt("rename", from, () => rename(from, to));
  }

  async remove(path: string): Promise<void> {
    await attempt("remove", path, () => orAbsent(() => unlink(path)));
  }
}

class SystemAppendFile implements AppendFile {
  readonly identity: string;
  readonly size: number;
  readonly modified: Instant;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, stats: Stats) {
    this.#handle = handle;
    this.identity = identityOf(stats);
    this.size = stats.size;
    this.modified = BigInt(Math.trunc(stats.mtimeMs)) * 1_000_000n;
  }

  async append(bytes: Uint8Array): Promise<void> {
    let written = 0;
    try {
      while (written < bytes.length) {
        const { bytesWritten } = await this.#handle.write(bytes, written, bytes.length - written);
        written += bytesWritten;
      }
    } catch (error) {
      throw new AppendError(reasonOf(error), written);
    }
  }

  async read(at: number, length: number): Promise<Buffer> {
    const buffer = Buffer.alloc(length);
    let got = 0;
    while (got < length) {
      const { bytesRead } = await this.#handle.read(buffer, got, length - got, at + got);
      if (bytesRead === 0) break;
      got += bytesRead;
    }
    return buffer.subarray(0, got);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Not opened by us and never closed: others write there too. */
class StandardOutput implements AppendFile {
  readonly identity = "stdout";
  readonly size = 0;
  readonly modified: Instant = 0n;

  append(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => {
        if (error === undefined || error === null) resolve();
        else reject(new AppendError(reasonOf(error), 0));
      });
    });
  }

  read(): Promise<Buffer> {
    return Promise.resolve(Buffer.alloc(0));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Only a file that we made ourselves gets its directory entry made durable. */
async function openOrMake(
  path: string,
  mode: number,
): Promise<{ readonly handle: FileHandle; readonly made: boolean }> {
  const found = await orAbsent(() => open(path, APPEND));
  if (found !== null) return { handle: found, made: false };
  const flags = APPEND | constants.O_CREAT | constants.O_EXCL;
  return { handle: await open(path, flags, mode), made: true };
}

function checkRegular(stats: Stats, path: string): void {
  if (!stats.isFile()) throw notRegular(path);
  // A second name could be a file that somebody else reads, executes or trusts.
  if (stats.nlink !== 1) throw refused(`${path} has more than one name (hard links)`);
  if (stats.uid !== process.geteuid?.()) throw refused(`${path} belongs to another user`);
}

function notRegular(path: string): Failure {
  return refused(`${path} is not a regular file`);
}

/** Null when nothing lies at the path. */
async function orAbsent<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isSystemError(error) && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Turns what the system refused into a Failure; anything else is our mistake and stays itself. */
async function attempt<T>(action: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const message = `cannot ${action} ${path}: ${reasonOf(error)}`;
    throw isRefusal(error.code) ? forbidden(message) : fileFailed(message);
  }
}

function reasonOf(error: unknown): string {
  if (!isSystemError(error)) return "unknown cause";
  if (error.code === "ELOOP") return "it is a link, and links are not followed";
  if (error.code === "ENXIO") return "it is a pipe or a socket, not a regular file";
  // Node's text is "CODE: reason, call 'path'"; the rest of it would only repeat ours.
  return error.message.split(", ")[0] ?? String(error.code);
}
