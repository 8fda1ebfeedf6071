// Stores with many tokens, of which rows get copies.

import type { Random } from "@holdfast/shared/world";
import { copyOf, type KeptStore } from "./kept-store.ts";
import { ask } from "../processes.ts";
import type { Context } from "../row.ts";
import type { TokensFillInput } from "./tokens-fill-process.ts";

/** Raise it when what is filled in changes, or how it is stored. */
const CONTENT = 5;

/** What half of the accessors begin with: pages with this prefix are full in small stores as well. */
export const PREFIX = "a5";
const OTHER_PREFIX = "5a";

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
): Promise<KeptStore> {
  const kind = { name: `bench-tokens-${tokens}-`, content: CONTENT, holds: `${tokens} tokens` };
  return await copyOf(context, kind, directory, (place) => {
    const input: TokensFillInput = { ...place, tokens };
    return ask("stores/tokens-fill-process.ts", input);
  });
}
