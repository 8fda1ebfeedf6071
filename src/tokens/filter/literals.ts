// Values and names as a filter writes them: bare words, numbers, text in double quotes or backticks,
// and paths in double quotes.

import { isUtf8 } from "node:buffer";
import { concat, text as textOf } from "@holdfast/shared/bytes";
import type { Source } from "./source.ts";
import type { Selector } from "./syntax.ts";

const IDENTIFIER = /[A-Za-z][A-Za-z0-9_/]*/y;
const PLACE = /\.([0-9]+)/y;
const POINTER = /"((?:\/[\p{L}\p{N}_.~:|-]+)*)"/uy;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?/y;
const NUMBER_START = /[-0-9]/y;
const BEHIND_NUMBER = /[ \t\r\n)]/;
const ESCAPE =
  /\\(?:([abfnrtv\\])|x([0-9A-Fa-f]{2})|([0-3][0-7]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))/y;
const PLAIN = /[^\\]+/y;
const CONTROLS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/** What stands on either side of an operator: it may be readable as a selector, as a value, or both. */
export interface Operand {
  readonly selector: Selector | null;
  readonly value: string;
}

export function readIdentifier(source: Source): string | null {
  return source.take(IDENTIFIER)?.[0] ?? null;
}

/** A dotted path, or a path of slashes in double quotes. */
export function readSelector(source: Source): Selector | null {
  return readDotted(source) ?? readPointer(source);
}

function readDotted(source: Source): Selector | null {
  const first = readIdentifier(source);
  if (first === null) return null;
  const parts = [first];
  for (;;) {
    const part = readPart(source);
    if (part === null) return parts;
    parts.push(part);
  }
}

function readPart(source: Source): string | null {
  const from = source.at;
  if (source.eat("[")) {
    source.blank();
    const text = readText(source);
    if (text === null) throw source.mismatch("text in quotes");
    source.blank();
    if (!source.eat("]")) throw source.mismatch('"]"');
    return text;
  }
  const place = source.take(PLACE)?.[1];
  if (place !== undefined) return place;
  const name = source.eat(".") ? readIdentifier(source) : null;
  if (name === null) source.at = from;
  return name;
}

function readPointer(source: Source): Selector | null {
  const path = source.take(POINTER)?.[1];
  if (path === undefined) return null;
  const parts = path.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function readOperand(source: Source): Operand {
  const from = source.at;
  const dotted = readDotted(source);
  // A bare word is text where a value is wanted, whatever it would select elsewhere.
  if (dotted !== null) return { selector: dotted, value: dotted.join(".") };
  const pointer = readPointer(source);
  // Quoted text is taken as it stands; what reads as a pointer has no escapes.
  if (pointer !== null) {
    return { selector: pointer, value: source.text.slice(from + 1, source.at - 1) };
  }
  const value = readText(source) ?? readNumber(source);
  if (value === null) throw source.mismatch("a field or a value");
  return { selector: null, value };
}

function readNumber(source: Source): string | null {
  const from = source.at;
  const number = source.take(NUMBER)?.[0];
  if (number === undefined) {
    if (source.take(NUMBER_START) === null) return null;
    throw source.refusal("invalid number literal", from);
  }
  if (source.atEnd() || BEHIND_NUMBER.test(source.text.charAt(source.at))) return number;
  const hint = 'a number is followed by a blank, ")" or the end; quote what is text';
  throw source.refusal(`invalid number literal: ${hint}`, from);
}

function readText(source: Source): string | null {
  const from = source.at;
  const quote = source.text.charAt(from);
  if (quote !== '"' && quote !== "`") return null;
  // No escape can hold the quote itself, so the next one ends the text.
  const end = source.text.indexOf(quote, from + 1);
  if (end === -1) throw source.refusal("unterminated string literal", from);
  source.at = end + 1;
  const inner = source.text.slice(from + 1, end);
  if (quote === "`") return inner.replaceAll("\r", "");
  const value = inner.includes("\n") ? null : unescaped(inner);
  if (value !== null) return value;
  const hint =
    "escapes are \\n, \\t, \\\\, \\xHH, \\uHHHH and the like; backticks take text as it is";
  throw source.refusal(`invalid string literal: ${hint}`, from);
}

/** Null if an escape is none, or writes what is no character. */
function unescaped(inner: string): string | null {
  if (!inner.includes("\\")) return inner;
  const parts: Buffer[] = []; // bytes, because \x and octal write bytes
  for (let at = 0; at < inner.length;) {
    const pattern = inner.charAt(at) === "\\" ? ESCAPE : PLAIN;
    pattern.lastIndex = at;
    const found = pattern.exec(inner);
    if (found === null) return null;
    const [whole, letter, hex, octal, short, long] = found;
    const byte = hex === undefined ? octal && Number.parseInt(octal, 8) : Number.parseInt(hex, 16);
    const point = short ?? long;
    if (typeof byte === "number") parts.push(Buffer.from([byte]));
    else if (point === undefined) {
      parts.push(Buffer.from(letter === undefined ? whole : (CONTROLS[letter] ?? "")));
    } else {
      const code = Number.parseInt(point, 16);
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return null;
      parts.push(Buffer.from(String.fromCodePoint(code)));
    }
    at = pattern.lastIndex;
  }
  const bytes = concat(...parts);
  return isUtf8(bytes) ? textOf(bytes) : null;
}
