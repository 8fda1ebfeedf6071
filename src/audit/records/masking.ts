// The data of a request or an answer as a record shows it: names, numbers and booleans as they are,
// every text and every run of bytes as a hash. The work is bounded whatever the caller sent: after so
// many single hashes the rest of each open list or object becomes one.

import { isRawNumber } from "@holdfast/shared/json/json";
import type { Veil } from "./hasher.ts";
import { escapeUnseen, quote } from "@holdfast/shared/json/json-text";

/** Single hashes in one record: 4 ms. A body may hold 50,000 strings, and hashing each of them would
 *  take several times as long as reading it did. */
export const MAX_SINGLE = 2000;
/** Deeper than any body may be. */
const MAX_DEEP = 64;
/** Stands for what was hashed in one piece: the JSON text of the rest. */
export const REST = "(rest)";

const LARGE = 4096; // characters
const MAX_REMEMBERED = 8;

/** What stands for the first texts of a request: its answer often repeats them, and is recorded under the same salt. It
 *  goes with the request. */
export class Repeats {
  readonly #known = new Map<string, string>();
  #isClosed = false;

  hidden(text: string, veil: Veil): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const hidden = veil.value(text);
    if (!this.#isClosed && this.#known.size < MAX_REMEMBERED) this.#known.set(text, hidden);
    return hidden;
  }

  /** What is looked for from here on is not remembered. Null where nothing is: most requests say nothing. */
  closed(): Repeats | null {
    this.#isClosed = true;
    return this.#known.size === 0 ? null : this;
  }
}

export function maskedJson(
  value: unknown,
  veil: Veil,
  readable?: ReadonlySet<string>,
  repeats: Repeats | null = null,
): string {
  return inOnePiece(masked(value, veil, readable, repeats));
}

function masked(
  value: unknown,
  veil: Veil,
  readable: ReadonlySet<string> | undefined,
  repeats: Repeats | null,
): string {
  if (veil.raw) return rawJson(value);
  const mask = new Mask(veil, repeats);
  if (readable === undefined || readable.size === 0 || !isPlainObject(value)) {
    return mask.value(value, 0);
  }
  let out = "";
  for (const name of Object.keys(value)) {
    const member: unknown = value[name];
    if (member === undefined) continue;
    const text = readable.has(name) ? rawJson(member) : mask.value(member, 1);
    out += `${out === "" ? "" : ","}${quote(name)}:${text}`;
  }
  return `{${out}}`;
}

class Mask {
  readonly #veil: Veil;
  readonly #repeats: Repeats | null;
  #left = MAX_SINGLE;

  constructor(veil: Veil, repeats: Repeats | null) {
    this.#veil = veil;
    this.#repeats = repeats;
  }

  value(value: unknown, depth: number): string {
    switch (typeof value) {
      case "string":
        this.#left--;
        return this.#repeats?.hidden(value, this.#veil) ?? this.#veil.value(value);
      case "number":
        return Number.isFinite(value) ? String(value) : "null";
      case "boolean":
        return value ? "true" : "false";
      case "bigint":
        return value.toString();
      case "object":
        if (value === null) return "null";
        if (isRawNumber(value)) return value.rawJSON;
        if (depth >= MAX_DEEP) return this.#whole(value);
        if (Array.isArray(value)) return this.#list(value, depth);
        // Bytes would otherwise be listed as readable numbers.
        if (ArrayBuffer.isView(value)) return this.#bytes(value);
        if ("toJSON" in value && typeof value.toJSON === "function") {
          return this.value(value.toJSON(), depth + 1);
        }
        return this.#object(value, depth);
      case "undefined":
      case "function":
      case "symbol":
        return "null"; // as JSON.stringify has it inside lists
    }
  }

  #list(list: readonly unknown[], depth: number): string {
    let out = "[";
    for (let i = 0; i < list.length; i++) {
      if (i > 0) out += ",";
      if (this.#left <= 0) return `${out}{"${REST}":${this.#whole(list.slice(i))}}]`;
      out += this.value(list[i], depth + 1);
    }
    return `${out}]`;
  }

  #object(object: object, depth: number): string {
    const members = object as Readonly<Record<string, unknown>>;
    const names = Object.keys(members);
    let out = "{";
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      const member = members[name];
      if (member === undefined) continue;
      if (out.length > 1) out += ",";
      if (this.#left <= 0) {
        const rest = Object.fromEntries(names.slice(i).map((left) => [left, members[left]]));
        return `${out}"${REST}":${this.#whole(rest)}}`;
      }
      out += `${quote(name)}:${this.value(member, depth + 1)}`;
    }
    return `${out}}`;
  }

  #bytes(view: ArrayBufferView): string {
    this.#left--;
    return this.#veil.value(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  }

  #whole(value: unknown): string {
    return this.#veil.value(JSON.stringify(value) ?? "null");
  }
}

function rawJson(value: unknown): string {
  return escapeUnseen(JSON.stringify(value) ?? "null");
}

/** A text that was put together from thousands is kept as thousands until somebody looks at it: forty
 *  times the memory, and a collector that stops everybody to carry it along while it waits. */
function inOnePiece(text: string): string {
  if (text.length < LARGE) return text;
  return text.charCodeAt(text.length - 1) === 0 ? "" : text; // never zero, and so it is looked at
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
