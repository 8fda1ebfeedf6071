// Reads a JSON text byte by byte before anything is built from it: whether it is JSON at all, within
// the limits, and free of what two readers would read differently. Whatever is hostile within the
// size of a body costs only this pass. A refusal says what and where, never what was read.

import type { Failure } from "../failure.ts";
import { bodyMalformed } from "../failures.ts";
import { OpenKeys } from "./json-keys.ts";
import type { JsonLimits } from "./json-limits.ts";

const LONGEST_ESCAPE = 6; // bytes that may stand for one
const EXACT_DIGITS = 15; // any whole number of so many digits is a double

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LETTER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const NOTHING = -1; // beyond the end

export class JsonScanner {
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  readonly #keys: OpenKeys;
  readonly #refuses: (name: string) => boolean;
  #at = 0;
  #tokens = 0;
  #depth = 0;
  // What is open, from the outside in: how many entries it has and, for an object, how many keys were
  // open before it; for an array -1.
  readonly #entries: number[] = [];
  readonly #keysBefore: number[] = [];
  #escaped = false; // whether the last string had an escape
  #odd = false;

  /** Of bytes that are UTF-8. */
  constructor(
    bytes: Buffer,
    limits: JsonLimits,
    { foldCase, refuses }: { foldCase: boolean; refuses: (name: string) => boolean },
  ) {
    this.#refuses = refuses;
    this.#bytes = bytes;
    this.#limits = limits;
    this.#keys = new OpenKeys(bytes, foldCase);
  }

  /** Whether there is a number whose text would not come back from a double. */
  get hasOddNumbers(): boolean {
    return this.#odd;
  }

  /** Throws unless the bytes are one object within the limits. */
  scan(): void {
    if (this.#next() !== OPEN_OBJECT) throw malformed("it must be a JSON object", this.#at);
    this.#value(OPEN_OBJECT);
    while (this.#depth > 0) this.#step();
    if (this.#next() !== NOTHING) throw malformed("something follows the object", this.#at);
  }

  /** One entry of what is open, or its end. */
  #step(): void {
    const top = this.#depth - 1;
    const isObject = this.#keysBefore[top] !== -1;
    const entries = this.#entries[top] ?? 0;
    let byte = this.#next();
    if (byte === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.#close();
    if (entries > 0) {
      if (byte !== COMMA) throw this.#expected(isObject ? '"," or "}"' : '"," or "]"');
      this.#at++;
      byte = this.#next();
    }
    const max = isObject ? this.#limits.keys : this.#limits.elements;
    if (entries >= max) {
      const what = isObject ? `an object has more than ${max} keys` : "an array has more than";
      throw malformed(isObject ? what : `${what} ${max} elements`, this.#at);
    }
    this.#entries[top] = entries + 1;
    if (isObject) {
      if (byte !== QUOTE) throw this.#expected("a key in quotes");
      this.#key();
      if (this.#next() !== COLON) throw this.#expected('":"');
      this.#at++;
      byte = this.#next();
    }
    this.#value(byte);
  }

  #value(byte: number): void {
    this.#count();
    if (byte === QUOTE) return this.#string();
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) return this.#open(byte === OPEN_OBJECT);
    if (byte === MINUS || isDigit(byte)) return this.#number();
    if (this.#word("true") || this.#word("false") || this.#word("null")) return;
    throw this.#expected("a value");
  }

  #open(isObject: boolean): void {
    if (this.#depth >= this.#limits.depth) {
      throw malformed(`it is nested deeper than ${this.#limits.depth}`, this.#at);
    }
    this.#entries[this.#depth] = 0;
    this.#keysBefore[this.#depth] = isObject ? this.#keys.size : -1;
    this.#depth++;
    this.#at++;
  }

  #close(): void {
    this.#depth--;
    this.#at++;
    const before = this.#keysBefore[this.#depth] ?? -1;
    if (before === -1) return;
    const repeated = this.#keys.close(before);
    if (repeated !== -1) throw malformed("an object has the same key twice", repeated);
  }

  #key(): void {
    this.#count();
    const start = this.#at + 1;
    this.#string();
    const end = this.#at - 1;
    const max = this.#limits.keyBytes;
    if (end - start > (this.#escaped ? LONGEST_ESCAPE : 1) * max) throw tooLong(max, start);
    if (!this.#escaped) {
      const length = end - start;
      if ((length === 9 || length === 11) && this.#isForbidden(start, end)) throw forbidden(start);
      return this.#keys.push(start, end);
    }
    const quoted = this.#bytes.toString("utf8", start - 1, end + 1);
    const name = String(JSON.parse(quoted)); // what its escapes stand for
    if (Buffer.byteLength(name) > max) throw tooLong(max, start);
    if (this.#refuses(name)) throw forbidden(start);
    this.#keys.pushEscaped(start, end, name);
  }

  #isForbidden(start: number, end: number): boolean {
    return this.#refuses(this.#bytes.toString("latin1", start, end));
  }

  #string(): void {
    const bytes = this.#bytes;
    const end = bytes.length;
    let at = this.#at + 1;
    this.#escaped = false;
    for (;;) {
      if (at >= end) throw malformed("a string does not end", this.#at);
      const byte = bytes[at] ?? NOTHING;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) at = this.#escape(at);
      else if (byte >= 0x20) at++;
      else throw malformed("a string has a control character that is not escaped", at);
    }
    this.#at = at + 1;
  }

  /** Gives the place behind the escape, or behind both halves of a pair. */
  #escape(at: number): number {
    this.#escaped = true;
    const kind = this.#byteAt(at + 1);
    if (kind !== LETTER_U) {
      if (!isSimpleEscape(kind)) throw malformed("a string has an unknown escape", at);
      return at + 2;
    }
    const unit = this.#hex(at);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    const second = at + 6;
    const paired = this.#byteAt(second) === BACKSLASH && this.#byteAt(second + 1) === LETTER_U;
    const other = unit < 0xdc00 && paired ? this.#hex(second) : 0;
    if (other < 0xdc00 || other > 0xdfff) {
      throw malformed("a string has half of a surrogate pair", at);
    }
    return second + 6;
  }

  /** The four digits of the escape at `at`. */
  #hex(at: number): number {
    let unit = 0;
    for (let i = at + 2; i < at + 6; i++) {
      const digit = hexDigit(this.#byteAt(i));
      if (digit < 0) throw malformed("a string has an escape that is not \\u and four digits", at);
      unit = unit * 16 + digit;
    }
    return unit;
  }

  #number(): void {
    const start = this.#at;
    const negative = this.#byteAt(start) === MINUS;
    const first = negative ? start + 1 : start;
    let at = this.#digits(first);
    const whole = at - first;
    if (whole > 1 && this.#byteAt(first) === 0x30) {
      throw malformed("a number begins with a needless 0", start);
    }
    let plain = whole <= EXACT_DIGITS && !(negative && this.#byteAt(first) === 0x30);
    if (this.#byteAt(at) === 0x2e) {
      plain = false;
      at = this.#digits(at + 1);
    }
    if ((this.#byteAt(at) | 0x20) === 0x65) {
      plain = false;
      const sign = this.#byteAt(at + 1);
      at = this.#digits(sign === 0x2b || sign === MINUS ? at + 2 : at + 1);
    }
    this.#at = at;
    if (at - start > this.#limits.numberBytes) {
      throw malformed(`a number has more than ${this.#limits.numberBytes} characters`, start);
    }
    if (plain || this.#odd) return; // one is enough to know
    if (!isCanonicalNumber(this.#bytes.toString("latin1", start, at))) this.#odd = true;
  }

  /** Gives the place behind one or more digits. */
  #digits(from: number): number {
    let at = from;
    while (isDigit(this.#byteAt(at))) at++;
    if (at === from) throw malformed("a number lacks a digit", at);
    return at;
  }

  #word(word: string): boolean {
    for (let i = 0; i < word.length; i++) {
      if (this.#byteAt(this.#at + i) !== word.charCodeAt(i)) return false;
    }
    this.#at += word.length;
    return true;
  }

  #count(): void {
    if (++this.#tokens > this.#limits.tokens) {
      throw malformed(`it has more than ${this.#limits.tokens} keys and values`, this.#at);
    }
  }

  /** The next byte that is no white space, not taken yet. */
  #next(): number {
    for (;;) {
      const byte = this.#byteAt(this.#at);
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  #byteAt(at: number): number {
    return at < this.#bytes.length ? (this.#bytes[at] ?? NOTHING) : NOTHING;
  }

  #expected(what: string): Failure {
    const ended = this.#at >= this.#bytes.length;
    return malformed(ended ? `it ends where ${what} must follow` : `${what} must follow`, this.#at);
  }
}

/** Whether a double gives back just this text. */
export function isCanonicalNumber(source: string): boolean {
  return String(Number(source)) === source;
}

export function malformed(what: string, at: number): Failure {
  const message = `the request body is not valid: ${what} (at byte ${at})`;
  return bodyMalformed(message);
}

function forbidden(at: number): Failure {
  return malformed("__proto__, constructor and prototype cannot be keys", at);
}

function tooLong(max: number, at: number): Failure {
  return malformed(`a key has more than ${max} bytes`, at);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function hexDigit(byte: number): number {
  if (isDigit(byte)) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** One of " \ / b f n r t */
function isSimpleEscape(byte: number): boolean {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}
