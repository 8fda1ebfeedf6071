// Stores of whole servers that are costly to fill: filled once, kept between runs, and copied for each
// row, since a server writes to its store whatever it is asked.

import { constants, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT } from "../src/storage/engines/sqlite-format.ts";
import type { FillPlace } from "./fill-server.ts";
import { forgetFilledStores } from "./filled-store.ts";
import type { Context } from "./row.ts";
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
  cpSync(join(place, "data"), data, { recursive: true, mode: constants.COPYFILE_FICLONE });
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
