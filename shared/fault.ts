// What may be told of an error that is not ours. Never its message: a parser's error quotes what it could
// not parse, and that may be a secret. Its kind, the system's word for it and the place it came from.

import { systemErrorText } from "./system-errors.ts";

const FRAMES = 6;
const NAME = /^[A-Za-z]{1,40}$/;
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/;

/** For the log alone: the kind of error and the functions it came through. */
export function traceOf(error: unknown, frames = FRAMES): string {
  if (!(error instanceof Error)) return "something that is no error was thrown";
  const { message, stack = "" } = error;
  // The stack begins with the message, and that may have lines that look like places.
  const at = stack.indexOf(message);
  const places = (at < 0 ? stack : stack.slice(at + message.length))
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, frames)
    .map((line) => line.trim().replace(/\(?file:\/\/\S*?\/(src|node_modules)\//, "($1/"));
  return [nameOf(error), ...places].join(" ");
}

/** For anybody: what the system says by a number of its own, otherwise only what kind of error it is. */
export function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown cause";
  const code = "code" in error && CODE.test(String(error.code)) ? String(error.code) : "";
  if (code !== "" && "errno" in error && typeof error.errno === "number" && error.errno < 0) {
    return `${code}: ${systemErrorText(code) ?? "unknown to the system"}`;
  }
  return `unexpected ${nameOf(error)}${code === "" ? "" : ` ${code}`}`;
}

/** The same in words alone; null where there are none. */
export function wordsOf(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return systemErrorText(code) ?? null;
}

function nameOf({ name }: Error): string {
  return NAME.test(name) ? name : "Error";
}
