// One file of a plugin and all that it imports, but for what the runtime brings: `node scripts/bundle-plugin.ts ENTRY OUT`. What a
// server is told to run, and takes the sum of, is then the whole program. Prints the sum.

import { createHash } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { importsOf, readCode } from "../tests/house/source.ts";

interface Module {
  readonly source: string;
  /** By what it calls them; numbers in the list. */
  readonly imports: Readonly<Record<string, number>>;
}

const ROOT = resolve(import.meta.dirname, "..");

/** The text of the file. */
export function bundle(entry: string): string {
  const modules: Module[] = [];
  const numbers = new Map<string, number>();
  const add = (path: string): number => {
    const known = numbers.get(path);
    if (known !== undefined) return known;
    const number = modules.length;
    numbers.set(path, number);
    const written = readFileSync(path, "utf8");
    const source = path.endsWith(".ts") ? stripTypeScriptTypes(written) : written;
    modules.push({ source, imports: {} });
    const imports: Record<string, number> = {};
    for (const { to } of importsOf(readCode(source))) {
      if (to === null) throw new Error(`${path}: a computed import() cannot be bundled`);
      if (to.startsWith("node:") || isBuiltIn(to)) continue;
      imports[to] = add(pathOf(to, path));
    }
    modules[number] = { source, imports };
    return number;
  };
  add(resolve(entry));
  return `#!/usr/bin/env node\n${LOADER.replace("MODULES", () => JSON.stringify(modules))}`;
}

/** Each module is asked of the list, and everything else of the runtime. */
const LOADER = `import { registerHooks } from "node:module";
const modules = MODULES;
const SCHEME = "bundled:";
registerHooks({
  resolve(name, context, next) {
    const parent = context.parentURL ?? "";
    const from = parent.startsWith(SCHEME) ? modules[Number(parent.slice(SCHEME.length))] : undefined;
    const to = from?.imports[name];
    if (to !== undefined) return { url: SCHEME + to, format: "module", shortCircuit: true };
    if (name.startsWith(SCHEME)) return { url: name, format: "module", shortCircuit: true };
    return next(name, context);
  },
  load(url, context, next) {
    if (!url.startsWith(SCHEME)) return next(url, context);
    const { source } = modules[Number(url.slice(SCHEME.length))];
    return { format: "module", source, shortCircuit: true };
  },
});
await import(SCHEME + 0);
`;

const BUILT_IN = new Set(["os", "fs", "net", "tls", "crypto", "stream", "perf_hooks", "util"]);

function isBuiltIn(name: string): boolean {
  return BUILT_IN.has(name);
}

function pathOf(name: string, importer: string): string {
  if (name.startsWith(".")) return join(dirname(importer), name);
  const own = /^@holdfast\/([^/]+)\/(.+)$/.exec(name);
  if (own !== null) {
    const [, workspace = "", inside = ""] = own;
    const manifest = join(ROOT, workspace, "package.json");
    const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as {
      exports: Record<string, string>;
    };
    const file = exports[`./${inside}`];
    if (file === undefined) throw new Error(`${importer}: ${name} is not exported`);
    return join(ROOT, workspace, file);
  }
  return fileURLToPath(moduleOf(name, importer));
}

/** As an import of the importer would find it. */
function moduleOf(name: string, importer: string): string {
  const [packageName = ""] = /^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [];
  const require = createRequire(pathToFileURL(importer));
  const folder = (require.resolve.paths(name) ?? [])
    .map((base) => join(base, packageName))
    .find((one) => hasManifest(one));
  if (folder === undefined) throw new Error(`${importer}: ${name} is not installed`);
  const { exports, module } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    exports?: Record<string, unknown>;
    module?: string;
  };
  const inside = `.${name.slice(packageName.length)}`;
  const listed = exports?.[inside] ?? (inside === "." ? exports : undefined);
  const file = chosen(listed) ?? module;
  if (file === undefined) throw new Error(`${importer}: ${name} has no module`);
  return pathToFileURL(join(folder, file)).href;
}

/** Of what a package offers, what an import takes. */
function chosen(listed: unknown): string | undefined {
  if (typeof listed === "string") return listed;
  if (typeof listed !== "object" || listed === null) return undefined;
  const { import: imported, module, default: usual } = listed as Record<string, unknown>;
  return chosen(imported) ?? chosen(module) ?? chosen(usual);
}

function hasManifest(folder: string): boolean {
  try {
    readFileSync(join(folder, "package.json"));
    return true;
  } catch {
    return false;
  }
}

if (process.argv[1] === import.meta.filename) {
  const [entry, out] = process.argv.slice(2);
  if (entry === undefined || out === undefined) {
    console.error("node scripts/bundle-plugin.ts ENTRY OUT");
    process.exit(2);
  }
  const text = bundle(entry);
  writeFileSync(out, text);
  chmodSync(out, 0o755);
  console.log(createHash("sha256").update(text).digest("hex"));
}
