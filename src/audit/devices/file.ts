// Records in a file of this machine, chained (chain.ts). The file is opened anew when told to, so
// that outside tools can move it away, and rotated by ourselves where the options say so. A file is
// never shortened: after a write that failed half-way the chain says so and goes on.

import { dirname, join } from "node:path";
import { AppendError } from "../../base/append-error.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import { text } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type {
  AppendFile,
  AppendFiles,
  Clock,
  DirectoryFacts,
  Instant,
  Nanos,
  Timer,
  Timers,
} from "@holdfast/shared/world";
import { type ChainEvent, type ChainHead, isBeginning } from "../../signed/audit-line.ts";
import { Chain, keyMark, NO_HEAD } from "../records/chain.ts";
import {
  type CheckpointHead,
  type CheckpointParts,
  Checkpoints,
  type UncoveredEnd,
} from "./checkpoints.ts";
import type { Hmac } from "../../crypto/hmac.ts";
import { readTail } from "./file-tail.ts";
import { rotatedFiles, rotatedPath } from "./rotated-files.ts";
import { LineBuffer } from "./line-buffer.ts";
import type { Sink, SinkSource } from "./sink.ts";
import { MAX_RECORD } from "./socket.ts";

const HEAD_PERIOD: Nanos = 60n * SECOND; // at most this much can be cut off after a crash
const ROTATE_AGAIN: Nanos = 60n * SECOND; // after a rotation that failed

export interface Rotation {
  readonly bytes: number | null;
  readonly interval: Nanos | null;
  /** How many old files are kept; null for all. */
  readonly keep: number | null;
}

export interface FileTarget {
  readonly device: string; // its name, for the chain's own lines
  readonly path: string | null; // null is standard output
  readonly mode: number;
  readonly rotation: Rotation;
  readonly prefix: string;
  /** Prepares to look at the directory that is opened; the look throws where no file may lie. */
  readonly allow: () => Promise<(directory: DirectoryFacts) => void>;
}

/** Where a chain ended that another key made, before the data was exchanged. Nothing of it is secret. */
export interface ExchangedChain {
  readonly head: ChainHead;
  /** Of its key, see keyMark. */
  readonly key: string;
  readonly file: string;
  readonly checkpoint: CheckpointHead | null;
  readonly uncovered: UncoveredEnd | null;
}

/** The end of the chain as last stored: without it a cut at the end would not show after a restart. */
export interface Heads {
  load(): ChainHead | null;
  /** That of before the data was exchanged, until one is saved. Default: none. */
  exchanged?(): ExchangedChain | null;
  save(head: ChainHead): Promise<void>;
}

export interface FileParts {
  readonly files: AppendFiles;
  /** Under the key of the chain. */
  readonly hmac: Hmac;
  readonly heads: Heads;
  /** Default: none are made. Never on standard output. */
  readonly checkpoints?: CheckpointParts | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export class FileSource implements SinkSource {
  readonly maxBytes = MAX_RECORD;
  readonly #target: FileTarget;
  readonly #parts: FileParts;
  #chain: Chain | null = null; // null until the file was opened for the first time
  #inFile: ChainHead | null = null;
  #openLine = false; // the file's last line has no end
  #resume = false; // what stands last in the file is not whole
  #savedNumber = 0;
  readonly #lines = new LineBuffer(); // one write at a time
  #saving: Timer | null = null;
  readonly #checkpoints: Checkpoints | null;
  #current: AppendFile | null = null; // where records go
  #busy = false; // something is being appended
  #appended: Promise<number> | null = null; // the last of it
  #missing: string | null = null; // at the end of the file, when this process went on with it
  readonly #keyMark: string;

  constructor(target: FileTarget, parts: FileParts) {
    this.#target = target;
    this.#parts = parts;
    this.#keyMark = keyMark(parts.hmac);
    const { checkpoints, clock, timers, log } = parts;
    const { device, prefix, path } = target;
    this.#checkpoints =
      checkpoints === undefined || path === null
        ? null
        : new Checkpoints({ ...checkpoints, device, prefix, clock, timers, log });
  }

  /** What was wrong with the file when this process went on with it; null for nothing. */
  get broken(): string | null {
    return this.#missing ?? this.#checkpoints?.problem ?? null;
  }

  /** The last record that is in the file; null before it was first opened. */
  get head(): ChainHead | null {
    return this.#inFile;
  }

  /** For whoever goes on with the file after the data was exchanged; null where there is no file, or nothing in it. Where
   *  the file did not open, as it was last stored. */
  get chain(): ExchangedChain | null {
    const { path: file } = this.#target;
    if (file === null) return null;
    const { heads, checkpoints } = this.#parts;
    const key = this.#keyMark;
    if (this.#inFile === null) {
      const head = heads.load();
      const checkpoint = checkpoints?.load() ?? null;
      return head === null ? null : { head, key, file, checkpoint, uncovered: null };
    }
    const uncovered = this.#checkpoints?.uncovered ?? null;
    const checkpoint = this.#checkpoints?.head ?? null;
    return { head: this.#inFile, key, file, checkpoint, uncovered };
  }

  async open(): Promise<Sink> {
    const file = await this.openFile();
    try {
      const event = await this.#joinChain(file);
      await this.#moveTo(file, event);
      const sink = new FileSink(this, file, await this.#begun(file));
      await sink.write([], event);
      if (event === "exchanged") await this.saveHead();
      return sink;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  // --- for the open file ---

  get target(): FileTarget {
    return this.#target;
  }

  get parts(): FileParts {
    return this.#parts;
  }

  async openFile(): Promise<AppendFile> {
    const { path, mode, allow } = this.#target;
    if (path === null) return this.#parts.files.output;
    return this.#parts.files.open(path, { mode, allow: await allow() });
  }

  /** The file is about to be left: what is in it gets its last checkpoint. It matters less than what comes next. */
  async leave(file: AppendFile): Promise<number> {
    const checkpoints = this.#checkpoints;
    if (checkpoints === null || file !== this.#current) return 0;
    try {
      const line = await checkpoints.last();
      if (line === null) return 0;
      const length = await this.append(file, [line], null);
      await checkpoints.wrote();
      return length;
    } catch (error) {
      const { device } = this.#target;
      const fields = { device, cause: describe(error) };
      this.#parts.log.warn("an audit file was left without its last checkpoint", fields);
      return 0;
    }
  }

  /** Records go into this one from now on, and nothing is in it yet. */
  began(file: AppendFile): void {
    this.#current = file;
    this.#checkpoints?.begin(this.#chain?.head.number ?? 0);
  }

  async closed(file: AppendFile): Promise<void> {
    if (file !== this.#current) return;
    await this.leave(file);
    this.#current = null;
    this.#checkpoints?.stop();
  }

  /** Another file than before, or the same, opened anew. */
  async #moveTo(file: AppendFile, event: ChainEvent): Promise<void> {
    const old = this.#current;
    if (old !== null && old.identity !== file.identity) await this.leave(old);
    this.#current = file;
    if (old?.identity === file.identity) return;
    const last = this.#chain?.head.number ?? 0;
    const left = event === "exchanged" ? this.#exchanged() : null;
    if (left !== null && left.uncovered !== null && left.file === this.#target.path) {
      return this.#checkpoints?.follow(file, left.uncovered, last);
    }
    return this.#checkpoints?.recover(file, this.#parts.hmac, last, !isBeginning(event));
  }

  /** Writes records behind an event of the chain, or none; after a failed write one is needed. One at a time: a
   *  file that opened late, or is being left, may come in between. */
  append(file: AppendFile, records: readonly string[], event: ChainEvent | null): Promise<number> {
    if (this.#busy) return this.#appendLater(file, records, event);
    this.#busy = true;
    const appended = this.#append(file, records, event);
    this.#appended = appended;
    return appended;
  }

  async #appendLater(
    file: AppendFile,
    records: readonly string[],
    event: ChainEvent | null,
  ): Promise<number> {
    while (this.#busy) await this.#appended?.catch(() => {});
    return this.append(file, records, event);
  }

  async #append(
    file: AppendFile,
    records: readonly string[],
    event: ChainEvent | null,
  ): Promise<number> {
    try {
      return await this.#appendNow(file, records, event);
    } finally {
      this.#busy = false;
    }
  }

  async #appendNow(
    file: AppendFile,
    records: readonly string[],
    event: ChainEvent | null,
  ): Promise<number> {
    const chain = this.#chain;
    invariant(chain !== null, "the chain is known once the file was opened");
    const before = chain.head;
    if (file.identity !== this.#current?.identity) {
      this.#current = file;
      this.#checkpoints?.begin(before.number);
    }
    const ends: { readonly end: number; readonly head: ChainHead }[] = [];
    const lines = this.#lines;
    lines.clear();
    if (this.#openLine) lines.end();
    const added = (end: number) => void ends.push({ end, head: chain.head });
    const needed = this.#resume ? "resumed" : event;
    if (needed !== null) {
      const { prefix, device } = this.#target;
      const time = showTime(this.#parts.clock.now());
      added(chain.sealEvent(needed, { time, device, prefix }, lines));
    }
    for (const record of records) added(chain.seal(record, lines));
    try {
      await file.append(lines.bytes);
      this.#openLine = false;
      this.#resume = false;
    } catch (error) {
      const written = error instanceof AppendError ? error.written : 0;
      // What is in counts, even without its line end: the chain must go on behind it.
      const last = ends.findLast(({ end }) => end <= written);
      chain.continueFrom(last?.head ?? before);
      this.#inFile = chain.head;
      const whole = written === 0 || last?.end === written - 1;
      if (!whole) this.#openLine = this.#resume = true;
      const bytes = lines.bytes.subarray(0, written);
      if (written > 0) this.#checkpoints?.take(bytes, chain.head.number, whole, records);
      throw error;
    }
    this.#inFile = chain.head;
    this.#checkpoints?.take(lines.bytes, chain.head.number, true, records);
    this.#saveLater();
    return lines.length;
  }

  async saveHead(): Promise<void> {
    this.#saving?.cancel();
    this.#saving = null;
    const head = this.head;
    if (head === null || head.number === this.#savedNumber || this.#target.path === null) return;
    this.#savedNumber = head.number;
    try {
      await this.#parts.heads.save(head);
    } catch (error) {
      this.#savedNumber = 0;
      this.#parts.log.debug("the end of an audit file's chain was not stored", {
        device: this.#target.device,
        cause: describe(error),
      });
    }
  }

  #saveLater(): void {
    if (this.#saving !== null || this.#target.path === null) return;
    this.#saving = this.#parts.timers.after(HEAD_PERIOD, () => {
      this.#saving = null;
      void this.saveHead();
    });
  }

  /** Finds where the chain ended, and says how it goes on. */
  async #joinChain(file: AppendFile): Promise<ChainEvent> {
    if (this.#chain !== null) return "continued";
    const { hmac, heads, log } = this.#parts;
    const left = this.#exchanged();
    const own = this.#target.path === null ? null : heads.load();
    const tail = await readTail(file, hmac);
    if (own === null && left !== null && this.#isNext(left, tail.head)) {
      this.#chain = new Chain(hmac, left.head);
      this.#openLine = tail.openLine;
      return "exchanged";
    }
    const stored = own ?? (left?.key === this.#keyMark ? left.head : null);
    // Behind the stored end there may be records of a process that crashed; before it, someone has
    // cut the file, and the number that comes next shows it.
    const inFile = tail.head !== null && tail.head.number >= (stored?.number ?? 0);
    if (stored !== null && !inFile && tail.head !== null) {
      this.#missing = `records ${tail.head.number + 1} to ${stored.number} are missing`;
      log.error("audit records are missing at the end of the file", {
        device: this.#target.device,
        last: tail.head.number,
        expected: stored.number,
      });
    }
    const head = (inFile ? tail.head : stored) ?? NO_HEAD;
    this.#chain = new Chain(hmac, head);
    this.#openLine = tail.openLine;
    this.#resume = tail.broken && head !== NO_HEAD;
    return head === NO_HEAD ? "started" : "continued";
  }

  /** Whether the chain of this key begins behind a chain that was left, and did not before a crash. Own records at the end
   *  of the file that are older than what was left are from before that: what is behind them was cut off. */
  #isNext({ key, file, head }: ExchangedChain, inFile: ChainHead | null): boolean {
    if (key === this.#keyMark) return false;
    return inFile === null || (file === this.#target.path && inFile.number <= head.number);
  }

  #exchanged(): ExchangedChain | null {
    return this.#target.path === null ? null : (this.#parts.heads.exchanged?.() ?? null);
  }

  /** When the file was begun, by its first line. */
  async #begun(file: AppendFile): Promise<Instant> {
    const now = this.#parts.clock.now();
    if (file.size === 0 || this.#target.rotation.interval === null) return now;
    const first = text(await file.read(0, 512));
    const time = /"time":"([^"]{20,40})"/.exec(first)?.[1];
    try {
      return parseTime(time) ?? file.modified;
    } catch {
      return file.modified;
    }
  }
}

class FileSink implements Sink {
  readonly broken = false;
  readonly #source: FileSource;
  #file: AppendFile;
  #size: number;
  #begun: Instant;
  #abandoned = false;
  #notBefore: Nanos = 0n; // after a rotation that failed

  constructor(source: FileSource, file: AppendFile, begun: Instant) {
    this.#source = source;
    this.#file = file;
    this.#size = file.size;
    this.#begun = begun;
  }

  async write(records: readonly string[], event: ChainEvent | null = null): Promise<void> {
    const due = records.length > 0 && this.#rotationDue(records);
    const rotated = due && (await this.#rotate());
    this.#size += await this.#source.append(this.#file, records, rotated ? "rotated" : event);
    if (rotated) await this.#source.saveHead();
  }

  /** A call into the operating system cannot be taken back. */
  abandon(): void {
    this.#abandoned = true;
  }

  async close(): Promise<void> {
    if (!this.#abandoned) await this.#source.closed(this.#file);
    await this.#source.saveHead();
    await this.#file.close();
  }

  #rotationDue(records: readonly string[]): boolean {
    const { target, parts } = this.#source;
    const { bytes, interval } = target.rotation;
    if (target.path === null || this.#size === 0) return false;
    if (parts.clock.elapsed() < this.#notBefore) return false;
    if (interval !== null && parts.clock.now() - this.#begun >= interval) return true;
    if (bytes === null) return false;
    let coming = 0;
    for (const record of records) coming += record.length;
    return this.#size + coming > bytes;
  }

  /** Moves the file away and opens a new one. If it cannot be moved, records go on into it. */
  async #rotate(): Promise<boolean> {
    const { target, parts } = this.#source;
    const { files, clock, log } = parts;
    if (target.path === null) return false;
    this.#size += await this.#source.leave(this.#file);
    const { head } = this.#source;
    if (head === null) return false;
    const now = clock.now();
    try {
      await files.rename(target.path, rotatedPath(target.path, now, head.number));
    } catch (error) {
      this.#notBefore = clock.elapsed() + ROTATE_AGAIN;
      const { device } = target;
      log.error("an audit file could not be rotated", { device, cause: describe(error) });
      return false;
    }
    const old = this.#file;
    this.#file = await this.#source.openFile();
    this.#source.began(this.#file);
    this.#size = this.#file.size;
    this.#begun = now;
    await old.close();
    await this.#removeOld(target.path, target.rotation.keep);
    return true;
  }

  async #removeOld(path: string, keep: number | null): Promise<void> {
    if (keep === null) return;
    const { files, log } = this.#source.parts;
    try {
      const directory = dirname(path);
      const old = rotatedFiles(path, await files.names(directory));
      for (const name of old.slice(0, Math.max(0, old.length - keep))) {
        await files.remove(join(directory, name));
      }
    } catch (error) {
      log.error("old audit files could not be removed", { cause: describe(error) });
    }
  }
}
