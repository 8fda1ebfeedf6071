// Checkpoints of one file: every ten thousand records or ten minutes a line that anybody can check, with the SHA-256 of
// the bytes since the last one and a signature. Bytes are hashed as they are written, since what lies in the file
// later may have been edited, and here: a thread that hashes takes twice as much from the others as it saves this one.
// Signing is left to another thread, and its line comes behind whatever was written meanwhile.

import { createHash, type Hash } from "node:crypto";
import { text } from "@holdfast/shared/bytes";
import { MINUTE } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { showTime } from "@holdfast/shared/text/time";
import type { AppendFile, Clock, Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Hmac } from "../../crypto/hmac.ts";
import {
  checkpointLine,
  type CheckpointRegion,
  regionReport,
} from "../../signed/audit-checkpoint.ts";
import type { Envelope, OpenEnvelope } from "../../signed/envelope.ts";
import { LAST_LOOK, readUncovered } from "./uncovered-tail.ts";

export const CHECKPOINT_RECORDS = 10_000;
const CHECKPOINT_PERIOD: Nanos = 10n * MINUTE;
const AGAIN: Nanos = MINUTE; // after one that was not taken
const NEWLINE = 0x0a;
const SLICE = 1024 * 1024; // bytes hashed in one piece

/** The last one that is in a file. */
export interface CheckpointHead {
  readonly number: number;
  readonly digest: string;
  readonly last: number;
}

/** What is in a file behind the last region that was marked. */
export interface UncoveredEnd {
  /** Number of the record before it. */
  readonly before: number;
  readonly bytes: number;
  readonly digest: string;
}

export interface RegionReport extends ReturnType<typeof regionReport> {
  readonly period: { readonly from: Instant; readonly to: Instant };
}

export type SignCheckpoint = (
  report: RegionReport,
  place: { readonly number: number; readonly previous: string | null },
) => Promise<{ readonly digest: string; readonly envelope: Envelope }>;

export interface CheckpointSigner {
  readonly sign: SignCheckpoint;
  /** Whether a key of this store has: also one from before its data was exchanged. */
  readonly hasSigned: (envelope: OpenEnvelope) => boolean;
}

export interface CheckpointParts extends CheckpointSigner {
  readonly deviceId: string;
  readonly load: () => CheckpointHead | null;
  readonly save: (head: CheckpointHead) => Promise<void>;
  /** Puts a line among the records; rejects where it is not taken. */
  readonly write: (record: string) => Promise<void>;
}

export interface CheckpointOptions extends CheckpointParts {
  readonly device: string;
  readonly prefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** What a line is about. */
interface Marked extends CheckpointRegion {
  readonly since: Instant;
}

interface Line {
  readonly text: string;
  readonly head: CheckpointHead;
}

const LINE_END = 128; // bytes: with number and MAC of a record

/** Whether the file has this record last before a place; its first bytes may follow one in a file before it. */
async function endsWith(file: AppendFile, at: number, number: number): Promise<boolean> {
  if (at === 0 || number === 0) return true;
  const from = Math.max(0, at - LINE_END);
  const end = text(await file.read(from, at - from));
  return /,"number":([0-9]+),"mac":"[0-9a-f]{64}"\}\n$/.exec(end)?.[1] === String(number);
}

export class Checkpoints {
  readonly #options: CheckpointOptions;
  #hash: Hash = createHash("sha256");
  #bytes = 0;
  #before = 0; // number of the record before the first
  #last = 0;
  #since: Instant;
  #whole = true; // the last line has its end
  #worth = false; // something other than a checkpoint is in it
  #head: CheckpointHead | null = null; // the last that was signed
  #signing: Promise<unknown> = Promise.resolve();
  #unwritten: Line | null = null;
  #timer: Timer | null = null;
  #problem: string | null = null;

  constructor(options: CheckpointOptions) {
    this.#options = options;
    this.#since = options.clock.now();
  }

  /** What was wrong with the file when this process went on with it. */
  get problem(): string | null {
    return this.#problem;
  }

  /** The last that was signed, in the file or not: none after it may have its number. */
  get head(): CheckpointHead | null {
    return this.#head;
  }

  /** By this another process can know the end of the file again. */
  get uncovered(): UncoveredEnd {
    const digest = this.#hash.copy().digest("hex");
    return { before: this.#before, bytes: this.#bytes, digest };
  }

  // --- which bytes ---

  /** A process goes on with a file: what no checkpoint covers is followed and hashed. */
  async recover(file: AppendFile, hmac: Hmac, last: number, isKnown: boolean): Promise<void> {
    const { load, hasSigned, device, log, timers } = this.#options;
    const stored = load();
    this.#head ??= stored;
    if (file.size === 0) return this.begin(last);
    const tail = await readUncovered(file, { hmac, hasSigned, timers, isKnown });
    const inFile = tail?.checkpoint?.device === device ? tail.checkpoint : null;
    const isNewer = inFile !== null && inFile.number > (stored?.number ?? 0);
    if (isNewer) this.#head = { number: inFile.number, digest: inFile.own, last: inFile.last };
    if (tail === null) {
      log.warn("what is in an audit file so far stays without checkpoints", { device });
      return this.begin(last);
    }
    this.begin(tail.first === null ? last : tail.first - 1);
    await this.#takeInSlices(tail.bytes);
    this.#last = last;
    if (tail.problem !== null) this.#tellBroken(tail.problem);
  }

  /** The key of the chain is another one than that of what is in the file: its end is known by its digest instead. */
  async follow(file: AppendFile, end: UncoveredEnd, last: number): Promise<void> {
    this.#head ??= this.#options.load();
    this.begin(last);
    if (file.size === 0 || end.bytes > LAST_LOOK) return; // moved away; or it stays uncovered
    this.begin(end.before);
    const from = Math.max(0, file.size - end.bytes);
    await this.#takeInSlices(await file.read(from, file.size - from));
    this.#last = last;
    const isSame = this.#bytes === end.bytes && this.uncovered.digest === end.digest;
    if (isSame && (await endsWith(file, from, end.before))) return;
    this.begin(last);
    this.#tellBroken("the file does not end as it was left when the data was exchanged");
  }

  async #takeInSlices(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += SLICE) {
      this.#hash.update(bytes.subarray(at, at + SLICE));
      await this.#options.timers.turn();
    }
    this.#bytes = bytes.length;
  }

  #tellBroken(problem: string): void {
    const { device, log } = this.#options;
    this.#problem = problem;
    log.error("the chain of an audit file is broken", { device, cause: problem });
  }

  /** From here on, in a file of its own or behind what is left uncovered. */
  begin(last: number): void {
    this.#hash = createHash("sha256");
    this.#bytes = 0;
    this.#before = last;
    this.#last = last;
    this.#worth = false;
    this.#whole = true;
    this.#since = this.#options.clock.now();
  }

  /** These bytes are in the file; `last` is the last whole record, behind which there is nothing if `whole`. */
  take(bytes: Uint8Array, last: number, whole: boolean, records: readonly string[]): void {
    // The end of a line that somebody else broke off: it is before what begins here.
    const own = this.#bytes === 0 && bytes[0] === NEWLINE ? bytes.subarray(1) : bytes;
    this.#hash.update(own);
    this.#bytes += own.length;
    this.#last = last;
    this.#whole = whole;
    this.#worth ||= !(records.length === 1 && records[0] === this.#unwritten?.text);
    if (!this.#worth) return;
    if (last - this.#before >= CHECKPOINT_RECORDS) void this.#make();
    else this.#timer ??= this.#arm(CHECKPOINT_PERIOD);
  }

  // --- lines ---

  /** The line that ends a file, for whoever is about to leave it; null where nothing is left to cover. */
  async last(): Promise<string | null> {
    this.#disarm();
    const region = this.#mark();
    if (region === null) return null;
    const line = await this.#signed(region);
    this.#unwritten = line;
    return line?.text ?? null;
  }

  /** The line that last() gave is in the file. */
  async wrote(): Promise<void> {
    const line = this.#unwritten;
    this.#unwritten = null;
    if (line !== null) await this.#save(line.head);
  }

  stop(): void {
    this.#disarm();
  }

  async #make(): Promise<void> {
    this.#disarm();
    const again = this.#unwritten;
    const region = again === null ? this.#mark() : null;
    const line = again ?? (region === null ? null : await this.#signed(region));
    if (line === null) return;
    this.#unwritten = line;
    try {
      await this.#options.write(line.text);
      if (this.#unwritten === line) await this.wrote();
      if (this.#worth) this.#timer ??= this.#arm(CHECKPOINT_PERIOD);
    } catch {
      this.#timer ??= this.#arm(AGAIN); // the device has told why
    }
  }

  #mark(): Marked | null {
    if (!this.#worth || !this.#whole || this.#last === this.#before) return null;
    const digest = this.#hash.digest("hex");
    const region = { first: this.#before + 1, last: this.#last, bytes: this.#bytes, digest };
    const since = this.#since;
    this.begin(this.#last);
    return { ...region, since };
  }

  /** One after another: each names the one before it. */
  #signed(region: Marked): Promise<Line | null> {
    const signed = this.#signing.then(() => this.#sign(region));
    this.#signing = signed;
    return signed;
  }

  async #sign({ since, ...region }: Marked): Promise<Line | null> {
    const { sign, device, deviceId, prefix, clock, log } = this.#options;
    const now = clock.now();
    const head = this.#head;
    const place = { number: (head?.number ?? 0) + 1, previous: head?.digest ?? null };
    try {
      const report = regionReport(device, deviceId, region, this.#problem);
      const period = { from: since, to: now };
      const { digest, envelope } = await sign({ ...report, period }, place);
      this.#head = { number: place.number, digest, last: region.last };
      const text = prefix + checkpointLine(showTime(now), device, envelope);
      return { text, head: this.#head };
    } catch (error) {
      log.error("a checkpoint of an audit file was not signed", {
        device,
        cause: describe(error),
      });
      return null;
    }
  }

  async #save(head: CheckpointHead): Promise<void> {
    const { save, device, log } = this.#options;
    try {
      await save(head);
    } catch (error) {
      log.debug("the last checkpoint of an audit file was not stored", {
        device,
        cause: describe(error),
      });
    }
  }

  #arm(delay: Nanos): Timer {
    return this.#options.timers.after(delay, () => {
      this.#timer = null;
      void this.#make();
    });
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
