// Paths as people and programs write them, in the one spelling that the server takes: composed
// Unicode, and escapes only where they are needed.

import { Failure } from "@holdfast/shared/failure";

/** One parameter of a path. A slash in it would name something else. */
export function oneSegment(text: string): string {
  needText(text);
  if (text.includes("/")) {
    throw new Failure("invalid", "path-segment", "this part of a path may not hold a slash");
  }
  return escapeSegment(text);
}

/** A parameter that takes the rest of a path. */
export function restOfPath(text: string): string {
  needText(text);
  return text
    .replace(/^\/+|\/+$/g, "")
    .split("/")
    .map(escapeSegment)
    .join("/");
}

/** What an engine keeps by this name. A slash at its end is kept: it is not the same name, and the server says so. */
export function keyPath(text: string): string {
  needText(text);
  return text.replace(/^\/+/, "").split("/").map(escapeSegment).join("/");
}

/** Where an engine is mounted, with or without slashes around it; for auth methods without "auth/". */
export function mountPath(text: string): string {
  const path = restOfPath(text);
  if (path === "") throw new Failure("invalid", "path-segment", "the path of the mount is empty");
  return path;
}

/** A path that a person typed: "/v1/sys/health" and "sys/health" are the same. */
export function typedPath(text: string): string {
  if (text.includes("?") || text.includes("#")) {
    const message = 'a path may not hold "?" or "#"; parameters are given as name=value after it';
    throw new Failure("invalid", "path-typed", message);
  }
  const path = text.replace(/^\/+/, "").replace(/^v1\//, "");
  if (path === "") throw new Failure("invalid", "path-typed", "the path is empty");
  return path.split("/").map(escapeSegment).join("/");
}

/** What names the parts of a path: without it there is nothing to ask for. */
export function needInput<T extends object>(input: T): T {
  if (typeof input === "object" && input !== null) return input;
  const message = "the input is missing: an object with the names that this call needs";
  throw new Failure("invalid", "path-segment", message);
}

/** Programs in JavaScript may leave a name out. */
function needText(part: unknown): void {
  if (typeof part === "string") return;
  const message = "a part of the path is missing: every name and path in it must be given as text";
  throw new Failure("invalid", "path-segment", message);
}

function escapeSegment(text: string): string {
  // The server refuses these, but fetch and proxies would resolve them first: to another request.
  if (text === "." || text === "..") {
    throw new Failure("invalid", "path-segment", 'no part of a path may be "." or ".."');
  }
  try {
    return encodeURIComponent(text.normalize("NFC"));
  } catch {
    throw new Failure("invalid", "path-segment", "a path must be well-formed Unicode");
  }
}
