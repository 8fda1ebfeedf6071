// Keys of a plugin's storage in the form that ours have, and back. Ours are segments of printable text, none of them empty;
// theirs are anything.

import { MAX_KEY_BYTES } from "../../storage/key.ts";

/** Room for where the mount lies. */
const MAX_BYTES = MAX_KEY_BYTES - 512;
const EMPTY_SEGMENT = "%";
const SPECIAL = /[%\u0000-\u001f\u007f]/g; // oxlint-disable-line no-control-regex -- escaping them is the point
const ESCAPE = /%([0-9A-F]{2})/g;

/** Why there cannot be such a key; null: there can. */
export function keyRefused(key: string): string | null {
  if (key === "") return "a key is not empty";
  if (key.includes("..")) return "relative paths not supported";
  if (!key.isWellFormed()) return "a key is a text";
  return Buffer.byteLength(escapeKey(key)) > MAX_BYTES
    ? `a key may have at most ${MAX_BYTES} bytes`
    : null;
}

export function escapeKey(key: string): string {
  return key.split("/").map(escapeSegment).join("/");
}

export function unescapeKey(escaped: string): string {
  return escaped.split("/").map(unescapeSegment).join("/");
}

/** Of a name one level down, a folder with its slash. */
export function unescapeName(name: string): string {
  return name.endsWith("/") ? `${unescapeSegment(name.slice(0, -1))}/` : unescapeSegment(name);
}

/** The same; of something that is no name, where it would stand among them. */
export function escapeName(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? escapeSegment(name) : `${escapeSegment(name.slice(0, slash))}/`;
}

function escapeSegment(segment: string): string {
  if (segment === "") return EMPTY_SEGMENT;
  return segment.replace(SPECIAL, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return `%${code.padStart(2, "0")}`;
  });
}

function unescapeSegment(segment: string): string {
  if (segment === EMPTY_SEGMENT) return "";
  return segment.replace(ESCAPE, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
