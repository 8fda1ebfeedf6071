// What the Node client takes from the machine where nobody hands it anything: timers, and files of its
// user's own.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import process from "node:process";
import { Failure } from "@holdfast/shared/failure";
import { codeOf } from "../connection-failure.ts";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Fs, Timers } from "@holdfast/shared/world";

const MAX_DELAY = 2 ** 31 - 1;
const MAX_PEM = 2 ** 20;

export const realTimers: Pick<Timers, "after"> = {
  after: (delay, call) => {
    const timer = setTimeout(call, Math.min(Number(delay / MILLISECOND) + 1, MAX_DELAY));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Files that hold a token: no links are followed, and one that is too long is none. */
export const ownFiles: Pick<Fs, "read" | "info"> = {
  read: (path, maxBytes) => {
    const file = opened(path, constants.O_NOFOLLOW);
    if (file === null) return null;
    try {
      if (fstatSync(file).size > maxBytes) throw unreadable(path, "is too large");
      return readFileSync(file);
    } finally {
      closeSync(file);
    }
  },
  info: (path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    return {
      kind: stats.isFile() ? "file" : stats.isDirectory() ? "directory" : "other",
      size: stats.size,
      mode: stats.mode & 0o7777,
      ours: stats.uid === process.getuid?.(),
    };
  },
};

/** Certificates and keys may be links: that is how they are renewed. */
export function pemFile(path: string): string {
  const file = opened(path, 0);
  if (file === null) throw unreadable(path, "is not there");
  try {
    if (fstatSync(file).size > MAX_PEM) throw unreadable(path, "is too large");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function opened(path: string, flags: number): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unreadable(path, `cannot be read (${codeOf(error)})`);
  }
}

function unreadable(path: string, why: string): Failure {
  return new Failure("invalid", "user-file", `${path} ${why}`);
}
