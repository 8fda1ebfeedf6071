// What a namespace may be called, and how deep they nest. Every operation reads the
// path it is given here, so that no spelling of a reserved word ever means something else (T-D01).

import { isSegment } from "@holdfast/shared/text/canonical-path";
import { RESERVED_NAMES } from "../endpoint/parts.ts";
import * as failures from "./failures.ts";

export const MAX_NAME = 128;
export const MAX_DEPTH = 16;
// A request's path has at most 1,024 bytes: half of them are left for what is inside.
export const MAX_PATH = 512;

// What every namespace has by itself, and what stands below sys/namespaces/ for something else.
const RESERVED: ReadonlySet<string> = new Set([...RESERVED_NAMES, "api-lock"]);

// What clients of the kind call below a namespace to seal that one alone. As names they would be created,
// and the caller would be told of a success.
const SEALS: ReadonlySet<string> = new Set(["seal", "unseal", "seal-status", "delete-sealed"]);

/** The names in a path, or a refusal. */
export function readNames(path: string): readonly string[] {
  // Before it is cut up: nothing so long can be a path.
  if (path.length > MAX_PATH) throw failures.pathTooLong(MAX_PATH);
  const names = path.split("/");
  for (const name of names) {
    const problem = problemOf(name);
    if (problem !== null) throw failures.nameRefused(problem);
  }
  return names;
}

function problemOf(name: string): string | null {
  if (name === "") return "it is empty, or has a slash at an end";
  if (name.length > MAX_NAME) return `it may have at most ${MAX_NAME} characters`;
  if (!/^[!-~]+$/.test(name)) return "it may have printable ASCII characters only, and no space";
  if (!isSegment(name)) return "it may not begin or end with a dot, nor have one of * + \\ %";
  if (SEALS.has(name.toLowerCase())) {
    return "it is a reserved word: no namespace has a seal of its own; sys/seal seals the server";
  }
  return RESERVED.has(name.toLowerCase()) ? "it is a reserved word" : null;
}
