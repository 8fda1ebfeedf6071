// The reading end of the chain: tells whether a file's records are all there, in order and unchanged,
// and names the first place where they are not.

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
  /** Lines of an earlier device, or of an earlier key, before this one's first; those of the files before count. */
  readonly foreign: number;
  /** Broken-off lines that the chain accounts for: of writes that failed. */
  readonly torn: number;
}

export interface VerifyOptions {
  /** The last record of the file before; without it the file's own first line is believed. */
  readonly from?: ChainHead | null;
  /** The record that the file must reach: otherwise a cut at the end would not show. */
  readonly upTo?: ChainHead | null;
  /** Lines of an earlier device in the files before. Default 0. */
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

export class ChainVerifier {
  readonly #hmac: Hmac;
  readonly #upTo: ChainHead | null;
  #head: ChainHead | null;
  #line = 0;
  #records = 0;
  #first: number | null = null;
  #foreign: number;
  #torn = 0;
  #broken = 0; // lines that the next record must account for
  #brokenOff: number | null = null; // where the first of them is
  #problem: Problem | null = null;

  constructor(hmac: Hmac, { from = null, upTo = null, foreign = 0 }: VerifyOptions = {}) {
    this.#hmac = hmac;
    this.#head = from;
    this.#upTo = upTo;
    this.#foreign = foreign;
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

  #takeChainLine(line: SealedLine, { event, previous }: ChainLine): void {
    if (line.number !== previous.number + 1 || !follows(this.#hmac, previous.mac, line)) {
      if (this.#head === null) this.#foreign++;
      else this.#refuse("it was changed, or is not of this device");
      return;
    }
    if (this.#head === null) {
      // Only the very first record of a device, or of its key, may have something else before it.
      if (this.#foreign > 0 && !isBeginning(event)) return this.#refuse(NOT_OURS, 1);
    } else if (previous.number !== this.#head.number) {
      return this.#refuse(gap(this.#head.number, line.number));
    } else if (previous.mac !== this.#head.mac) {
      return this.#refuse("it does not follow from the record before it");
    }
    if (this.#brokenOff !== null && event !== "resumed") {
      return this.#refuse(NOT_WHOLE, this.#brokenOff);
    }
    this.#torn += this.#broken;
    this.#broken = 0;
    this.#brokenOff = null;
    this.#accept(line);
  }

  #takeRecord(line: SealedLine | null): void {
    if (this.#head === null) {
      this.#foreign++;
      return;
    }
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

  #accept({ number, mac }: SealedLine): void {
    this.#records++;
    this.#first ??= number;
    this.#head = { number, mac };
  }

  #checkEnd(): void {
    if (this.#problem !== null) return;
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
    this.#problem = { line, reason };
  }
}

const NOT_WHOLE = "it is not a whole record";
const NOT_OURS = "no record of this device begins the file";

function gap(last: number, next: number): string {
  if (next <= last) return `record ${next} is out of order: the one before it is ${last}`;
  const missing = next - last - 1;
  return missing === 1
    ? `record ${last + 1} is missing`
    : `records ${last + 1} to ${next - 1} are missing`;
}
