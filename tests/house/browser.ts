// What a browser loads of us: everything that can be reached from an entry without Node. Types are erased
// and may come from anywhere.

import { posix } from "node:path";
import { importsOf, lineAt, readCode } from "./source.ts";

/** Names that only Node has. */
const NODE_NAMES =
  /(?<![.\w$#])(?:Buffer|process|setImmediate|__dirname|__filename|require)\b(?!\s*\??:)/g;

/** Files that can be reached, and what in them needs Node. `read` gives the text of a file by its path. */
export function needsNode(
  entry: string,
  read: (path: string) => string,
): { readonly files: readonly string[]; readonly problems: readonly string[] } {
  const files = new Set<string>();
  const problems: string[] = [];
  const queue = [entry];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    const code = readCode(read(path));
    for (const match of code.text.matchAll(NODE_NAMES)) {
      problems.push(`${path}:${lineAt(code.text, match.index)}: ${match[0]} is Node's alone`);
    }
    for (const { to, typeOnly, line } of importsOf(code)) {
      if (typeOnly) continue;
      const target = to === null ? null : fileOf(path, to);
      if (target === null)
        problems.push(`${path}:${line}: ${to ?? "import()"} is not for browsers`);
      else queue.push(target);
    }
  }
  return { files: [...files], problems };
}

/** Null for what is none of ours. */
function fileOf(from: string, to: string): string | null {
  if (to.startsWith(".")) return posix.join(posix.dirname(from), to);
  const [, workspace, rest] = /^@holdfast\/([^/]+)\/(.+)$/.exec(to) ?? [];
  return workspace === undefined ? null : `${workspace}/${rest}.ts`;
}
