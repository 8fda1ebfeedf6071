// What makes a process that loads the server from source begin quickly: compiled code that is kept (a third of the
// processor), and our own modules found without looking, as bin/holdfast finds them (half of what is left).

import { join } from "node:path";

/** That of bin/holdfast; it goes with node_modules. */
const PLACE = join(import.meta.dirname, "..", "node_modules", ".cache", "holdfast");

/** Options of Node for a child that does not begin with src/main.ts. */
export const FIND_OWN_MODULES: readonly string[] = [
  "--import",
  join(import.meta.dirname, "find-own-modules.ts"),
];

/** For every child that gets our environment. */
export function keepCompiledCode(): void {
  process.env["NODE_COMPILE_CACHE"] ??= PLACE;
}

/** For a child that gets an environment of its own. */
export function compiledCode(): Readonly<Record<string, string>> {
  const place = process.env["NODE_COMPILE_CACHE"];
  return place === undefined ? {} : { NODE_COMPILE_CACHE: place };
}
