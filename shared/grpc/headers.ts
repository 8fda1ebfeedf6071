// The heads of a call: what a request must look like, the time that it is given, and what an answer says of itself.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { invariant } from "../invariant.ts";
import { HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND } from "../text/duration.ts";
import type { Nanos } from "../world.ts";
import { encodeText, readStatus, Status, StatusError, statusOfHttp } from "./status.ts";

const CONTENT_TYPE = "application/grpc";
const OURS = /^application\/grpc(?:\+proto)?(?:\s*;.*)?$/;

const UNITS: ReadonlyMap<string, Nanos> = new Map([
  ["H", HOUR],
  ["M", MINUTE],
  ["S", SECOND],
  ["m", MILLISECOND],
  ["u", MICROSECOND],
  ["n", 1n],
]);

/** A call as its head describes it, or why it is none: by a status of HTTP where gRPC has no say yet. */
export type Opening =
  | {
      readonly path: string;
      readonly timeout: Nanos | null;
      readonly metadata: (name: string) => string | undefined;
    }
  | { readonly refusal: OutgoingHttpHeaders };

export function readOpening(headers: IncomingHttpHeaders): Opening {
  if (headers[":method"] !== "POST") return { refusal: { ":status": 405, allow: "POST" } };
  if (!OURS.test(headers["content-type"] ?? "")) return { refusal: { ":status": 415 } };
  if (headers.te !== "trailers") {
    return refused(Status.internal, "the request must say te: trailers");
  }
  const encoding = headers["grpc-encoding"] ?? "identity";
  if (encoding !== "identity") {
    return refused(Status.unimplemented, "messages must come without compression");
  }
  const wait = headers["grpc-timeout"];
  const timeout = wait === undefined ? null : readTimeout(wait);
  if (timeout === undefined) return refused(Status.internal, "grpc-timeout cannot be read");
  const metadata = (name: string) => metadataIn(headers, name);
  return { path: headers[":path"] ?? "", timeout, metadata };
}

/** What is said twice is nobody's: the runtime joins it, and either might be meant. */
function metadataIn(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return typeof value === "string" && !value.includes(", ") ? value : undefined;
}

function refused(status: number, text: string): Opening {
  return { refusal: { ...ANSWER_HEAD, ...trailersOf(new StatusError(status, text)) } };
}

/** Whoever reads `grpc-accept-encoding` does not compress. */
export const ANSWER_HEAD: OutgoingHttpHeaders = {
  ":status": 200,
  "content-type": CONTENT_TYPE,
  "grpc-accept-encoding": "identity",
};

export function trailersOf(end: StatusError | null): Record<string, string> {
  if (end === null) return { "grpc-status": "0" };
  return { "grpc-status": String(end.status), "grpc-message": encodeText(end.message) };
}

export function requestHead(
  authority: string,
  path: string,
  timeout: Nanos | null,
  metadata: Readonly<Record<string, string>> = {},
): OutgoingHttpHeaders {
  for (const [name, value] of Object.entries(metadata)) checkMetadata(name, value);
  return {
    ...metadata,
    ":method": "POST",
    ":scheme": "https",
    ":authority": authority,
    ":path": path,
    te: "trailers",
    "content-type": CONTENT_TYPE,
    "grpc-accept-encoding": "identity",
    ...(timeout === null ? {} : { "grpc-timeout": showTimeout(timeout) }),
  };
}

/** The protocol's own, and those that HTTP/2 forbids, are not for callers; neither is a value that could be read as two. */
function checkMetadata(name: string, value: string): void {
  const isFree =
    /^[a-z0-9_][a-z0-9_.-]*$/.test(name) &&
    !/^(?:grpc-|te$|content-|connection$|host$|user-agent$)/.test(name);
  invariant(isFree && !name.endsWith("-bin"), "a name of metadata");
  invariant(
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.includes(", "),
    "a text of metadata",
  );
}

/** Why the answer cannot be read, from its head alone. Null where messages may follow. */
export function refusalIn(headers: IncomingHttpHeaders): StatusError | null {
  const code = Number(headers[":status"]);
  if (code !== 200) {
    const text = `the peer answered with HTTP status ${code}`;
    return new StatusError(statusOfHttp(code), text, { isSaid: true });
  }
  if (!OURS.test(headers["content-type"] ?? "")) {
    return new StatusError(Status.unknown, "the peer does not speak gRPC");
  }
  if ((headers["grpc-encoding"] ?? "identity") !== "identity") {
    return new StatusError(Status.internal, "the peer compresses, which nobody asked for");
  }
  if (headers["grpc-status"] === undefined) return null;
  return readStatus(headers["grpc-status"], headers["grpc-message"]);
}

/** Undefined where it is none. */
export function readTimeout(text: string | readonly string[]): Nanos | undefined {
  const [, digits, unit = ""] =
    typeof text === "string" ? (/^(\d{1,8})([HMSmun])$/.exec(text) ?? []) : [];
  const length = UNITS.get(unit);
  return digits === undefined || length === undefined ? undefined : BigInt(digits) * length;
}

/** At most eight digits: in the smallest unit that has room, rounded up. */
export function showTimeout(timeout: Nanos): string {
  const wait = timeout > 0n ? timeout : 1n;
  for (const [unit, length] of [...UNITS].toReversed()) {
    const count = (wait + length - 1n) / length;
    if (count < 100_000_000n) return `${count}${unit}`;
  }
  return "99999999H";
}
