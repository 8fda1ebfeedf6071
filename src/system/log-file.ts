// A file for the server's log: appended to line by line, opened anew when told to, rotated by size and
// age. Writing never throws and never stops the server: lines that the file does not take go to the
// fallback. Synchronous, since the log is a few lines a second and the last one matters most.

import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Failure, OwnError } from "@holdfast/shared/failure";
import { logFailed, forbidden } from "@holdfast/shared/failures";
import { isRefusal, whyForbidden } from "../base/forbidden.ts";
import { barredAt } from "./fs.ts";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";

export interface LogFileOptions {
  readonly path: string;
  /** A new file is begun at this size; 0 is never. */
  readonly rotateBytes: number;
  readonly rotateAfter: Nanos;
  /** Old files that are kept; 0 keeps all. */
  readonly rotateKeep: number;
  readonly clock: Pick<Clock, "now">;
  /** Takes lines that the file did not. */
  readonly fallback: (line: string) => void;
}

const FLAGS =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK;
const STAMP = /^\.[0-9]{8}T[0-9]{6}-[0-9]{9}$/;

export class LogFile {
  readonly #options: LogFileOptions;
  #handle: number | null = null;
  #size = 0;
  #begun: Instant = 0n;
  #failing = false;

  /** Throws a Failure when the file cannot be opened: at the start that is a bad configuration. */
  constructor(options: LogFileOptions) {
    this.#options = options;
    try {
      this.#open();
    } catch (error) {
      throw failed(options.path, error);
    }
  }

  write(line: string): void {
    try {
      if (this.#handle === null || this.#isFull()) this.#rotate();
      if (this.#size === 0) this.#begun = this.#options.clock.now(); // its age is that of its lines
      // Whole or not at all is what the system makes of one write to a file opened for appending.
      this.#size += writeSync(this.#handle ?? -1, line);
      this.#failing = false;
    } catch (error) {
      this.#fallBack(line, error);
    }
  }

  /** For those who rotate by other means: the old file was renamed, the next line begins a new one. */
  reopen(): void {
    try {
      this.close();
      this.#open();
    } catch (error) {
      this.#options.fallback(`${failed(this.#options.path, error).message}\n`);
    }
  }

  close(): void {
    const handle = this.#handle;
    this.#handle = null;
    if (handle !== null) closeSync(handle);
  }

  #open(): void {
    const handle = openSync(this.#options.path, FLAGS, 0o600);
    const stat = fstatSync(handle);
    if (!stat.isFile()) {
      closeSync(handle);
      throw new OwnError("it is not a regular file");
    }
    this.#handle = handle;
    this.#size = stat.size;
    // A file from before a restart keeps its age where the file system knows it.
    const born = BigInt(Math.trunc(stat.birthtimeMs)) * 1_000_000n;
    this.#begun = stat.size > 0 && born > 0n ? born : this.#options.clock.now();
  }

  #isFull(): boolean {
    const { rotateBytes, rotateAfter, clock } = this.#options;
    if (this.#size === 0) return false;
    const large = rotateBytes > 0 && this.#size >= rotateBytes;
    return large || clock.now() - this.#begun >= rotateAfter;
  }

  #rotate(): void {
    const { path, rotateKeep, clock } = this.#options;
    if (this.#handle !== null) {
      this.close();
      renameSync(path, `${path}${stampOf(clock.now())}`);
    }
    this.#open();
    if (rotateKeep > 0) dropOldest(path, rotateKeep);
  }

  #fallBack(line: string, error: unknown): void {
    const { path, fallback } = this.#options;
    if (!this.#failing) fallback(`${failed(path, error).message}; the log goes on here\n`);
    this.#failing = true;
    fallback(line);
  }
}

/** `.20260101T000000-000000000`: sorts by time and is told from any other ending. */
function stampOf(now: Instant): string {
  const second = showTime((now / 1_000_000_000n) * 1_000_000_000n).replaceAll(/[-:]/g, "");
  return `.${second.slice(0, 15)}-${(now % 1_000_000_000n).toString().padStart(9, "0")}`;
}

function dropOldest(path: string, keep: number): void {
  const [directory, name] = [dirname(path), basename(path)];
  const old = readdirSync(directory)
    .filter((other) => other.startsWith(name) && STAMP.test(other.slice(name.length)))
    .toSorted();
  for (const other of old.slice(0, Math.max(0, old.length - keep))) {
    rmSync(join(directory, other), { force: true });
  }
}

function failed(path: string, error: unknown): Failure {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  if (code !== undefined && isRefusal(code)) {
    return forbidden(`cannot write the log ${path}: ${whyForbidden(code, barredAt(path))}`);
  }
  const reason = error instanceof Error ? (error.message.split(", ")[0] ?? "") : "unknown cause";
  return logFailed(`cannot write the log ${path}: ${reason}`);
}
