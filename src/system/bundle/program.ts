// Programs that people who write plugins make: written where they say, and asked what they are before anybody runs them.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isObject } from "@holdfast/shared/json/json";
import { listedModules } from "../own-modules.ts";
import { bundled } from "./bundle.ts";
import { bundleRefused } from "./failures.ts";

const WITHIN_MS = 20_000;
const MAX_SOURCE = 16 * 1024 * 1024;

export interface PluginProgram {
  readonly type: string;
  readonly kind: "auth" | "secret";
  readonly version: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** Of `file`, whose default export is a type of engine, one program at `path`. Nothing is left of one that is none. */
export function buildPlugin(file: string, path: string): PluginProgram {
  const text = bundled(file, { text: sourceOf, isFile, own: ownModules() });
  const made = `${path}.${process.pid}.mjs`;
  try {
    writeFileSync(made, text, { flag: "wx", mode: 0o755 });
    chmodSync(made, 0o755);
    const about = aboutOf(made);
    renameSync(made, path);
    const sha256 = createHash("sha256").update(text).digest("hex");
    return { ...about, sha256, bytes: Buffer.byteLength(text) };
  } finally {
    rmSync(made, { force: true });
  }
}

function sourceOf(path: string): string {
  try {
    if (statSync(path).size > MAX_SOURCE) throw bundleRefused(`${path} is too large`);
    return readFileSync(path, "utf8");
  } catch (error) {
    const code =
      error instanceof Error && "code" in error ? String(error.code) : "it cannot be read";
    throw bundleRefused(`${path}: ${code}`, { cause: error });
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Of our own modules, and of the one package that those of plugins import. */
function ownModules(): (specifier: string) => string | null {
  const listed = listedModules();
  return (specifier) => {
    const url = listed.get(specifier);
    if (url !== undefined) return fileURLToPath(url);
    if (!specifier.startsWith("@bufbuild/protobuf/")) return null;
    return fileURLToPath(import.meta.resolve(specifier));
  };
}

function aboutOf(path: string): Pick<PluginProgram, "type" | "kind" | "version"> {
  const said = run(path);
  const { type, kind, version, refused } = isObject(said) ? said : {};
  const isType = typeof type === "string" && typeof version === "string";
  if (!isType || (kind !== "secret" && kind !== "auth")) {
    throw bundleRefused("the default export of the file is no type of engine");
  }
  if (typeof refused === "string") throw bundleRefused(refused);
  return { type, kind, version };
}

function run(path: string): unknown {
  try {
    const out = execFileSync(process.execPath, [path, "--about"], {
      encoding: "utf8",
      timeout: WITHIN_MS,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return JSON.parse(out);
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    const line = stderr.split("\n").find((one) => /\w*Error\b|panic:/.test(one)) ?? "";
    throw bundleRefused(`it does not run${line === "" ? "" : `: ${line.trim()}`}`);
  }
}
