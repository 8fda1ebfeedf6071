// Commands ask the server through the client's functions, which are made from the declarations; a path that
// is written by hand is told neither of a renamed endpoint nor of a changed answer.

import { lineAt, readCode } from "./source.ts";

/** `holdfast read`, `write` and their like: any path that a person types. */
const ANY_PATH = "src/cli/commands/path.ts";

/** Where the command line sends something past them. */
export function handTypedRequests(path: string, source: string): string[] {
  if (!path.startsWith("src/cli/") || path.endsWith(".test.ts") || path === ANY_PATH) return [];
  const { text } = readCode(source);
  return Array.from(
    text.matchAll(/\.\s*(?:request|call)\s*(?:<[^>]*>)?\s*\(|\bfetch\s*\(|\.send\s*\(/g),
    (match) => `${path}:${lineAt(text, match.index)}: call a function of @holdfast/client/api`,
  );
}
