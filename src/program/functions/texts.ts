// Functions on text. Those of the `strings` extension are our own where the engine's take the square
// of the length (`replace`), lose the rest (`split` with a count) or count halves of characters.

import { type CelList, celList, type CelValue } from "@bufbuild/cel";
import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";
import {
  grown,
  isInt,
  isList,
  isMap,
  isText,
  listTooLong,
  type Native,
  textTooLong,
} from "./native.ts";
import { found } from "./patterns.ts";
import { contains, lastPlace, Search } from "./text-search.ts";

/** For each piece that a text is put together of or falls into. */
const UNITS_PER_PIECE = 8;
/** For each value that a format writes. */
const UNITS_PER_WRITTEN = 24;
const SURROGATE = /[\ud800-\udfff]/;

function search(call: (text: string, part: string, meter: Meter) => boolean): Native {
  return ([text, part], { meter }) => {
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

const size: Native = ([value], { meter }) => {
  if (isText(value)) return BigInt(characters(value, meter)?.length ?? value.length);
  if (value instanceof Uint8Array) return BigInt(value.length);
  return isList(value) || isMap(value) ? BigInt(value.size) : undefined;
};

const substring: Native = ([text, from, to], { meter }) => {
  if (!isText(text) || !isInt(from) || (to !== undefined && !isInt(to))) return undefined;
  const parts = characters(text, meter);
  const length = parts?.length ?? text.length;
  const end = to ?? BigInt(length);
  if (from < 0n || end > BigInt(length) || from > end) throw outOfRange("substring");
  const [first, last] = [Number(from), Number(end)];
  return parts === null ? text.slice(first, last) : parts.slice(first, last).join("");
};

const charAt: Native = ([text, place], { meter }) => {
  if (!isText(text) || !isInt(place)) return undefined;
  const parts = characters(text, meter) ?? text;
  if (place < 0n || place > BigInt(parts.length)) throw outOfRange("charAt");
  return parts[Number(place)] ?? "";
};

function indexFrom(last: boolean): Native {
  const name = last ? "lastIndexOf" : "indexOf";
  return ([text, part, from], { meter }) => {
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
  return ([text], { meter }) => {
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

const replace: Native = ([text, part, by, count], { meter }) => {
  if (!isText(text) || !isText(part) || !isText(by)) return undefined;
  if (count !== undefined && !isInt(count)) return undefined;
  const most = count === undefined || count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  const parts = new Search(text, part, meter);
  let out = "";
  let from = 0;
  for (let done = 0; done < most; done += 1) {
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

const split: Native = ([text, by, count], { meter }) => {
  if (!isText(text) || !isText(by) || (count !== undefined && !isInt(count))) return undefined;
  if (count === 0n) return celList([]);
  const most = count === undefined || count < 0n ? Number.POSITIVE_INFINITY : Number(count);
  const places = new Search(text, by, meter);
  meter.charge(16);
  const parts: string[] = [];
  let from = 0;
  while (parts.length < most - 1) {
    const at = by === "" ? endOfCharacter(text, from) : places.from(from);
    if (at === -1 || (by === "" && at >= text.length)) break;
    meter.charge(UNITS_PER_PIECE);
    if (parts.length >= MAX_ELEMENTS) throw listTooLong();
    parts.push(text.slice(from, at));
    from = at + by.length;
  }
  if (by !== "" || from < text.length) parts.push(text.slice(from));
  return celList(parts);
};

const join: Native = ([list, by = ""], { meter }) => {
  if (!isList(list) || !isText(by)) return undefined;
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

const trim: Native = ([text], { meter }) => {
  if (isText(text)) meter.charge(text.length / 16);
  return undefined;
};

/** Measured before the engine writes it: each argument is used once, so their sum bounds the text. */
const format: Native = ([text, list], { meter }) => {
  if (!isText(text) || !isList(list)) return undefined;
  const length = grown(text).length + writtenLength(list, meter);
  if (length > MAX_TEXT) throw textTooLong();
  // Fractions are written by a formatter that is made for each.
  const fractions = text.match(/%[.0-9]*[feFE]/g)?.length ?? 0;
  meter.charge(length / 4 + 64 * list.size + 4096 * fractions);
  return undefined;
};

function writtenLength(value: CelValue, meter: Meter): number {
  meter.charge(UNITS_PER_WRITTEN);
  if (isText(value)) return value.length;
  if (value instanceof Uint8Array) return 2 * value.length;
  if (isList(value)) return sumOf(value, meter);
  if (!isMap(value)) return 64; // a number in binary
  let sum = 2;
  for (const [key, item] of value) {
    sum += (isText(key) ? key.length : 64) + writtenLength(item, meter) + 4;
    if (sum > MAX_TEXT) throw textTooLong();
  }
  return sum;
}

function sumOf(list: CelList, meter: Meter): number {
  let sum = 2;
  for (let i = 0; i < list.size; i += 1) {
    const item = list.get(i);
    if (item !== undefined) sum += writtenLength(item, meter) + 2;
    if (sum > MAX_TEXT) throw textTooLong();
  }
  return sum;
}

const matches: Native = ([text, pattern], { meter }) => {
  return isText(text) && isText(pattern) ? found(pattern, text, meter) : undefined;
};

function outOfRange(name: string): Problem {
  return new Problem(`${name}(): a place outside of the text`);
}

export const TEXTS: ReadonlyMap<string, Native> = new Map<string, Native>([
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
]);
