// How files are named, where they lie, how they open, and that no test is switched off.

import { basename, dirname } from "node:path";
import { lineAt, readCode } from "./source.ts";

/** Folders of the product: the server's, and the workspaces beside it. */
export const PRODUCT = /^(?:src|shared|plugin-sdk|client|engines|plugins)\//;

/** `src/room/file.ts` is normal, `src/room/family/file.ts` the deepest; engines are rooms as well. */
export function depth(path: string): string[] {
  const rooms = path.startsWith("engines/") || path.startsWith("src/");
  const tooDeep = PRODUCT.test(path) && path.split("/").length > (rooms ? 4 : 3);
  return tooDeep ? [`${path}: deeper than a room's family`] : [];
}

const MAX_FILES = 20;
/** Written by scripts/gen.ts, a file for each room. */
const GENERATED = "client/api";

/** A folder that one cannot see at a glance has a second level. Tests are not counted: they lie beside. */
export function crowded(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!path.endsWith(".ts") || path.endsWith(".test.ts")) continue;
    const folder = dirname(path);
    if (folder === GENERATED) continue;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([folder, count]) => `${folder}: ${count} files, more than ${MAX_FILES}: part it`);
}

/** Files that a page names, in code quotes, and that nobody has. */
export function unknownFiles(page: string, paths: readonly string[]): string[] {
  const named = Array.from(page.matchAll(/`([\w./-]+\.ts)`/g), ([, name = ""]) => name);
  return named.filter((name) => !paths.some((path) => `/${path}`.endsWith(`/${name}`)));
}

const ROW = /^\|((?: `[a-z-]+\/`,?)+ *)\|([^|]*)\|/gm;
const FOLDER = /`([a-z0-9-]+)\/`/g;

/** A row of the map that names a folder below its own names every one of them, and none that is not there. */
export function foldersApart(map: string, paths: readonly string[]): string[] {
  const there = new Map<string, Set<string>>();
  for (const path of paths) {
    const [source, room = "", folder = "", file] = path.split("/");
    if (source !== "src" || file === undefined) continue;
    there.set(room, (there.get(room) ?? new Set()).add(folder));
  }
  const inText = (text: string) => Array.from(text.matchAll(FOLDER), ([, name = ""]) => name);
  const table = map.slice(map.indexOf("Folder of `src/`"));
  return Array.from(table.matchAll(ROW)).flatMap(([, first = "", text = ""]) => {
    const named = new Set(inText(text));
    if (named.size === 0) return [];
    const here = new Set(inText(first).flatMap((room) => [...(there.get(room) ?? [])]));
    return [
      ...[...named.difference(here)].map((name) => `${first.trim()}: ${name}/ is not there`),
      ...[...here.difference(named)].map((name) => `${first.trim()}: ${name}/ is not named`),
    ];
  });
}

const SAYS_NOTHING = /^(?:utils?|helpers?|common|managers?|services?|types|index|mod)$/;
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.process)?(?:\.test)?\.ts$/;

/** A file is named for its subject, in kebab case. */
export function fileName(path: string): string[] {
  if (!PRODUCT.test(path)) return [];
  const name = basename(path);
  const parts = path.split("/").map((part) => part.split(".")[0] ?? "");
  if (parts.some((part) => SAYS_NOTHING.test(part))) {
    return [`${path}: the name does not say what is inside`];
  }
  return path.endsWith(".ts") && !KEBAB_CASE.test(name) ? [`${path}: not in kebab-case`] : [];
}

const EXPLAINED = /^(?:src|shared|plugin-sdk|client|engines|plugins|sim|soak|bench)\//;
const OPENINGS: Readonly<Record<string, RegExp>> = {
  ts: /^(?:#!.*\n)?(?:\/\/|\/\*)/,
  c: /^(?:\/\/|\/\*)/,
  h: /^(?:\/\/|\/\*)/,
  sh: /^(?:#!.*\n)?# /,
};

/** A file opens with what it is responsible for and what not. */
export function openingComment(path: string, source: string): string[] {
  const opening = OPENINGS[path.split(".").at(-1) ?? ""];
  if (path.endsWith(".test.ts")) return []; // the names of its tests say it
  if (!EXPLAINED.test(path) || opening === undefined || opening.test(source)) return [];
  return [`${path}: does not open with a comment on what it is responsible for`];
}

/** Words that said too little: what is given, told or asked has a name of its own. */
const DIALECT =
  /(?<![.\w$])#?(?:(?:given|told|asked|shown)(?:[A-Z]\w*)?|\w*(?:Given|Told|Asked|Shown)(?:[A-Z]\w*)?|(?:MOST|LEAST)(?:_\w+)?)\b(?!\s*\??:)/g;

export function dialect(path: string, source: string): string[] {
  const { text } = readCode(source);
  return Array.from(
    text.matchAll(DIALECT),
    (match) => `${path}:${lineAt(text, match.index)}: ${match[0]}: name what it is`,
  );
}

const SWITCHED_OFF = [
  /\b(?:test|it|describe|suite|t|context)\s*\.\s*(?:skip|only|todo)\b/g,
  /\b(?:test|it|describe|suite)\s*\([^{}]*?,\s*\{[^}]*?\b(?:skip|only|todo)\b\s*[:,}]/g,
];

/** Every test runs: a skipped one is a promise that nobody checks. */
export function switchedOffTests(path: string, source: string): string[] {
  if (!path.endsWith(".test.ts")) return [];
  const { text } = readCode(source);
  return SWITCHED_OFF.flatMap((pattern) =>
    Array.from(
      text.matchAll(pattern),
      (match) => `${path}:${lineAt(text, match.index)}: a test is switched off`,
    ),
  );
}
