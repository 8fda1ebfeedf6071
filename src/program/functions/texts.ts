// Functions on text: those of the standard and of its `strings` extension. They count characters and not
// halves of them, and their time grows with the length and not with its square.

import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";
import { List, ValueList, ValueMap } from "../running/values.ts";
import { format } from "./format.ts";
import {
  grown,
  isInt,
  isText,
  listTooLong,
  type Native,
  type Natives,
  textTooLong,
} from "./native.ts";
import { found } from "./patterns.ts";
import { contains, lastPlace, Search } from "./text-search.ts";

/** For each piece that a text is put together of or falls into. */
const UNITS_PER_PIECE = 8;
const SURROGATE = /[\ud800-\udfff]/;

function search(call: (text: string, part: string, meter: Meter) => boolean): Native {
  return (meter, text, part) => {
    if (!isText(text) || !isText(part)) return undefined;
    return call(text, part, meter);
  };
}

/** Of what is compared no more is looked at than the shorter of the two has. */
function atAnEnd(call: (text: string, part: string) => boolean): Native {
  return search((text, part, meter) => {
    if (part.length > text.length) return false;
    meter.charge(part.length / 16);
    return call(text, part);
  });
}

/** A text by its characters, where some of them take two units. */
function characters(text: string, meter: Meter): readonly string[] | null {
  meter.charge(text.length / 32); // and what was put together of pieces becomes one here
  if (!SURROGATE.test(text)) return null;
  return listed(text, meter);
}

function listed(text: string, meter: Meter): readonly string[] {
  meter.charge(text.length / 2);
  return Array.from(text);
}

const size: Native = (meter, value) => {
  if (isText(value)) return BigInt(characters(value, meter)?.length ?? value.length);
  if (value instanceof Uint8Array) return BigInt(value.length);
  return value instanceof List || value instanceof ValueMap ? BigInt(value.size) : undefined;
};

const substring: Native = (meter, text, from, to) => {
  if (!isText(text) || !isInt(from) || (to !== undefined && !isInt(to))) return undefined;
  const parts = characters(text, meter);
  const length = parts?.length ?? text.length;
  const end = to ?? BigInt(length);
  if (from < 0n || end > BigInt(length) || from > end) throw outOfRange("substring");
  const [first, last] = [Number(from), Number(end)];
  return parts === null ? text.slice(first, last) : parts.slice(first, last).join("");
};

const charAt: Native = (meter, text, place) => {
  if (!isText(text) || !isInt(place)) return undefined;
  const parts = characters(text, meter) ?? text;
  if (place < 0n || place > BigInt(parts.length)) throw outOfRange("charAt");
  return parts[Number(place)] ?? "";
};

function indexFrom(last: boolean): Native {
  const name = last ? "lastIndexOf" : "indexOf";
  return (meter, text, part, from) => {
    if (!isText(text) || !isText(part) || (from !== undefined && !isInt(from))) return undefined;
    const parts = characters(text, meter);
    const length = parts?.length ?? text.length;
    if (from !== undefined && (from < 0n || from > BigInt(length))) throw outOfRange(name);
    const start = from === undefined ? (last ? length : 0) : Number(from);
    const unit = parts === null ? start : parts.slice(0, start).join("").length;
    const at = last ? lastPlace(text, part, unit, meter) : new Search(text, part, meter).from(unit);
    return BigInt(at === -1 || parts === null ? at : listed(text.slice(0, at), meter).length);
  };
}

function cased(from: number, to: number, shift: number): Native {
  return (meter, text) => {
    if (!isText(text)) return undefined;
    grown(text);
    meter.charge(text.length);
    let out = "";
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      out += code >= from && code <= to ? String.fromCharCode(code + shift) : text.charAt(i);
    }
    return out;
  };
}

const replace: Native = (meter, text, part, by, count) => {
  if (!isText(text) || !isText(part) || !isText(by)) return undefined;
  if (count !== undefined && !isInt(count)) return undefined;
  const max = count === undefined || count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  const parts = new Search(text, part, meter);
  let out = "";
  let from = 0;
  for (let done = 0; done < max; done += 1) {
    // Nothing is found before every character, and once more behind the last.
    const at = part === "" && done > 0 ? endOfCharacter(text, from) : parts.from(from);
    if (at === -1) break;
    meter.charge(UNITS_PER_PIECE);
    out += text.slice(from, at) + by;
    if (out.length > MAX_TEXT) throw textTooLong();
    from = at + part.length;
  }
  return grown(out + text.slice(from));
};

/** Of the one that begins here; -1 behind the last. */
function endOfCharacter(text: string, from: number): number {
  const unit = text.codePointAt(from);
  return unit === undefined ? -1 : from + (unit > 0xffff ? 2 : 1);
}

const split: Native = (meter, text, by, count) => {
  if (!isText(text) || !isText(by) || (count !== undefined && !isInt(count))) return undefined;
  if (count === 0n) return new ValueList([]);
  const max = count === undefined || count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  const places = new Search(text, by, meter);
  meter.charge(16);
  const parts: string[] = [];
  let from = 0;
  while (parts.length < max - 1) {
    const at = by === "" ? endOfCharacter(text, from) : places.from(from);
    if (at === -1 || (by === "" && at >= text.length)) break;
    meter.charge(UNITS_PER_PIECE);
    if (parts.length >= MAX_ELEMENTS) throw listTooLong();
    parts.push(text.slice(from, at));
    from = at + by.length;
  }
  if (by !== "" || from < text.length) parts.push(text.slice(from));
  return new ValueList(parts);
};

const join: Native = (meter, list, by = "") => {
  if (!(list instanceof List) || !isText(by)) return undefined;
  let out = "";
  for (let i = 0; i < list.size; i += 1) {
    const item = list.get(i);
    if (!isText(item)) throw new Problem("join() needs a list of text");
    meter.charge(UNITS_PER_PIECE + item.length / 32);
    out += i === 0 ? item : by + item;
    if (out.length > MAX_TEXT) throw textTooLong();
  }
  return out;
};

// What Unicode calls white space.
const BLANK = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

const trim: Native = (meter, text) => {
  if (!isText(text)) return undefined;
  meter.charge(text.length / 16);
  let from = 0;
  let to = text.length;
  while (from < to && BLANK.test(text.charAt(from))) from += 1;
  while (to > from && BLANK.test(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
};

const matches: Native = (meter, text, pattern) => {
  return isText(text) && isText(pattern) ? found(pattern, text, meter) : undefined;
};

function outOfRange(name: string): Problem {
  return new Problem(`${name}(): a place outside of the text`);
}

export const TEXTS: Natives = [
  ["size", size],
  ["contains", search(contains)],
  ["startsWith", atAnEnd((text, part) => text.startsWith(part))],
  ["endsWith", atAnEnd((text, part) => text.endsWith(part))],
  ["matches", matches],
  ["charAt", charAt],
  ["substring", substring],
  ["indexOf", indexFrom(false)],
  ["lastIndexOf", indexFrom(true)],
  ["lowerAscii", cased(0x41, 0x5a, 32)],
  ["upperAscii", cased(0x61, 0x7a, -32)],
  ["replace", replace],
  ["split", split],
  ["join", join],
  ["trim", trim],
  ["format", format],
];
