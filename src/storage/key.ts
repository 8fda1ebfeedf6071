// Storage keys: what a legal one is, which class of data it belongs to, and the arithmetic of
// ranges and listings over their order (that of their UTF-8 bytes, in every engine).

import { storageKeyTooLong } from "./failures.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Range } from "./engines/engine.ts";

/**
 * What happens to a record: shared records go to performance and DR
 * secondaries, local ones to DR secondaries only, ignored ones stay in this cluster, in no tree and
 * in no log entry. The class is the first segment of the key and therefore never changes.
 */
export type Class = "shared" | "local" | "ignored";

const CLASS_OF_ROOT: ReadonlyMap<string, Class> = new Map([
  ["shared", "shared"],
  ["local", "local"],
  ["core", "ignored"], // seal, keyring, node and cluster rows
]);

export const MAX_KEY_BYTES = 4096;
const MAX_LOOK = 256; // keys in one look of a listing

/** Refuses whatever is not `/`-joined non-empty segments of printable text under a declared root. */
export function checkKey(key: string): void {
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) {
    const message = `a storage key may have at most ${MAX_KEY_BYTES} bytes`;
    throw storageKeyTooLong(message);
  }
  // Keys come from typed key functions over checked names; a bad one is our own mistake.
  invariant(isCanonical(key), "storage key is not canonical");
}

/** Whether a key that came from elsewhere is one that we could have made. */
export function isLegalKey(key: string): boolean {
  return Buffer.byteLength(key) <= MAX_KEY_BYTES && isCanonical(key) && hasClass(key);
}

function isCanonical(key: string): boolean {
  if (key.startsWith("/") || key.endsWith("/") || key.includes("//")) return false;
  // Control characters and lone surrogates have no single form on every engine.
  // oxlint-disable-next-line no-control-regex -- refusing them is the point
  return key.length > 0 && !/[\u0000-\u001f\u007f]/.test(key) && key.isWellFormed();
}

/** Whether the key lies below a declared root: a damaged one may not. */
export function hasClass(key: string): boolean {
  return CLASS_OF_ROOT.has(key.slice(0, Math.max(0, key.indexOf("/"))));
}

export function classOf(key: string): Class {
  const end = key.indexOf("/");
  const found = end > 0 ? CLASS_OF_ROOT.get(key.slice(0, end)) : undefined;
  invariant(found !== undefined, "storage key of no declared class");
  return found;
}

/** Order of the UTF-8 bytes, computed on UTF-16: surrogates sort above the rest of the plane. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const xSurrogate = x >= 0xd800 && x <= 0xdfff;
    const ySurrogate = y >= 0xd800 && y <= 0xdfff;
    if (xSurrogate !== ySurrogate) return xSurrogate ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

/** The least text above every text that starts with `prefix`, or null when there is none. */
export function afterPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue;
    const next = last === 0xd7ff ? 0xe000 : last + 1; // step over the surrogates
    return String.fromCodePoint(...points, next);
  }
  return null;
}

/** The least text greater than `key`. Legal keys hold no NUL, so nothing lies between. */
export function afterKey(key: string): string {
  return `${key}\u0000`;
}

export interface Page {
  /** Start strictly after this key (or before it, in reverse). Default: at the end of the prefix. */
  readonly after?: string;
  readonly limit: number;
  readonly reverse?: boolean;
}

/** The range of keys below a prefix that a page of them lies in. */
export function rangeOf(prefix: string, page: Page): Range {
  const reverse = page.reverse ?? false;
  const range = { from: prefix, to: afterPrefix(prefix), limit: page.limit, reverse };
  if (page.after === undefined) return range;
  if (reverse) {
    const lower = range.to === null || compareKeys(page.after, range.to) < 0;
    return { ...range, to: lower ? page.after : range.to };
  }
  const start = afterKey(page.after);
  return { ...range, from: compareKeys(start, prefix) > 0 ? start : prefix };
}

/**
 * Names one level below a prefix, folders with a trailing `/`, in order. Each folder costs one look
 * at the keys, however much is in it.
 */
export function listNames(
  keys: (range: Range) => string[],
  prefix: string,
  page: { readonly after?: string; readonly limit: number },
): string[] {
  const names: string[] = [];
  const end = afterPrefix(prefix);
  let from = prefix;
  if (page.after !== undefined) from = afterName(prefix, page.after);
  let ask = MAX_LOOK;
  while (names.length < page.limit) {
    const before = names.length;
    const found = keys({ from, to: end, limit: Math.min(page.limit - before, ask) });
    if (found.length === 0) return names;
    for (const key of found) {
      if (compareKeys(key, from) < 0) continue; // inside a folder already named
      const rest = key.slice(prefix.length);
      const slash = rest.indexOf("/");
      names.push(slash < 0 ? rest : rest.slice(0, slash + 1));
      from = afterName(prefix, rest);
    }
    // Among full folders a look gives one name however much it asks for: ask for less then, so that
    // the cost grows with the names and not with what lies below them.
    ask = Math.min(2 * (names.length - before), MAX_LOOK);
  }
  return names;
}

/** The least key whose name comes after that of `rest`: for a key inside a folder, beyond it. */
function afterName(prefix: string, rest: string): string {
  const slash = rest.indexOf("/");
  if (slash < 0) return afterKey(prefix + rest);
  return afterPrefix(prefix + rest.slice(0, slash + 1))!; // there is one: it ends in a slash
}
