// Files that the user names on the command line. Unlike those of the server they may be links, and
// pipes too: `key=@<(command)` is how a shell hands over a secret without writing it down.

import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { isUtf8 } from "node:buffer";
import { dirname, join } from "node:path";
import { alloc, concat, wipe } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";

export interface UserFiles {
  /** The whole file; a Failure that names it when it cannot be read or is too large. */
  read(path: string, maxBytes: number): Buffer;
  /** The same as text; not UTF-8 is a Failure. */
  text(path: string, maxBytes: number): string;
  /** Its lines with their ends, whatever its size. The last may have none. */
  lines(path: string): Iterable<Buffer>;
  /** Names of the files in a directory, in order, hidden ones left out; more than so many are refused. */
  names(path: string, max: number): string[];
  /** Where a path leads to. */
  real(path: string): string;
  /** Whether there is a regular file, or a link to one. */
  isFile(path: string): boolean;
  /** Puts another text into a file that exists, all or nothing; its mode and owner stay. */
  replace(path: string, text: string): void;
}

const PIECE = 64 * 1024;
const SLICE = 1024 * 1024;
const MAX_LINE = 128 * 1024 * 1024; // an audit record has half of it at most
const NEWLINE = 0x0a;

export class SystemUserFiles implements UserFiles {
  read(path: string, maxBytes: number): Buffer {
    const handle = opened(path);
    const parts: Buffer[] = [];
    try {
      let length = 0;
      for (;;) {
        const piece = alloc(PIECE);
        const count = readSync(handle, piece);
        if (count === 0) return concat(...parts);
        length += count;
        parts.push(piece.subarray(0, count));
        if (length > maxBytes) throw failure("read", path, `it has more than ${maxBytes} bytes`);
      }
    } catch (error) {
      throw error instanceof Failure ? error : unusable("read", path, error);
    } finally {
      wipe(...parts);
      closeSync(handle);
    }
  }

  text(path: string, maxBytes: number): string {
    const bytes = this.read(path, maxBytes);
    try {
      if (!isUtf8(bytes))
        throw failure("read", path, "it is not UTF-8 text; encode it, in base64 say");
      return bytes.toString("utf8");
    } finally {
      wipe(bytes);
    }
  }

  *lines(path: string): Iterable<Buffer> {
    const handle = opened(path);
    try {
      let rest: Buffer = Buffer.alloc(0);
      for (;;) {
        const slice = alloc(SLICE);
        const count = readSync(handle, slice, 0, SLICE, null);
        const bytes = concat(rest, slice.subarray(0, count));
        let start = 0;
        for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
          yield bytes.subarray(start, end + 1);
          start = end + 1;
        }
        rest = bytes.subarray(start);
        if (rest.length > MAX_LINE) throw failure("read", path, "it has a line without an end");
        if (count === 0) break;
      }
      if (rest.length > 0) yield rest;
    } catch (error) {
      throw error instanceof Failure ? error : unusable("read", path, error);
    } finally {
      closeSync(handle);
    }
  }

  real(path: string): string {
    try {
      return realpathSync(path);
    } catch (error) {
      throw unusable("read", path, error);
    }
  }

  isFile(path: string): boolean {
    try {
      return statSync(path).isFile();
    } catch {
      return false; // whoever reads it as something else says what is wrong
    }
  }

  names(path: string, max: number): string[] {
    try {
      const names = readdirSync(path).filter((name) => !name.startsWith("."));
      if (names.length > max) throw failure("read", path, `it holds more than ${max} files`);
      return names.filter((name) => statSync(join(path, name)).isFile()).toSorted();
    } catch (error) {
      throw error instanceof Failure ? error : unusable("read", path, error);
    }
  }

  replace(path: string, text: string): void {
    try {
      // Where a link leads to; a file in its place would part it from what it links to.
      const target = realpathSync(path);
      const before = statSync(target);
      if (!before.isFile()) throw failure("write", path, "it is not a regular file");
      const directory = mkdtempSync(join(dirname(target), ".holdfast-"));
      try {
        const fresh = join(directory, "new");
        writeLike(fresh, text, before);
        renameSync(fresh, target);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    } catch (error) {
      throw error instanceof Failure ? error : unusable("write", path, error);
    }
  }
}

function opened(path: string): number {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch (error) {
    throw unusable("read", path, error);
  }
  if (!fstatSync(handle).isDirectory()) return handle;
  closeSync(handle);
  throw failure("read", path, "it is a directory");
}

function writeLike(path: string, text: string, like: Stats): void {
  const handle = openSync(path, "wx", 0o600);
  try {
    writeFileSync(handle, text);
    const { uid, gid } = fstatSync(handle);
    if (uid !== like.uid || gid !== like.gid) fchownSync(handle, like.uid, like.gid);
    fchmodSync(handle, like.mode & 0o7777);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["ENOTDIR", "it is no directory"],
  ["EACCES", "this user may not do that"],
  ["EPERM", "this user may not do that"],
  ["EROFS", "the file system is read-only"],
  ["ELOOP", "its links go in a circle"],
]);

function unusable(action: Action, path: string, error: unknown): Failure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
  return failure(action, path, REASONS.get(code) ?? code);
}

type Action = "read" | "write";

function failure(action: Action, path: string, reason: string): Failure {
  return new Failure("invalid", "user-file", `cannot ${action} ${path}: ${reason}`);
}
