// The text of a filter and a place in it. Refusals count as clients are used to: lines and columns
// from 1, columns in characters, the offset in bytes.

import type { Failure } from "@holdfast/shared/failure";
import { unreadable } from "./failures.ts";

/** Of the UTF-8 form. */
export const MAX_FILTER_BYTES = 4096;

const BLANK = /[ \t\r\n]*/y;

/** The text does not go on as the grammar wants; another reading may still fit. */
export class Mismatch extends Error {
  readonly at: number;
  readonly expected: string;

  constructor(at: number, expected: string) {
    super(`expected: ${expected}`);
    this.name = "Mismatch";
    this.at = at;
    this.expected = expected;
  }
}

export class Source {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
    if (text.length > MAX_FILTER_BYTES || Buffer.byteLength(text) > MAX_FILTER_BYTES) {
      throw unreadable("1:1 (0)", `a filter has at most ${MAX_FILTER_BYTES} bytes`);
    }
    if (!text.isWellFormed()) throw unreadable("1:1 (0)", "a filter is valid Unicode");
  }

  /** Steps over white space; false if there is none. */
  blank(): boolean {
    const from = this.at;
    BLANK.lastIndex = from;
    BLANK.test(this.text); // always matches, and moves on
    this.at = BLANK.lastIndex;
    return this.at > from;
  }

  /** Steps over these characters, if they are next. */
  eat(characters: string): boolean {
    if (!this.text.startsWith(characters, this.at)) return false;
    this.at += characters.length;
    return true;
  }

  /** Steps over a word and the white space that must follow it. */
  word(characters: string): boolean {
    const from = this.at;
    if (this.eat(characters) && this.blank()) return true;
    this.at = from;
    return false;
  }

  /** What a sticky pattern finds here, stepped over. */
  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }

  atEnd(): boolean {
    return this.at >= this.text.length;
  }

  mismatch(expected: string, at = this.at): Mismatch {
    return new Mismatch(at, expected);
  }

  refusal(problem: string, at = this.at): Failure {
    const before = this.text.slice(0, at);
    const line = before.split("\n");
    const column = Array.from(line.at(-1) ?? "").length + 1;
    return unreadable(`${line.length}:${column} (${Buffer.byteLength(before)})`, problem);
  }
}
