// Real files for large work: archives that are made, received or read. Asynchronous, because they are as large
// as a store is. A spool has no name: it was unlinked as soon as it was made, so that nothing of it is left when
// the process ends, whatever it ends by.

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hex } from "@holdfast/shared/bytes";
import { fileFailed, fileNotRegular, forbidden } from "@holdfast/shared/failures";
import type { Random, WorkFile, WorkFiles } from "@holdfast/shared/world";
import { isRefusal } from "../base/forbidden.ts";
import { orClosed } from "./or-closed.ts";
import { SystemRandom } from "./random.ts";
import { isSystemError } from "./system-error.ts";

// Without O_NONBLOCK the opening of a pipe that nobody writes to would never return.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NEW = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const MODE = 0o600;
const UNNAMED = /^\.work-[0-9a-f]{24}$/;

export class SystemWorkFiles implements WorkFiles {
  readonly #random: Random;

  /** `random` names files for the moment in which they have a name. */
  constructor(random: Random = new SystemRandom()) {
    this.#random = random;
  }

  create(path: string): Promise<WorkFile> {
    return attempt("make", path, () => made(path));
  }

  createUnnamed(directory: string): Promise<WorkFile> {
    return attempt("make a file in", directory, async () => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // A crash may have come between making one and taking its name away.
      for (const name of await readdir(directory)) {
        if (UNNAMED.test(name)) await unlink(join(directory, name)).catch(() => {});
      }
      const path = join(directory, `.work-${hex(this.#random.bytes(12))}`);
      const file = await made(path);
      await orClosed(file, () => orAbsent(() => unlink(path))); // another one that is made now may have been faster
      return file;
    });
  }

  open(path: string): Promise<WorkFile | null> {
    return attempt("read", path, async () => {
      const handle = await orAbsent(() => open(path, READ));
      if (handle === null) return null;
      const stats = await orClosed(handle, () => handle.stat());
      if (stats.isFile()) return new SystemWorkFile(handle, path, stats.size);
      await handle.close();
      throw fileNotRegular(`${path} is not a regular file`);
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await attempt("rename", from, async () => {
      await rename(from, to);
      await using directory = await open(dirname(to), constants.O_RDONLY | constants.O_DIRECTORY);
      await directory.sync();
    });
  }

  async remove(path: string): Promise<void> {
    await attempt("remove", path, () => orAbsent(() => unlink(path)));
  }
}

async function made(path: string): Promise<SystemWorkFile> {
  const handle = await open(path, NEW, MODE);
  await orClosed(handle, () => handle.chmod(MODE)); // an odd umask could have taken our own rights away
  return new SystemWorkFile(handle, path, 0);
}

class SystemWorkFile implements WorkFile {
  readonly #handle: FileHandle;
  readonly #path: string;
  #size: number;

  constructor(handle: FileHandle, path: string, size: number) {
    this.#handle = handle;
    this.#path = path;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  async append(bytes: Uint8Array): Promise<void> {
    const at = this.#size;
    await this.#write(at, bytes);
    this.#size = at + bytes.length;
  }

  async overwrite(at: number, bytes: Uint8Array): Promise<void> {
    await this.#write(at, bytes);
  }

  async read(at: number, length: number): Promise<Buffer> {
    return attempt("read", this.#path, async () => {
      const buffer = Buffer.alloc(length);
      let got = 0;
      while (got < length) {
        const { bytesRead } = await this.#handle.read(buffer, got, length - got, at + got);
        if (bytesRead === 0) break;
        got += bytesRead;
      }
      return buffer.subarray(0, got);
    });
  }

  async sync(): Promise<void> {
    await attempt("sync", this.#path, () => this.#handle.sync());
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #write(at: number, bytes: Uint8Array): Promise<void> {
    await attempt("write", this.#path, async () => {
      for (let done = 0; done < bytes.length;) {
        const left = bytes.length - done;
        const { bytesWritten } = await this.#handle.write(bytes, done, left, at + done);
        done += bytesWritten;
      }
    });
  }
}

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
    const reason = error.message.split(", ")[0] ?? error.code ?? "";
    const message = `cannot ${action} ${path}: ${reason}`;
    throw error.code !== undefined && isRefusal(error.code)
      ? forbidden(message)
      : fileFailed(message);
  }
}
