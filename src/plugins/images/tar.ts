// Archives as they come, entry by entry. Nothing in them is believed: every number and name is checked before it is used.

import { concat } from "@holdfast/shared/bytes";
import { OwnError } from "@holdfast/shared/failure";

const BLOCK = 512;
const MAX_EXTRA = 64 * 1024; // of what is said of an entry before it
const MAX_EXTRAS = 8; // one after another
const MAX_NAME = 4096;
const MAX_SIZE = 2 ** 40;

export type TarKind = "file" | "folder" | "link" | "name";

export interface TarEntry {
  readonly kind: TarKind;
  /** As it is written there. */
  readonly path: string;
  /** Of a link, what it says; of another name, whose. */
  readonly target: string;
  readonly mode: number;
  readonly size: number;
  /** Of its content, in the archive. */
  readonly at: number;
}

/** An archive is not one, or has in it what is refused. The text may be shown. */
export class TarError extends OwnError {}

const KINDS: ReadonlyMap<string, TarKind> = new Map([
  ["0", "file"],
  ["\0", "file"],
  ["7", "file"],
  ["1", "name"],
  ["2", "link"],
  ["5", "folder"],
]);

const REFUSED: ReadonlyMap<string, string> = new Map([
  ["3", "a device"],
  ["4", "a device"],
  ["6", "a pipe"],
  ["S", "a sparse file"],
]);

/** Reads as much as it is asked for, and no more. */
export class TarReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Of the entry that was handed out last. */
  #left = 0;
  #padding = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Null at the end. What was not read of the entry before is passed over. */
  async next(): Promise<TarEntry | null> {
    for await (const _ of this.content());
    const said = new Map<string, string>();
    for (let extras = 0; ; extras++) {
      const block = await this.#take(BLOCK);
      if (block === null || isEmpty(block)) return null;
      if (extras > MAX_EXTRAS) throw new TarError("too much is said of one entry");
      const head = readHead(block);
      const { type } = head;
      if (type === "x" || type === "g" || type === "L" || type === "K") {
        const text = await this.#extra(head.size);
        if (type === "x") readPairs(text, said);
        if (type === "L") said.set("path", untilNul(text));
        if (type === "K") said.set("linkpath", untilNul(text));
        continue;
      }
      return this.#entry(head, said);
    }
  }

  /** Of the entry that was handed out last, once. */
  async *content(): AsyncGenerator<Uint8Array, void, void> {
    while (this.#left > 0) {
      const piece = await this.#some(this.#left);
      if (piece === null) throw new TarError("it is cut off");
      this.#left -= piece.length;
      yield piece;
    }
    const padding = this.#padding;
    this.#padding = 0;
    if (padding > 0) await this.#take(padding);
  }

  /** To the end, which a sum is made of. */
  async drain(): Promise<void> {
    this.#rest = Buffer.alloc(0);
    while ((await this.#source.next()).done !== true);
  }

  /** Nothing more is read. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  #entry(head: Head, said: ReadonlyMap<string, string>): TarEntry {
    const path = checkedName(said.get("path") ?? head.path);
    const refused = REFUSED.get(head.type);
    if (refused !== undefined) throw new TarError(`${quoted(path)} is ${refused}`);
    const kind = KINDS.get(head.type);
    if (kind === undefined) throw new TarError(`${quoted(path)} is of an unknown kind`);
    const stated = said.get("size");
    const size =
      stated === undefined ? head.size : Number(/^\d{1,15}$/.test(stated) ? stated : NaN);
    if (!(size <= MAX_SIZE)) throw new TarError(`${quoted(path)} has no size`);
    const target = said.get("linkpath") ?? head.target;
    const isFile = kind === "file";
    if (!isFile && size !== 0) throw new TarError(`${quoted(path)} has content and is no file`);
    if (kind === "link" || kind === "name") checkedName(target);
    this.#left = size;
    this.#padding = paddingOf(size);
    // An old way of saying that it is a folder.
    const isFolder = isFile && size === 0 && path.endsWith("/");
    return { kind: isFolder ? "folder" : kind, path, target, mode: head.mode, size, at: this.#at };
  }

  async #extra(size: number): Promise<Buffer> {
    if (size > MAX_EXTRA) throw new TarError("more is said of one entry than there may be");
    const whole = await this.#take(size + paddingOf(size));
    if (whole === null) throw new TarError("it is cut off");
    return whole.subarray(0, size);
  }

  /** Null where nothing is left at all. */
  async #take(count: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let length = 0;
    while (length < count) {
      const piece = await this.#some(count - length);
      if (piece === null) {
        if (length === 0) return null;
        throw new TarError("it is cut off");
      }
      parts.push(piece);
      length += piece.length;
    }
    return parts.length === 1 ? (parts[0] ?? null) : concat(...parts);
  }

  async #some(most: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next();
      if (done === true) return null;
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    this.#at += piece.length;
    return piece;
  }
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

interface Head {
  readonly path: string;
  readonly target: string;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
}

function readHead(block: Buffer): Head {
  const sum = readNumber(block, 148, 8);
  let real = 0;
  for (let i = 0; i < BLOCK; i++) real += i >= 148 && i < 156 ? 0x20 : (block[i] ?? 0);
  if (sum !== real) throw new TarError("it is no archive, or damaged: a sum in it is wrong");
  const name = untilNul(block.subarray(0, 100));
  const isPosix = block.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isPosix ? untilNul(block.subarray(345, 500)) : "";
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    target: untilNul(block.subarray(157, 257)),
    type: String.fromCharCode(block[156] ?? 0),
    mode: readNumber(block, 100, 8) & 0o7777,
    size: readNumber(block, 124, 12),
  };
}

/** In digits of base eight, or as what is too large for them is written. */
function readNumber(block: Buffer, at: number, length: number): number {
  const field = block.subarray(at, at + length);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    if (field[0] !== 0x80) throw new TarError("a number in it is negative");
    let value = 0;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    if (!(value <= MAX_SIZE)) throw new TarError("a number in it is too large");
    return value;
  }
  const text = field.toString("latin1").replace(/[\0 ].*$/s, "");
  const digits = text === "" ? field.toString("latin1").trim().replaceAll("\0", "") : text;
  if (!/^[0-7]*$/.test(digits)) throw new TarError("a number in it is none");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

/** Lines `LENGTH NAME=VALUE`, each with its length in bytes. */
function readPairs(text: Buffer, into: Map<string, string>): void {
  for (let at = 0; at < text.length;) {
    const space = text.indexOf(0x20, at);
    const digits = space < 0 ? "" : text.toString("latin1", at, space);
    const length = /^\d{1,6}$/.test(digits) ? Number(digits) : 0;
    const end = at + length;
    if (length < digits.length + 3 || end > text.length || text[end - 1] !== 0x0a) {
      throw new TarError("what is said of an entry cannot be read");
    }
    const pair = text.subarray(space + 1, end - 1);
    const equals = pair.indexOf(0x3d);
    if (equals < 1) throw new TarError("what is said of an entry cannot be read");
    const name = pair.toString("latin1", 0, equals);
    if (name.startsWith("GNU.sparse")) throw new TarError("it has a sparse file in it");
    if (name === "path" || name === "linkpath" || name === "size") {
      into.set(name, pair.toString("utf8", equals + 1));
    }
    at = end;
  }
}

function checkedName(name: string): string {
  if (name === "" || name.includes("\0")) throw new TarError("an entry in it has no name");
  if (Buffer.byteLength(name) > MAX_NAME) throw new TarError("a name in it is too long");
  // Bytes that are no text: two names could become one.
  if (name.includes("\uFFFD")) throw new TarError("a name in it is no text");
  return name;
}

function untilNul(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

function isEmpty(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

/** Names of archives, for a line of a log. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 119)}…` : name);
}
