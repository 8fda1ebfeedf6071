// The token file of the command line, which a dev server fills so that commands work at once. A token
// that somebody needs elsewhere is never overwritten, that of another dev server neither: only one that a
// dev server wrote which runs no more. At its end a dev server takes its token away again.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { text, utf8 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import type { Fs } from "@holdfast/shared/world";
import { forgetAddresses, rememberAddresses } from "@holdfast/client/node/token-address";
import type { Host } from "./host.ts";

const NAME = ".holdfast-token";
// A hash of the last token that a dev server wrote, and its process: by them we know our own.
const MARK = ".holdfast-token-dev";
const MAX_FILE = 16 * 1024;

export type TokenFileOutcome =
  | { readonly written: true; readonly path: string }
  | { readonly written: false; readonly why: string };

type HostServices = Pick<Host, "home" | "pid" | "isAlive">;

export function offerToken(
  fs: Fs,
  host: HostServices,
  token: string,
  addresses: readonly string[],
): TokenFileOutcome {
  const { home, pid } = host;
  if (home === null) return { written: false, why: "there is no home directory" };
  const path = join(home, NAME);
  try {
    const before = read(fs, path);
    if (before !== null && before !== "" && before !== token) {
      const maker = makerOf(fs, home, before);
      if (maker === null || host.isAlive(maker)) {
        const whose =
          maker === null ? "another token" : "the token of a dev server that runs still";
        return { written: false, why: `${path} holds ${whose} and was left as it is` };
      }
    }
    fs.replace(join(home, MARK), utf8(`${digest(token)} ${pid}\n`));
    rememberAddresses(fs, path, new Secret(token), addresses);
    if (before !== token) fs.replace(path, utf8(`${token}\n`));
    return { written: true, path };
  } catch (error) {
    return { written: false, why: describe(error) };
  }
}

/** What this process wrote there, if it still is what is there. */
export function withdrawToken(fs: Fs, { home, pid }: HostServices): void {
  if (home === null) return;
  const path = join(home, NAME);
  try {
    const present = read(fs, path);
    if (present === null || makerOf(fs, home, present) !== pid) return;
    fs.remove(path);
    fs.remove(join(home, MARK));
    forgetAddresses(fs, path);
  } catch {
    // A token that nobody knows any more does no harm, and the next dev server replaces it.
  }
}

/** The process of the dev server that wrote this token, 0 where it did not say; null for any other. */
function makerOf(fs: Fs, home: string, token: string): number | null {
  const [mark, pid = "0"] = (read(fs, join(home, MARK)) ?? "").split(" ");
  return mark === digest(token) ? Number(pid) : null;
}

function read(fs: Fs, path: string): string | null {
  const bytes = fs.read(path, MAX_FILE);
  return bytes === null ? null : text(bytes).trim();
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
