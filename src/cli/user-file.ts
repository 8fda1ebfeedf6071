// Files that the user names on the command line. Unlike those of the server they may be links, and
// pipes too: `key=@<(command)` is how a shell hands over a secret without writing it down.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import { alloc, concat, wipe } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";

export interface UserFiles {
  /** The whole file; a Failure that names it when it cannot be read or is too large. */
  read(path: string, maxBytes: number): Buffer;
  /** The same as text; not UTF-8 is a Failure. */
  text(path: string, maxBytes: number): string;
}

const PIECE = 64 * 1024;

export class SystemUserFiles implements UserFiles {
  read(path: string, maxBytes: number): Buffer {
    let handle: number;
    try {
      handle = openSync(path, "r");
    } catch (error) {
      throw unreadable(path, error);
    }
    const parts: Buffer[] = [];
    try {
      if (fstatSync(handle).isDirectory()) throw failure(path, "it is a directory");
      let length = 0;
      for (;;) {
        const piece = alloc(PIECE);
        const count = readSync(handle, piece);
        if (count === 0) return concat(...parts);
        length += count;
        parts.push(piece.subarray(0, count));
        if (length > maxBytes) throw failure(path, `it has more than ${maxBytes} bytes`);
      }
    } catch (error) {
      throw error instanceof Failure ? error : unreadable(path, error);
    } finally {
      wipe(...parts);
      closeSync(handle);
    }
  }

  text(path: string, maxBytes: number): string {
    const bytes = this.read(path, maxBytes);
    try {
      if (!isUtf8(bytes)) throw failure(path, "it is not UTF-8 text; encode it, in base64 say");
      return bytes.toString("utf8");
    } finally {
      wipe(bytes);
    }
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file"],
  ["EACCES", "this user may not read it"],
  ["ELOOP", "its links go in a circle"],
]);

function unreadable(path: string, error: unknown): Failure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
  return failure(path, REASONS.get(code) ?? code);
}

function failure(path: string, reason: string): Failure {
  return new Failure("invalid", "user-file", `cannot read ${path}: ${reason}`);
}
