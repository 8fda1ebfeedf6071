// A plugin as one file: all modules that it is made of, types left out, behind a few lines that hand them to the runtime. Nothing
// is joined or renamed, so that what runs is what was written; and no tool is needed but the runtime.

import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundleRefused } from "./failures.ts";

export interface BundleSources {
  /** Throws a Failure where it cannot be read. */
  text(path: string): string;
  isFile(path: string): boolean;
  /** The file of a module of ours by its name; null where there is none. */
  own(specifier: string): string | null;
}

interface Module {
  readonly source: string;
  readonly links: Readonly<Record<string, string>>;
}

const MAX_MODULES = 2000;
const SCHEME = "plugin:";
const ENTRY = `${SCHEME}0`;
/** What a statement of import or export names, and what is imported while it runs. Types are left out before. */
const SPECIFIER =
  /(?:^|[;\n}])\s*(?:import|export)\s*(?:[\w$*\s{},]*?\sfrom\s*|[{*][^;"']*?\bfrom\s*)?(["'])([^"'\n]+)\1|\bimport\s*\(\s*(["'])([^"'\n]+)\3\s*\)/g;

/** `file`: its default export is a type of engine. */
export function bundled(file: string, sources: BundleSources): string {
  const ids = new Map<string, string>();
  const modules = new Map<string, Module>();
  const waiting: string[] = [];
  const idOf = (path: string): string => {
    let id = ids.get(path);
    if (id === undefined) {
      if (ids.size >= MAX_MODULES) throw bundleRefused(`it has more than ${MAX_MODULES} modules`);
      ids.set(path, (id = `${SCHEME}${ids.size + 1}`));
      waiting.push(path);
    }
    return id;
  };
  const serve = sources.own("@holdfast/plugin-sdk/serve");
  if (serve === null) throw bundleRefused("the SDK of plugins is not beside this program");
  modules.set(ENTRY, {
    source: 'import { serve } from "serve";\nimport type from "type";\nawait serve(type);\n',
    links: { serve: idOf(serve), type: idOf(file) },
  });
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = withoutTypes(path, sources.text(path));
    const links: Record<string, string> = {};
    for (const specifier of specifiersOf(source)) {
      const found = resolved(specifier, path, sources);
      if (found !== null) links[specifier] = idOf(found);
    }
    modules.set(ids.get(path)!, { source, links });
  }
  return written(modules);
}

function withoutTypes(path: string, text: string): string {
  if (!path.endsWith(".ts")) return text;
  try {
    return stripTypeScriptTypes(text);
  } catch (error) {
    const { message = "", stack = "" } = error instanceof Error ? error : {};
    const [why = ""] = message.split("\n");
    const [, line = ""] = /^[^\n]*:(\d+)\n/.exec(stack) ?? []; // above its words it stands where
    const place = line === "" ? path : `${path}:${line}`;
    throw bundleRefused(`${place}: its types cannot be left out: ${why}`);
  }
}

function specifiersOf(source: string): string[] {
  // Comments may say "import" as well.
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "");
  return [...code.matchAll(SPECIFIER)].map((match) => match[2] ?? match[4] ?? "");
}

/** Null: it is the runtime's own. */
function resolved(specifier: string, from: string, sources: BundleSources): string | null {
  if (specifier.startsWith("node:")) return null;
  if (specifier.startsWith(".")) {
    const path = fileURLToPath(new URL(specifier, pathToFileURL(from)));
    if (sources.isFile(path)) return path;
    throw bundleRefused(`${from} imports ${specifier}, and there is no such file`);
  }
  const own = sources.own(specifier);
  if (own !== null) return own;
  throw bundleRefused(
    `${from} imports ${specifier}: packages of others are bundled first, by a tool of your choice, into one .mjs ` +
      "that imports @holdfast/… and node:… alone (esbuild --bundle --format=esm --platform=node --external:@holdfast/*)",
  );
}

function written(modules: ReadonlyMap<string, Module>): string {
  const all = Object.fromEntries(
    [...modules].map(([id, { source, links }]) => [id, [links, source]]),
  );
  return `#!/usr/bin/env node
import * as runtime from "node:module";
if (runtime.registerHooks === undefined) {
  console.error("This plugin needs Node 24 or newer; a server that starts it gives it its own.");
  process.exit(1);
}
const modules = ${JSON.stringify(all)};
runtime.registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "${ENTRY}") return { url: specifier, format: "module", shortCircuit: true };
    const url = modules[context.parentURL]?.[0][specifier];
    return url === undefined ? next(specifier, context) : { url, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    const module = modules[url];
    if (module === undefined) return next(url, context);
    return { format: "module", source: module[1], shortCircuit: true };
  },
});
await import("${ENTRY}");
`;
}
