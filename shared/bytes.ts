// Bytes: the few operations that several rooms need, without pooled buffers. Key material must
// never lie in Node's shared pool, where a neighbour's slice could still show it after a wipe.

export const EMPTY: Uint8Array = new Uint8Array(0);

/**
 * A fresh zeroed Buffer whose bytes stay where they are: for key material. Buffer.alloc puts up to 64
 * bytes on the collector's moving heap, and a key wiped there leaves behind the copies of its moves.
 */
export function alloc(length: number): Buffer {
  return Buffer.from(new ArrayBuffer(length));
}

/** Joins parts into one Buffer that shares memory with none of them. Not for keys: see alloc(). */
export function concat(...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = Buffer.alloc(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Bytes that come in pieces, in one buffer that grows: however small the pieces are, they cost what is in them. */
export class GrowingBytes {
  #bytes: Buffer = alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (length > this.#bytes.length) {
      const grown = alloc(Math.max(1024, 2 * this.#length, length));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.#length);
    this.#length = length;
  }

  /** All that has come. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

export function wipe(...parts: readonly (Uint8Array | null | undefined)[]): void {
  for (const part of parts) part?.fill(0);
}

export function utf8(text: string): Buffer {
  return Buffer.from(text, "utf8");
}

export function text(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("utf8");
}

export function hex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("hex");
}

export function base64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64");
}

/** A Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// Node's own writers of 64 bits make six bigints for each number: they took longer than hashing the row did.
const WORD = new DataView(new ArrayBuffer(8));
const WORD_BYTES = new Uint8Array(WORD.buffer);

/** Big-endian, as are those below. */
export function writeInt64(bytes: Uint8Array, value: bigint, at: number): void {
  if (BigInt.asIntN(64, value) !== value) throw new RangeError("a number of more than 64 bits");
  WORD.setBigInt64(0, value);
  putWord(bytes, at);
}

export function writeUint64(bytes: Uint8Array, value: bigint, at: number): void {
  if (BigInt.asUintN(64, value) !== value) throw new RangeError("a number of more than 64 bits");
  WORD.setBigUint64(0, value);
  putWord(bytes, at);
}

export function readInt64(bytes: Uint8Array, at: number): bigint {
  checkWord(bytes, at);
  for (let i = 0; i < 8; i++) WORD_BYTES[i] = bytes[at + i]!;
  return WORD.getBigInt64(0);
}

function putWord(bytes: Uint8Array, at: number): void {
  checkWord(bytes, at);
  for (let i = 0; i < 8; i++) bytes[at + i] = WORD_BYTES[i]!;
}

/** Where the bytes end early an index would do nothing, and read zeros. */
function checkWord(bytes: Uint8Array, at: number): void {
  if (!(at >= 0 && at + 8 <= bytes.length)) throw new RangeError("64 bits outside of the bytes");
}

/** Strict hex, or null: Node's decoder stops silently at the first bad digit. */
export function fromHex(input: string): Buffer | null {
  if (input.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(input)) return null;
  const out = alloc(input.length / 2);
  out.write(input, "hex");
  return out;
}

/** Strict standard base64, padding optional, or null. */
export function fromBase64(input: string): Buffer | null {
  const padding = input.endsWith("==") ? 2 : input.endsWith("=") ? 1 : 0;
  const length = input.length - padding;
  if (length % 4 === 1 || (padding > 0 && input.length % 4 !== 0)) return null;
  // Looks for one bad character. A pattern of repeated groups of four would overflow the stack of
  // the regular expression engine on inputs of a few megabytes.
  if (/[^A-Za-z0-9+/]/.test(padding > 0 ? input.slice(0, length) : input)) return null;
  const out = alloc(Buffer.byteLength(input, "base64"));
  const written = out.write(input, "base64");
  return written === out.length ? out : null;
}

/**
 * Base64url without padding, in the one spelling of these bytes, or null: Node's decoder passes over what
 * is no digit, and drops a lone digit and bits left over at the end, so that one text has many aliases.
 */
export function fromBase64Url(input: string): Buffer | null {
  const over = input.length % 4;
  if (over === 1 || /[^A-Za-z0-9_-]/.test(input)) return null;
  if (over === 2 && !/[AQgw]$/.test(input)) return null; // four bits left over, all zero
  if (over === 3 && !/[AEIMQUYcgkosw048]$/.test(input)) return null; // two
  const out = alloc(Math.floor((input.length * 3) / 4));
  out.write(input, "base64url");
  return out;
}

/** Order of bytes, not of time: for sorting and tests only, never for secrets. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return asBuffer(a).equals(b);
}
