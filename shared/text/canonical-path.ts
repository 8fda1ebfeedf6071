// The one form of a request's path. It is made once, from the raw request target, before anything
// decides; router, policies, audit and storage take this value and nothing else. Most bypasses of
// access rules are two layers reading the same bytes differently, so whatever has a second spelling
// is refused here rather than folded: escapes of plain characters, lower-case hex, dot segments,
// empty segments, anything that is not NFC. The URL class is not used: it resolves "..", turns "\"
// into "/" and reads "//host/x" as an address.

import type { Failure } from "../failure.ts";
import { pathMalformed, targetTooLong } from "../failures.ts";

const MAX_TARGET = 8192; // path and query together
export const MAX_PATH = 1024;
const MAX_SEGMENT = 256;
export const MAX_SEGMENTS = 32;

// "*" and "+" are pattern characters of policies and never part of a request's path.
const RAW_SEGMENT = /^(?:[A-Za-z0-9._~!$'(),;=:@-]|%[0-9A-F]{2})+$/;
/** Most segments: there is nothing to decode in one, and nothing that a later rule could be about. */
const PLAIN_SEGMENT = /^[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?$/;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;
/** The one segment with a dot in front that standards give a meaning (RFC 8615). */
const WELL_KNOWN = ".well-known";
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u2028\u2029]/u;

export class CanonicalPath {
  /** Decoded, joined by single slashes, no slash at either end. */
  readonly text: string;
  readonly segments: readonly string[];
  /** Whether the request ended in a slash: "the directory of". */
  readonly folder: boolean;

  private constructor(segments: readonly string[], folder: boolean) {
    this.segments = segments;
    this.text = segments.join("/");
    this.folder = folder;
  }

  /** From segments that came out of a CanonicalPath, or are constants of ours. */
  static of(segments: readonly string[], folder = false): CanonicalPath {
    return new CanonicalPath(segments, folder);
  }

  /** From the path part of a request target, its first slash included. */
  static parse(raw: string): CanonicalPath {
    if (!raw.startsWith("/")) throw malformed("it must start with a slash");
    if (raw.length > MAX_PATH) throw malformed(`it may have at most ${MAX_PATH} bytes`);
    if (raw === "/") return new CanonicalPath([], true);
    const folder = raw.endsWith("/");
    const parts = (folder ? raw.slice(1, -1) : raw.slice(1)).split("/");
    if (parts.length > MAX_SEGMENTS) {
      throw malformed(`it may have at most ${MAX_SEGMENTS} segments`);
    }
    return new CanonicalPath(parts.map(readSegment), folder);
  }

  /** What is left below the first `count` segments. */
  after(count: number): CanonicalPath {
    return count === 0 ? this : new CanonicalPath(this.segments.slice(count), this.folder);
  }

  asFolder(): CanonicalPath {
    return this.folder ? this : new CanonicalPath(this.segments, true);
  }
}

/** Splits a request target by hand at its first "?". */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  if (target.length > MAX_TARGET) {
    const message = `the request target may have at most ${MAX_TARGET} bytes`;
    throw targetTooLong(message);
  }
  const at = target.indexOf("?");
  return at < 0
    ? { path: target, query: "" }
    : { path: target.slice(0, at), query: target.slice(at + 1) };
}

/** Whether text could stand in a path as one segment: for names given in bodies and headers. */
export function isSegment(text: string): boolean {
  if (isPlain(text)) return true;
  return text.length > 0 && Buffer.byteLength(text) <= MAX_SEGMENT && problemOf(text) === null;
}

function isPlain(text: string): boolean {
  return text.length <= MAX_SEGMENT && PLAIN_SEGMENT.test(text);
}

function readSegment(raw: string): string {
  if (isPlain(raw)) return raw;
  if (raw === "") throw malformed("it has an empty segment");
  if (!RAW_SEGMENT.test(raw)) {
    throw malformed("a segment has a character that is not allowed, or an escape that is not %XX");
  }
  const text = raw.includes("%") ? unescape(raw) : raw;
  if (Buffer.byteLength(text) > MAX_SEGMENT) {
    throw malformed(`a segment may have at most ${MAX_SEGMENT} bytes`);
  }
  const problem = problemOf(text);
  if (problem !== null) throw malformed(problem);
  return text;
}

function unescape(raw: string): string {
  for (const [escape] of raw.matchAll(/%../g)) {
    const code = Number.parseInt(escape.slice(1), 16);
    if (code < 0x20 || code === 0x7f) throw malformed("it has an escaped control character");
    if (escape === "%2F" || escape === "%5C" || escape === "%25") {
      throw malformed("slash, backslash and percent cannot be escaped in a path");
    }
    if (code < 0x80 && UNRESERVED.test(String.fromCharCode(code))) {
      throw malformed("a character that needs no escape is escaped");
    }
  }
  try {
    return decodeURIComponent(raw); // refuses invalid and overlong UTF-8
  } catch {
    throw malformed("an escape is not UTF-8");
  }
}

function problemOf(text: string): string | null {
  if (text === WELL_KNOWN) return null;
  if (text === "." || text === "..") return 'it has a "." or ".." segment';
  if (/^[ .]|[ .]$/.test(text)) return "a segment begins or ends with a dot or a space";
  if (/[*+/\\%]/.test(text)) return "a segment has one of * + / \\ %";
  if (INVISIBLE.test(text)) return "a segment has an invisible or unassigned character";
  if (text.normalize("NFC") !== text) return "a segment is not in Unicode's composed form (NFC)";
  return null;
}

function malformed(what: string): Failure {
  return pathMalformed(`the request path is not valid: ${what}`);
}
