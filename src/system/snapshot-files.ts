// Files of snapshots in a directory that is held open: it is judged by its descriptor, and everything inside is
// reached through that, so that nobody can swap a link in between. Asynchronous, since they are large and the disk
// may hang. Links are never followed; what is made is ours alone.

import { constants, type Stats } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  stat,
  statfs,
  unlink,
} from "node:fs/promises";
import { join } from "node:path";
import { fileFailed, fileNotRegular, forbidden } from "@holdfast/shared/failures";
import type {
  DirectoryFacts,
  FileFacts,
  HeldDirectory,
  SnapshotFiles,
  WrittenFile,
} from "@holdfast/shared/world";
import { isRefusal } from "../base/forbidden.ts";
import { factsOf, realPathOf, throughDescriptor } from "./directory-facts.ts";
import { orClosed } from "./or-closed.ts";
import { isSystemError } from "./system-error.ts";

const CHUNK = 256 * 1024;
const SAFE = constants.O_NOFOLLOW | constants.O_NONBLOCK; // a pipe that nobody reads would never open

export class SystemSnapshotFiles implements SnapshotFiles {
  async hold(path: string): Promise<HeldDirectory | null> {
    return attempt("open", path, async () => {
      const flags = constants.O_RDONLY | constants.O_DIRECTORY;
      const handle = await orAbsent(() => open(path, flags));
      if (handle === null) return null;
      return await orClosed(handle, async () => {
        const real = await realPathOf(handle, path);
        const facts = await factsOf(await handle.stat(), real);
        return new SystemHeldDirectory(handle, facts, throughDescriptor(handle) ?? real);
      });
    });
  }

  async look(path: string): Promise<DirectoryFacts | null> {
    return attempt("look at", path, async () => {
      const stats = await orAbsent(() => stat(path));
      return stats?.isDirectory() ? factsOf(stats, await realpath(path)) : null;
    });
  }

  async makeDirectory(path: string): Promise<void> {
    await attempt("make directory", path, () => mkdir(path, { recursive: true, mode: 0o700 }));
  }
}

class SystemHeldDirectory implements HeldDirectory {
  readonly facts: DirectoryFacts;
  readonly #handle: FileHandle;
  readonly #way: string;

  constructor(handle: FileHandle, facts: DirectoryFacts, way: string) {
    this.#handle = handle;
    this.facts = facts;
    this.#way = way;
  }

  names(): Promise<string[]> {
    return attempt("list", this.facts.path, async () => (await readdir(this.#way)).toSorted());
  }

  look(name: string): Promise<FileFacts | null> {
    return this.#attempt("look at", name, async (path) => {
      const stats = await orAbsent(() => lstat(path));
      return stats === null ? null : { size: stats.size, plain: isPlain(stats) };
    });
  }

  create(name: string): Promise<WrittenFile> {
    return this.#attempt("create", name, async (path) => {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | SAFE;
      const handle = await open(path, flags, 0o600);
      await orClosed(handle, () => handle.chmod(0o600)); // an odd umask could have taken our own rights away
      return new SystemWrittenFile(handle, join(this.facts.path, name));
    });
  }

  async *read(name: string, from: number, to: number): AsyncGenerator<Uint8Array, void, void> {
    const visible = join(this.facts.path, name);
    await using handle = await this.#attempt("read", name, (path) =>
      open(path, constants.O_RDONLY | SAFE),
    );
    if (!isPlain(await handle.stat())) {
      throw fileNotRegular(`${visible} is not a regular file of the server's own`);
    }
    for (let at = from; at < to;) {
      const buffer = Buffer.alloc(Math.min(CHUNK, to - at));
      const { bytesRead } = await attempt("read", visible, () =>
        handle.read(buffer, 0, buffer.length, at),
      );
      if (bytesRead === 0) throw fileFailed(`${visible} is shorter than it should be`);
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#attempt("rename", from, (path) => rename(path, join(this.#way, to)));
  }

  async remove(name: string): Promise<void> {
    await this.#attempt("remove", name, (path) => orAbsent(() => unlink(path)));
  }

  async sync(): Promise<void> {
    await attempt("sync", this.facts.path, () => this.#handle.sync());
  }

  freeBytes(): Promise<number> {
    return attempt("measure", this.facts.path, async () => {
      const { bavail, bsize } = await statfs(this.#way);
      return bavail * bsize;
    });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #attempt<T>(action: string, name: string, run: (path: string) => Promise<T>): Promise<T> {
    return attempt(action, join(this.facts.path, name), () => run(join(this.#way, name)));
  }
}

class SystemWrittenFile implements WrittenFile {
  readonly #handle: FileHandle;
  readonly #path: string;

  constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await attempt("write", this.#path, async () => {
      for (let at = 0; at < bytes.length;) {
        at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten;
      }
    });
  }

  async sync(): Promise<void> {
    await attempt("sync", this.#path, () => this.#handle.sync());
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function isPlain(stats: Stats): boolean {
  return stats.isFile() && stats.nlink === 1 && stats.uid === process.geteuid?.();
}

/** Null when nothing lies at the path, or no directory where one was asked for. */
async function orAbsent<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (error) {
    if (isSystemError(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return null;
    throw error;
  }
}

/** Turns what the system refused into a Failure; anything else is our mistake and stays itself. */
async function attempt<T>(action: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason =
      error.code === "ELOOP"
        ? "it is a link, and links are not followed"
        : (error.message.split(", ")[0] ?? String(error.code));
    const message = `cannot ${action} ${path}: ${reason}`;
    throw isRefusal(error.code) ? forbidden(message) : fileFailed(message);
  }
}
