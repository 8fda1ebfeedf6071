// Compiled code is kept for the processes that are started from here: a server from source needs three times the
// processor without it. The place is that of bin/holdfast, and goes with node_modules.

import { join } from "node:path";

const PLACE = join(import.meta.dirname, "..", "node_modules", ".cache", "holdfast");

/** For every child that gets our environment. */
export function keepCompiledCode(): void {
  process.env["NODE_COMPILE_CACHE"] ??= PLACE;
}

/** For a child that gets an environment of its own. */
export function compiledCode(): Readonly<Record<string, string>> {
  const place = process.env["NODE_COMPILE_CACHE"];
  return place === undefined ? {} : { NODE_COMPILE_CACHE: place };
}
