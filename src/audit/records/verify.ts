// The reading end of the chain: tells whether a file's records are all there, in order and unchanged,
// and names the first place where they are not. Where the data was exchanged for that of another key and back, lines of
// the other key stand between: they count as unchecked once a line of this key accounts for them, and never before.

import type { KeyObject } from "node:crypto";
import {
  type ChainHead,
  type ChainLine,
  isBeginning,
  parseChainLine,
  parseLine,
  type SealedLine,
} from "../../signed/audit-line.ts";
import { follows } from "./chain.ts";
import { Hmac } from "../../crypto/hmac.ts";

export interface Problem {
  readonly line: number; // from 1
  readonly reason: string;
}

export interface Verdict {
  readonly problem: Problem | null;
  /** Good records up to there. */
  readonly records: number;
  readonly first: number | null;
  /** The last good one, to go on from in the next file. */
  readonly head: ChainHead | null;
  /** Lines of another device, or of another key, that a beginning of this one accounts for. */
  readonly foreign: number;
  /** Broken-off lines that the chain accounts for: of writes that failed. */
  readonly torn: number;
}

export interface VerifyOptions {
  /** The last record of the file before; without it the file's own first line is believed. */
  readonly from?: ChainHead | null;
  /** The record that the file must reach: otherwise a cut at the end would not show. */
  readonly upTo?: ChainHead | null;
  /** Lines of another device or key that are known to stand before. Default 0. */
  readonly foreign?: number;
}

/** `lines` without their line ends. */
export function verifyAuditFile(
  lines: Iterable<string>,
  key: KeyObject,
  options: VerifyOptions = {},
): Verdict {
  const hmac = new Hmac(key);
  try {
    const verifier = new ChainVerifier(hmac, options);
    for (const line of lines) if (!verifier.take(line)) break;
    return verifier.end();
  } finally {
    hmac.wipe();
  }
}

/** Lines of another key behind own ones, which the next own line must account for. */
interface OtherStretch {
  readonly place: Place; // of its first
  readonly lines: number;
  /** The last whole one. Nobody can check its MAC; the own line behind it names it. */
  readonly last: ChainHead;
}

/** Both from where they count: files from 0, lines from 1. */
interface Place {
  readonly file: number;
  readonly line: number;
}

/** For one file after another: those of one device, the oldest first. */
export class ChainVerifier {
  readonly #hmac: Hmac;
  readonly #upTo: ChainHead | null;
  #head: ChainHead | null;
  #device: string | null = null; // its name, as an own line has it
  #file = 0;
  #line = 0;
  #records = 0;
  #first: number | null = null;
  #foreign: number;
  #other: OtherStretch | null = null;
  #before: ChainHead | null = null; // the last line before the first own one
  readonly #beginnings = new Set<string>(); // MACs: a copy of such a line accounts for nothing
  #torn = 0;
  #broken = 0; // lines that the next record must account for
  #brokenOff: number | null = null; // where the first of them is
  #problem: Problem | null = null;
  #problemFile = 0;

  constructor(hmac: Hmac, { from = null, upTo = null, foreign = 0 }: VerifyOptions = {}) {
    this.#hmac = hmac;
    this.#head = from;
    this.#upTo = upTo;
    this.#foreign = foreign;
  }

  /** Which file has the problem, from 0. */
  get problemFile(): number {
    return this.#problemFile;
  }

  /** How often a chain of this key has begun. */
  get beginnings(): number {
    return this.#beginnings.size;
  }

  /** The last lines are of another key, and no line of this one accounts for them. */
  get endsWithOther(): boolean {
    return this.#other !== null;
  }

  /** False once a problem is known. */
  take(line: string): boolean {
    this.#line++;
    if (this.#problem !== null) return false;
    const sealed = parseLine(line);
    const chained = sealed === null ? null : parseChainLine(line);
    if (chained !== null && sealed !== null) this.#takeChainLine(sealed, chained);
    else this.#takeRecord(sealed);
    return this.#problem === null;
  }

  /** The file is at its end, and another one follows. False once a problem is known. */
  endFile(): boolean {
    if (this.#problem === null && this.#brokenOff !== null) {
      this.#refuse(NOT_WHOLE, this.#brokenOff);
    }
    this.#file++;
    this.#line = 0;
    return this.#problem === null;
  }

  end(): Verdict {
    this.#checkEnd();
    return this.soFar();
  }

  /** Without asking whether the last line is whole. */
  soFar(): Verdict {
    return {
      problem: this.#problem,
      records: this.#records,
      first: this.#first,
      head: this.#head,
      foreign: this.#foreign,
      torn: this.#torn,
    };
  }

  #takeChainLine(line: SealedLine, chained: ChainLine): void {
    const { event, device, previous } = chained;
    if (line.number !== previous.number + 1 || !follows(this.#hmac, previous.mac, line)) {
      return this.#takeOtherChainLine(line, chained);
    }
    if (this.#other !== null) {
      if (!this.#accountsFor(this.#other, line, chained)) return;
    } else if (this.#head === null) {
      // Only the very first record of a device, or of its key, may have something else before it.
      if (this.#foreign > 0 && !isBeginning(event)) return this.#refuse(NOT_OURS, 1);
    } else if (previous.number !== this.#head.number) {
      return this.#refuse(gap(this.#head.number, line.number));
    } else if (previous.mac !== this.#head.mac) {
      return this.#refuse(DOES_NOT_FOLLOW);
    }
    if (this.#brokenOff !== null && event !== "resumed") {
      return this.#refuse(NOT_WHOLE, this.#brokenOff);
    }
    this.#torn += this.#broken;
    this.#broken = 0;
    this.#brokenOff = null;
    this.#device = device;
    if (isBeginning(event)) this.#beginnings.add(line.mac);
    this.#accept(line);
  }

  /** Nobody here can check it: it may be of the key that the data was exchanged for, or of somebody's making. */
  #takeOtherChainLine(line: SealedLine, chained: ChainLine): void {
    if (this.#head === null) this.#takeBefore(line);
    else if (this.#other !== null) this.#takeOther(this.#other, line, chained);
    else if (this.#beginsOther(line, chained, this.#head)) {
      const { number, mac } = line;
      const place = { file: this.#file, line: this.#line };
      this.#other = { place, lines: this.#broken + 1, last: { number, mac } };
      this.#broken = 0;
      this.#brokenOff = null;
    } else this.#refuse(CHANGED);
  }

  /** Whether a chain of another key may begin there, behind this record. */
  #beginsOther(line: SealedLine, { event, device, previous }: ChainLine, last: ChainHead): boolean {
    if (event === "started") return line.number === 1;
    if (event !== "exchanged") return false;
    // A device of another name may have had this file meanwhile: its chain goes on from a file of its own.
    const isOwnName = this.#device === null || device === this.#device;
    return !isOwnName || (line.number === last.number + 1 && isSame(previous, last));
  }

  #takeOther(other: OtherStretch, line: SealedLine | null, chained: ChainLine | null): void {
    const { place, last } = other;
    const lines = other.lines + 1;
    if (line === null) {
      this.#other = { place, lines, last };
      return;
    }
    const { number, mac } = line;
    const begins = chained !== null && this.#beginsOther(line, chained, last);
    if (!begins) {
      // Put in between own ones, or behind an own beginning that was edited.
      if (this.#isNext(line, this.#head)) return this.#refuseAt(place, CHANGED);
      if (this.#isNext(line, last)) return this.#refuse(CHANGED, this.#line - 1);
      if (number !== last.number + 1) return this.#refuse(gap(last.number, number));
      if (chained !== null && !isSame(chained.previous, last)) return this.#refuse(DOES_NOT_FOLLOW);
    }
    this.#other = { place, lines, last: { number, mac } };
  }

  /** Whether an own line does; otherwise what is wrong is known. */
  #accountsFor(
    { place, lines, last }: OtherStretch,
    { mac }: SealedLine,
    { event, device, previous }: ChainLine,
  ): boolean {
    if (!isBeginning(event)) this.#refuseAt(place, CHANGED);
    else if (this.#beginnings.has(mac)) this.#refuse("it stands there twice");
    else if (event === "exchanged" && device === this.#device && !isSame(previous, last)) {
      this.#refuse(DOES_NOT_FOLLOW);
    } else {
      this.#foreign += lines;
      this.#other = null;
      return true;
    }
    return false;
  }

  #takeRecord(line: SealedLine | null): void {
    if (this.#head === null) return this.#takeBefore(line);
    if (this.#other !== null) return this.#takeOther(this.#other, line, null);
    if (line === null) {
      this.#broken++;
      this.#brokenOff ??= this.#line;
      return;
    }
    if (this.#brokenOff !== null) return this.#refuse(NOT_WHOLE, this.#brokenOff);
    if (line.number !== this.#head.number + 1) {
      return this.#refuse(gap(this.#head.number, line.number));
    }
    if (!follows(this.#hmac, this.#head.mac, line)) {
      return this.#refuse(`record ${line.number} was changed`);
    }
    this.#accept(line);
  }

  /** Before any own line that can be checked by itself. */
  #takeBefore(line: SealedLine | null): void {
    this.#foreign++;
    if (line === null) return;
    if (this.#isNext(line, this.#before)) return this.#refuse(NOT_OURS, 1);
    this.#before = { number: line.number, mac: line.mac };
  }

  #isNext(line: SealedLine, last: ChainHead | null): boolean {
    return last?.number === line.number - 1 && follows(this.#hmac, last.mac, line);
  }

  #accept({ number, mac }: SealedLine): void {
    this.#records++;
    this.#first ??= number;
    this.#head = { number, mac };
  }

  #checkEnd(): void {
    if (this.#problem !== null) return;
    if (this.#other !== null) return this.#refuseAt(this.#other.place, CHANGED);
    if (this.#brokenOff !== null) return this.#refuse(NOT_WHOLE, this.#brokenOff);
    if (this.#head === null && this.#foreign > 0) return this.#refuse(NOT_OURS, 1);
    if (this.#upTo === null) return;
    const { number, mac } = this.#head ?? { number: 0, mac: "" };
    if (number < this.#upTo.number) {
      this.#refuse(`records ${number + 1} to ${this.#upTo.number} are missing`, this.#line + 1);
    } else if (number === this.#upTo.number && mac !== this.#upTo.mac) {
      this.#refuse(`record ${number} was changed`);
    }
  }

  #refuse(reason: string, line = this.#line): void {
    this.#refuseAt({ file: this.#file, line }, reason);
  }

  #refuseAt({ file, line }: Place, reason: string): void {
    this.#problem = { line, reason };
    this.#problemFile = file;
  }
}

export const CHANGED = "it was changed, or is not of this device";
const DOES_NOT_FOLLOW = "it does not follow from the record before it";
const NOT_WHOLE = "it is not a whole record";
const NOT_OURS = "no record of this device begins the file";

function gap(last: number, next: number): string {
  if (next <= last) return `record ${next} is out of order: the one before it is ${last}`;
  const missing = next - last - 1;
  return missing === 1
    ? `record ${last + 1} is missing`
    : `records ${last + 1} to ${next - 1} are missing`;
}

function isSame(a: ChainHead, b: ChainHead): boolean {
  return a.number === b.number && a.mac === b.mac;
}
