// Bodies: whether one may come at all, in which form, and how it is read. Counted while it is read, in
// chunks or not, so that no more than the limit is ever held.

import type { Readable } from "node:stream";
import type { Failure } from "@holdfast/shared/failure";
import {
  bodyEncoded,
  bodyIncomplete,
  bodyNotExpected,
  bodyTooLarge,
  chunksTooSmall,
  malformed,
  memoryFull,
  wrongMediaType,
} from "../failures.ts";
import { SMALL } from "../held-bytes.ts";
import type { RequestHeaders } from "./request-headers.ts";

const JSON_TYPES = /^application\/json *(?:; *charset="?utf-8"?)?$/i;
const PATCH_TYPES = /^application\/merge-patch\+json *(?:; *charset="?utf-8"?)?$/i;
// What curl says by itself for any body: accepted for JSON that somebody typed.
const FORM_TYPE = /^application\/x-www-form-urlencoded *$/i;
const BRACE = 0x7b;
const EMPTY_BODY = Buffer.alloc(0);
// Each chunk costs the parser and us some microseconds, however small it is: a whole body of chunks with
// one byte in each would take seconds. So many of them are no accident.
export const SMALL_CHUNK = 32; // bytes, on average
const MANY_CHUNKS = 8192;

/** What the head alone says against the body. Gives its announced length, null if it comes in chunks. */
export function checkAnnounced(
  verb: string,
  headers: RequestHeaders,
  { open, http1 }: { readonly open: boolean; readonly http1: string | null },
): { readonly hasBody: boolean; readonly length: number | null } {
  const { transferEncoding, contentLength } = headers;
  if (transferEncoding !== undefined) {
    // The parser accepts further codings before "chunked", which we would have to undo.
    if (transferEncoding.toLowerCase() !== "chunked" || http1 !== "1.1" || contentLength !== null) {
      throw malformed("Transfer-Encoding may only be chunked, on HTTP/1.1, without Content-Length");
    }
  }
  // Of HTTP/2 the end of the stream says that a request is whole, also where nothing is to come before it.
  const comes = open && (contentLength === null || http1 === null);
  const hasBody = transferEncoding !== undefined || (contentLength ?? 0) > 0 || comes;
  if (headers.contentEncoding !== undefined) throw bodyEncoded();
  if (hasBody && (verb === "GET" || verb === "LIST" || verb === "HEAD" || verb === "OPTIONS")) {
    throw bodyNotExpected(verb);
  }
  return { hasBody, length: contentLength };
}

export interface BodySource {
  readonly stream: Readable;
  readonly verb: string;
  readonly contentType: string | null;
  readonly hasBody: boolean;
  readonly length: number | null;
  /** Asks for room for more bytes; false when there is none. */
  readonly hold: (bytes: number) => boolean;
}

/** The whole body. JSON only: its form is checked here, its content by the pipeline. */
export function readJsonBody(source: BodySource, limit: number): Promise<Uint8Array> {
  const { verb, contentType, hasBody, length } = source;
  if (verb === "PATCH" && !PATCH_TYPES.test(contentType ?? "")) return Promise.reject(notAPatch());
  if (!hasBody) return Promise.resolve(EMPTY_BODY);
  const form = contentType !== null && FORM_TYPE.test(contentType);
  if (verb !== "PATCH" && contentType !== null && !form && !JSON_TYPES.test(contentType)) {
    return Promise.reject(notJson());
  }
  if (length !== null && length > limit) return Promise.reject(bodyTooLarge(limit));
  const body = readAll(source, limit);
  return form ? body.then(refuseForms) : body;
}

function refuseForms(body: Uint8Array): Uint8Array {
  const first = body.find(
    (byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d,
  );
  if (first !== BRACE) throw notJson();
  return body;
}

/** A stream of HTTP/2 that its client has reset ends like one whose body is whole. The code says nothing: 0 is one as
 *  good as others. */
export function wasReset(stream: Readable): boolean {
  return (stream as Readable & { readonly aborted?: boolean }).aborted === true;
}

function readAll({ stream, length, hold }: BodySource, limit: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  if (stream.destroyed) {
    reject(bodyIncomplete());
    return promise;
  }
  const body = new GatheredBody(length, limit, hold);
  const finish = () => {
    stream.off("data", onData);
    stream.off("end", onEnd);
    stream.off("close", onClose);
  };
  let chunks = 0;
  const onData = (chunk: Buffer) => {
    const fault = body.add(chunk);
    const small = ++chunks > MANY_CHUNKS && body.bytes.length < chunks * SMALL_CHUNK;
    if (fault === null && !small) return;
    finish();
    if (small) stream.resume(); // held back they would take a hundred times their size
    else stream.pause();
    reject(small ? chunksTooSmall(SMALL_CHUNK) : fault);
  };
  const onEnd = () => {
    finish();
    const whole = length === null || body.bytes.length === length;
    if (!whole || wasReset(stream)) reject(bodyIncomplete());
    else resolve(body.bytes);
  };
  const onClose = () => {
    finish();
    reject(bodyIncomplete());
  };
  stream.on("data", onData);
  stream.on("end", onEnd);
  stream.on("close", onClose);
  return promise;
}

/** What may lie in memory around the first chunk, of the segment that it came in. */
const MAX_AROUND = 4 * 1024; // bytes
const MIN_GROWTH = 512; // bytes

/** Copied together as it comes: a million chunks of one byte must not be a million objects. Takes twice as much
 *  memory as has come at most: what a client has announced costs it nothing, and is worth nothing. */
class GatheredBody {
  readonly #announced: number | null;
  readonly #limit: number;
  readonly #hold: (bytes: number) => boolean;
  #held: Buffer = EMPTY_BODY;
  #counted = 0; // bytes that there was room for
  #length = 0;
  #own = false; // whether #held is ours to write to

  constructor(announced: number | null, limit: number, hold: (bytes: number) => boolean) {
    this.#announced = announced;
    this.#limit = limit;
    this.#hold = hold;
  }

  /** What is against it; null when it is taken. */
  add(chunk: Buffer): Failure | null {
    const length = this.#length + chunk.length;
    if (length > this.#limit) return bodyTooLarge(this.#limit);
    if (this.#length === 0) {
      if (!this.#hasRoom(length)) return memoryFull();
      this.#held = chunk; // most bodies are one chunk
      // Frames around it may be many: a byte would keep them all.
      if (chunk.buffer.byteLength - length > MAX_AROUND) {
        this.#held = Buffer.alloc(length);
        chunk.copy(this.#held);
        chunk.fill(0);
      }
    } else {
      if ((!this.#own || length > this.#held.length) && !this.#grow(length)) return memoryFull();
      chunk.copy(this.#held, this.#length);
      chunk.fill(0); // it may be part of a secret, and only the whole is overwritten later
    }
    this.#length = length;
    return null;
  }

  #hasRoom(bytes: number): boolean {
    const more = bytes - this.#counted;
    if (bytes <= SMALL || more <= 0) return true;
    if (!this.#hold(more)) return false;
    this.#counted = bytes;
    return true;
  }

  get bytes(): Uint8Array {
    return this.#held.subarray(0, this.#length);
  }

  /** False where there is no room for it. */
  #grow(min: number): boolean {
    const max = Math.min(Math.max(this.#announced ?? this.#limit, min), this.#limit);
    const size = Math.min(Math.max(min * 2, MIN_GROWTH), max);
    if (!this.#hasRoom(size)) return false;
    const wider = Buffer.alloc(size);
    this.#held.copy(wider, 0, 0, this.#length);
    this.#held.fill(0);
    this.#held = wider;
    this.#own = true;
    return true;
  }
}

function notJson() {
  return wrongMediaType("JSON, as application/json");
}

function notAPatch() {
  return wrongMediaType("a JSON merge patch, as application/merge-patch+json");
}
