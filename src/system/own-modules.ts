// Where our own modules are, said without looking. The runtime looks for each import anew: links of
// packages, their package.json, the kind of the file; for 700 modules that is a quarter of a start and
// 25 MB. The answers are the same: a path beside the importer, or what a workspace's package.json lists.
// Whatever else is imported, and what a package does not list, goes the runtime's own way.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const ROOT = new URL("../..", import.meta.url).href;
const WORKSPACES = ["shared", "plugin-sdk", "client", "engines"];
const INSTALLED = `${ROOT}node_modules/`;

/** For every import of this thread from now on. */
export function findOwnModules(): void {
  const listed = listedModules();
  registerHooks({
    resolve(specifier, context, next) {
      const url = besideParent(specifier, context.parentURL) ?? listed.get(specifier);
      if (url === undefined) return next(specifier, context);
      return { url, format: "module-typescript", shortCircuit: true };
    },
  });
}

export function besideParent(specifier: string, parent: string | undefined): string | undefined {
  if (!specifier.startsWith(".") || !specifier.endsWith(".ts")) return undefined;
  if (parent === undefined || !parent.startsWith(ROOT) || parent.startsWith(INSTALLED))
    return undefined;
  return new URL(specifier, parent).href;
}

/** What the workspaces export under a full name; names with a pattern are the runtime's to read. */
export function listedModules(): Map<string, string> {
  const listed = new Map<string, string>();
  for (const folder of WORKSPACES) {
    const text = readFileSync(new URL(`${folder}/package.json`, ROOT), "utf8");
    const { name, exports } = JSON.parse(text) as { name: string; exports: Record<string, string> };
    for (const [from, to] of Object.entries(exports)) {
      if (!from.includes("*"))
        listed.set(name + from.slice(1), new URL(`${folder}/${to}`, ROOT).href);
    }
  }
  return listed;
}
