// Programs and images of operators, read through the descriptor of their directory; and the folders of those that run. No links
// are followed, and nothing here waits for a disk in the main thread.

import { constants, type BigIntStats } from "node:fs";
import {
  chmod,
  type FileHandle,
  lchown,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  statfs,
  symlink,
  unlink,
} from "node:fs/promises";
import { basename, join } from "node:path";
import { fileFailed, fileNotRegular, forbidden } from "@holdfast/shared/failures";
import type { ProgramFacts, ProgramFile, ProgramFiles, TreeFiles } from "@holdfast/shared/world";
import { isRefusal } from "../base/forbidden.ts";
import { throughDescriptor } from "./directory-facts.ts";
import { orClosed } from "./or-closed.ts";
import { isSystemError } from "./system-error.ts";

const CHUNK = 256 * 1024;
const MAX_SMALL = 64 * 1024;
const SAFE = constants.O_NOFOLLOW | constants.O_NONBLOCK; // a pipe that nobody writes to would never open

export class SystemProgramFiles implements ProgramFiles, TreeFiles {
  readonly us = process.geteuid?.() ?? 0;
  readonly ourGroup = process.getegid?.() ?? 0;

  async open(directory: string, name: string): Promise<ProgramFile | null> {
    if (basename(name) !== name || name === "." || name === "..") {
      throw fileNotRegular(`${name} is no name of a file`);
    }
    const path = join(directory, name);
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const folder = await attempt("open", directory, () => orAbsent(() => open(directory, flags)));
    if (folder === null) return null;
    await using held = folder;
    return await attempt("open", path, async () => {
      const of = factsOf(await held.stat({ bigint: true }));
      const way = throughDescriptor(held) ?? directory;
      const handle = await orAbsent(() => open(join(way, name), constants.O_RDONLY | SAFE));
      return handle === null ? null : new SystemProgramFile(handle, path, of);
    });
  }

  async write(path: string, bytes: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
    const part = `${path}.part`;
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | SAFE;
    await this.removeFile(part);
    const handle = await attempt("create", part, () => open(part, flags, 0o600));
    try {
      await orClosed(handle, async () => {
        for await (const piece of bytes) await attempt("write", part, () => all(handle, piece));
        await attempt("write", part, () => handle.chmod(mode));
      });
      await handle.close();
      await attempt("write", path, () => rename(part, path));
    } catch (error) {
      await this.removeFile(part);
      throw error;
    }
  }

  look(path: string): Promise<ProgramFacts | null> {
    return attempt("look at", path, async () => {
      const stats = await orAbsent(() => lstat(path, { bigint: true }));
      return stats === null ? null : factsOf(stats);
    });
  }

  async makeFolder(path: string, mode: number): Promise<void> {
    await attempt("make directory", path, async () => {
      try {
        await mkdir(path, { mode });
      } catch (error) {
        if (!isSystemError(error) || error.code !== "EEXIST") throw error;
        const stats = await lstat(path);
        const isOurs = stats.isDirectory() && stats.uid === process.geteuid?.();
        if (!isOurs) throw fileNotRegular(`${path} is no directory of the server's own`);
      }
      await chmod(path, mode);
    });
  }

  giveFolder(path: string, user: number, group: number): Promise<void> {
    return attempt("give away", path, () => lchown(path, user, group));
  }

  names(folder: string): Promise<string[]> {
    return attempt("list", folder, async () => {
      return (await orAbsent(() => readdir(folder)))?.toSorted() ?? [];
    });
  }

  removeFolder(path: string): Promise<void> {
    return attempt("remove", path, () => rm(path, { recursive: true, force: true }));
  }

  removeFile(path: string): Promise<void> {
    return attempt("remove", path, async () => {
      await orAbsent(() => unlink(path));
    });
  }

  readSmall(path: string): Promise<string | null> {
    return attempt("read", path, async () => {
      const handle = await orAbsent(() => open(path, constants.O_RDONLY | SAFE));
      if (handle === null) return null;
      await using held = handle;
      const buffer = Buffer.alloc(MAX_SMALL);
      const { bytesRead } = await held.read(buffer, 0, MAX_SMALL, 0);
      return buffer.toString("utf8", 0, bytesRead);
    });
  }

  async writeSmall(path: string, text: string): Promise<void> {
    await this.removeFile(path);
    await this.write(path, once(Buffer.from(text)), 0o600);
  }

  writeNew(path: string, bytes: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
    return attempt("write", path, async () => {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | SAFE;
      await using handle = await open(path, flags, 0o600);
      for await (const piece of bytes) await all(handle, piece);
      await handle.chmod(mode);
    });
  }

  makeLink(path: string, target: string): Promise<void> {
    return attempt("make a link", path, () => symlink(target, path));
  }

  addName(path: string, of: string): Promise<void> {
    return attempt("name", path, () => link(of, path));
  }

  rename(from: string, to: string): Promise<void> {
    return attempt("rename", from, () => rename(from, to));
  }

  remove(path: string): Promise<void> {
    return this.removeFile(path);
  }

  free(path: string): Promise<number> {
    return attempt("measure", path, async () => {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    });
  }
}

class SystemProgramFile implements ProgramFile {
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly directory: Pick<ProgramFacts, "mode" | "user">;

  constructor(handle: FileHandle, path: string, directory: Pick<ProgramFacts, "mode" | "user">) {
    this.#handle = handle;
    this.#path = path;
    this.directory = directory;
  }

  facts(): Promise<ProgramFacts> {
    return attempt("look at", this.#path, async () =>
      factsOf(await this.#handle.stat({ bigint: true })),
    );
  }

  async *read(from = 0, length = Infinity): AsyncGenerator<Uint8Array, void, void> {
    for (let at = from; at < from + length;) {
      const most = Math.min(CHUNK, from + length - at);
      const buffer = Buffer.alloc(most);
      const { bytesRead } = await attempt("read", this.#path, () =>
        this.#handle.read(buffer, 0, most, at),
      );
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function factsOf(stats: BigIntStats): ProgramFacts {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return {
    identity: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    isFile: stats.isFile(),
    size: Number(size),
    mode: Number(stats.mode) & 0o7777,
    user: Number(stats.uid),
    names: Number(stats.nlink),
  };
}

async function all(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function orAbsent<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isSystemError(error) && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Turns what the system refused into a Failure; anything else stays itself. */
async function attempt<T>(action: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const isLink = error.code === "ELOOP" || (error.code === "ENOTDIR" && action === "open");
    const reason = isLink
      ? "it is a link or no directory, and links are not followed"
      : (error.message.split(", ")[0] ?? String(error.code));
    const message = `cannot ${action} ${path}: ${reason}`;
    if (isRefusal(error.code)) throw forbidden(message);
    // By the system's own code whoever asked knows whether it may pass.
    throw fileFailed(message, isLink ? {} : { cause: error });
  }
}
