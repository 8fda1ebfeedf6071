// Stores with many tokens, filled once and kept between runs. Rows work on copies, since a server writes
// to its store whatever it is asked.

import { constants, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../src/base/world.ts";
import { FORMAT } from "../src/storage/engines/sqlite-format.ts";
import { forgetFilledStores } from "./filled-store.ts";
import { ask } from "./processes.ts";
import type { Context } from "./row.ts";
import { keysFrom, type NodeKeys } from "./tokens-node.ts";
import type { TokensFillInput } from "./tokens-fill-process.ts";

/** Raise it when what is filled in changes, or how it is stored. */
const CONTENT = 2;

/** What half of the accessors begin with: pages with this prefix are full in small stores as well. */
export const PREFIX = "a5";
const OTHER_PREFIX = "5a";

export interface TokensStore {
  readonly data: string;
  readonly keys: NodeKeys;
}

/** Random, but for how it begins. */
export function accessorOf(random: Random, n: number): string {
  return (n % 2 === 0 ? PREFIX : OTHER_PREFIX) + random.uuid().slice(PREFIX.length);
}

/** Half of those with either prefix. */
export function isGlobal(n: number): boolean {
  return n % 4 < 2;
}

/** The sizes the rows speak of. */
export function tokenSizes(context: Context) {
  return context.quick ? { small: 1000, large: 2000 } : { small: 1000, large: 1_000_000 };
}

/** A copy of the store with so many tokens, in `directory`. */
export async function copiedStore(
  context: Context,
  tokens: number,
  directory: string,
): Promise<TokensStore> {
  const place = await filled(context, tokens);
  const data = join(directory, "data");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  cpSync(join(place, "data"), data, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return { data, keys: keysFrom(JSON.parse(readFileSync(join(place, "keys"), "utf8"))) };
}

async function filled(context: Context, tokens: number): Promise<string> {
  const name = `bench-tokens-${tokens}-`;
  const place = join(context.cache, `${name}${FORMAT}.${CONTENT}`);
  const complete = join(place, "complete");
  if (existsSync(complete)) return place;
  forgetFilledStores(context.cache, name); // cut short, or of an earlier version
  mkdirSync(place, { recursive: true, mode: 0o700 });
  if (!context.quick) process.stderr.write(`filling a store with ${tokens} tokens, once ...\n`);
  const input: TokensFillInput = { data: join(place, "data"), keys: join(place, "keys"), tokens };
  await ask("tokens-fill-process.ts", input);
  writeFileSync(complete, "");
  return place;
}
