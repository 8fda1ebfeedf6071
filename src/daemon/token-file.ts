// The token file of the command line, which a dev server fills so that commands work at once. A token
// that somebody needs elsewhere is never overwritten: only one that a dev server wrote before.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { text, utf8 } from "../base/bytes.ts";
import { describe } from "../base/failure.ts";
import type { Fs } from "../base/world.ts";

const NAME = ".holdfast-token";
// A hash of the last token that a dev server wrote: by it we know our own.
const MARK = ".holdfast-token-dev";
const MAX_FILE = 16 * 1024;

export type TokenFileOutcome =
  | { readonly written: true; readonly path: string }
  | { readonly written: false; readonly why: string };

export function offerToken(fs: Fs, home: string | null, token: string): TokenFileOutcome {
  if (home === null) return { written: false, why: "there is no home directory" };
  const path = join(home, NAME);
  const mark = join(home, MARK);
  try {
    const before = read(fs, path);
    if (before !== null && before !== "" && before !== token && read(fs, mark) !== digest(before)) {
      return { written: false, why: `${path} holds another token and was left as it is` };
    }
    fs.replace(mark, utf8(`${digest(token)}\n`));
    if (before !== token) fs.replace(path, utf8(`${token}\n`));
    return { written: true, path };
  } catch (error) {
    return { written: false, why: describe(error) };
  }
}

function read(fs: Fs, path: string): string | null {
  const bytes = fs.read(path, MAX_FILE);
  return bytes === null ? null : text(bytes).trim();
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
