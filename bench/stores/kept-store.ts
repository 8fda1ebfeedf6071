// Stores of whole servers that are costly to fill: filled once, kept between runs, and copied for each
// row, since a server writes to its store whatever it is asked.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { FORMAT } from "../../src/storage/engines/sqlite-format.ts";
import type { FillPlace } from "./fill-server.ts";
import { forgetFilledStores } from "./filled-store.ts";
import type { Context } from "../row.ts";
import { keysFrom, type NodeKeys } from "./tokens-node.ts";

export interface KeptStore {
  readonly data: string;
  readonly keys: NodeKeys;
}

export interface StoreKind {
  /** How the names of its folders begin, of all versions. */
  readonly name: string;
  /** Raised when what is filled in changes, or how it is stored. */
  readonly content: number;
  /** In words. */
  readonly holds: string;
}

type Fill = (place: FillPlace) => Promise<unknown>;

/** A copy in `directory`, which is made. */
export async function copyOf(
  context: Context,
  kind: StoreKind,
  directory: string,
  fill: Fill,
): Promise<KeptStore> {
  const place = await filled(context, kind, fill);
  const data = join(directory, "data");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  copyFolder(join(place, "data"), data);
  return { data, keys: keysFrom(JSON.parse(readFileSync(join(place, "keys"), "utf8"))) };
}

async function filled(context: Context, kind: StoreKind, fill: Fill): Promise<string> {
  const place = join(context.cache, `${kind.name}${FORMAT}.${kind.content}`);
  const complete = join(place, "complete");
  if (existsSync(complete)) return place;
  forgetFilledStores(context.cache, kind.name); // cut short, or of an earlier version
  mkdirSync(place, { recursive: true, mode: 0o700 });
  if (!context.quick) process.stderr.write(`filling a store with ${kind.holds}, once ...\n`);
  await fill({ data: join(place, "data"), keys: join(place, "keys") });
  writeFileSync(complete, "");
  return place;
}

const PAGE = 4096;
const PAGES_AT_ONCE = 1024;

function copyFolder(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, copy);
    else copyFile(source, copy);
  }
}

/**
 * Page by page, as the server has written it, and synced. A file that was copied in large pieces lies
 * in large pieces in the system's cache, where changing a page costs up to ten times as much; and what
 * is not synced is written out while a row runs.
 */
function copyFile(from: string, to: string): void {
  const source = openSync(from, "r");
  const copy = openSync(to, "wx", 0o600);
  try {
    const pages = Buffer.alloc(PAGE * PAGES_AT_ONCE);
    for (let length = 1; length > 0;) {
      length = readSync(source, pages, 0, pages.length, null);
      for (let at = 0; at < length;) {
        at += writeSync(copy, pages, at, Math.min(PAGE, length - at), null);
      }
    }
    fdatasyncSync(copy);
  } finally {
    closeSync(source);
    closeSync(copy);
  }
}
