// Pages of docs/ as tests read them: their blocks of code in order, so that what a page says is what is run.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

export interface Block {
  /** Word behind the fence: sh, hcl, yaml. */
  readonly kind: string;
  readonly text: string;
  /** A comment in front says why no test can run it: `<!-- by hand: needs systemd -->`. */
  readonly byHand: boolean;
}

export function readPage(path: string): string {
  return readFileSync(join(ROOT, "docs", path), "utf8");
}

export function blocksOf(page: string): Block[] {
  const found = page.matchAll(/(<!-- by hand: [^>]+ -->\n\n)?```(\w+)\n([\s\S]*?)```/g);
  return [...found].map(([, mark, kind = "", text = ""]) => ({
    kind,
    text: text.trimEnd(),
    byHand: mark !== undefined,
  }));
}

/** Puts other places, names and ports in, in the order given. */
export function adapted(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((so, [from, to]) => so.replaceAll(from, to), text);
}
