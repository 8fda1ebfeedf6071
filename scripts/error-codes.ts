// What docs/errors.md is made of: every code that a Failure of the product is made with, read from the
// sources without running them, and the row that says what it means and what to do. A row stands in a
// comment of a file of failures:
//
//     /**
//      * @code invalid-token The token is unknown, was revoked or has expired.
//      * @remedy Log in again.
//      */
//
// A code has one row and one kind, so that a word in a log or in X-Service-Error leads to one place. Where
// HTTP's number is not that of the kind, `@status 408` stands between the two.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lineAt, readCode, type Code } from "../tests/house/source.ts";

export interface SourceFile {
  readonly path: string;
  readonly source: string;
}

/** A place where a failure is made. The kind is null where it is that of another failure. */
export interface Made {
  readonly code: string;
  readonly kind: string | null;
  readonly path: string;
  readonly line: number;
}

export interface Row {
  readonly code: string;
  readonly meaning: string;
  readonly remedy: string;
  /** HTTP's number, where it is not that of the kind. */
  readonly status: number | null;
  readonly path: string;
}

export interface ErrorCodes {
  readonly made: readonly Made[];
  readonly rows: readonly Row[];
  readonly problems: readonly string[];
}

const NO_PRODUCT = /(^|\/)(node_modules|tests|scripts|sim|soak|bench|docs)\/|\.test\.ts$|^\./;

/** Every source of the product, in whichever folder it is. */
export function productFiles(root: string): SourceFile[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !NO_PRODUCT.test(`${entry.name}/`))
    .flatMap(({ name }) =>
      readdirSync(join(root, name), { recursive: true, encoding: "utf8" }).map((file) =>
        join(name, file),
      ),
    )
    .filter((path) => path.endsWith(".ts") && !NO_PRODUCT.test(path))
    .toSorted()
    .map((path) => ({ path, source: readFileSync(join(root, path), "utf8") }));
}

const FAILURES = /(?:^|[/-])failures?\.ts$/;

/** What runs beside its user: its failures have no status, and mostly one place each. */
function isClient(path: string): boolean {
  return /^(?:src\/)?(?:cli|client)\//.test(path);
}

/** Something that makes failures when it is called: which argument is kind, which is code. */
interface Maker {
  readonly name: string;
  readonly isClass: boolean;
  readonly file: string | null; // null: known everywhere
  readonly kind: string | number | null;
  readonly code: string | number;
}

interface Read extends SourceFile {
  readonly code: Code;
}

export function readErrorCodes(files: readonly SourceFile[]): ErrorCodes {
  // Most files make no failure and have no row; reading them as code would only take time.
  const read = files
    .filter(({ source }) => /Failure|@code|const [A-Z_]+ = "/.test(source))
    .map((file) => ({ ...file, code: readCode(file.source) }));
  const exported = read.flatMap(({ code }) => constantsOf(code));
  const makers = findMakers(read);
  const problems: string[] = [];
  const made = read.flatMap((file) => {
    // A file's own constants go before others of the same name.
    const constants = new Map([...exported, ...constantsOf(file.code)]);
    return constructions(file, makers, constants, problems);
  });
  const rows = files.flatMap((file) => rowsOf(file, problems));
  problems.push(...disagreements(made, rows));
  return { made, rows, problems };
}

function disagreements(made: readonly Made[], rows: readonly Row[]): string[] {
  const problems: string[] = [];
  const byCode = Map.groupBy(rows, ({ code }) => code);
  const kinds = Map.groupBy(made, ({ code }) => code);
  for (const [code, places] of kinds) {
    const [first] = places;
    const place = `${first?.path}:${first?.line}`;
    if (!byCode.has(code)) problems.push(`${place}: ${code} has no row (@code, @remedy)`);
    const names = new Set(places.flatMap(({ kind }) => kind ?? []));
    if (names.size > 1) {
      const where = places.map(({ path, line, kind }) => `${path}:${line} ${kind}`).join(", ");
      problems.push(`${code} has ${names.size} kinds: ${where}`);
    }
  }
  for (const [code, all] of byCode) {
    const places = all.map(({ path }) => path).join(", ");
    if (all.length > 1) problems.push(`${code} has ${all.length} rows: ${places}`);
    if (!kinds.has(code)) problems.push(`${places}: no failure is made with ${code}`);
  }
  return problems;
}

const COMMENT = /\/\*\*(?:(?!\*\/)[\s\S])*?@code[\s\S]*?\*\//g;
const PAIR = /^(\S+)\s+(\S.*\.)\s+(?:@status\s+(\d+)\s+)?@remedy\s+(\S.*\.)$/;

function rowsOf({ path, source }: SourceFile, problems: string[]): Row[] {
  return Array.from(source.matchAll(COMMENT), ([comment]) => comment).flatMap((comment) => {
    const text = comment.replace(/^\s*\/?\*+\/?/gm, " ").replace(/\s+/g, " ");
    const parts = text
      .replace(/\s*\*\/\s*$/, "")
      .split(" @code ")
      .slice(1);
    return parts.flatMap((part) => {
      const [, code, meaning, status, remedy] = PAIR.exec(part.trim()) ?? [];
      if (code === undefined || meaning === undefined || remedy === undefined) {
        problems.push(`${path}: not "@code <code> Sentence. @remedy Sentence.": ${part.trim()}`);
        return [];
      }
      return [
        { code, meaning, remedy, status: status === undefined ? null : Number(status), path },
      ];
    });
  });
}

/** Constants that hold a text, and tables whose values are texts. */
function constantsOf({ text, strings }: Code): [name: string, values: string[]][] {
  const plain = Array.from(
    text.matchAll(/\bconst (\w+)(?:: string)? = "(\d+)"/g),
    ([, name = "", string]): [string, string[]] => [name, [strings[Number(string)] ?? ""]],
  );
  const tables = Array.from(
    text.matchAll(/\bconst (\w+)[^=;]*= \{([^{}]*)\}/g),
    ([, name = "", body = ""]): [string, string[]] => [
      name,
      Array.from(body.matchAll(/:\s*"(\d+)"/g), ([, string]) => strings[Number(string)] ?? ""),
    ],
  );
  return [...plain, ...tables];
}

/** Failure, the classes that extend it, and the functions that take a code and make one. */
function findMakers(files: readonly Read[]): Maker[] {
  const makers: Maker[] = [{ name: "Failure", isClass: true, file: null, kind: 0, code: 1 }];
  for (let before = 0; before < makers.length;) {
    before = makers.length;
    for (const file of files) {
      for (const found of [...classesIn(file, makers), ...functionsIn(file, makers)]) {
        const known = makers.some(({ name, file: at }) => name === found.name && at === found.file);
        if (!known) makers.push(found);
      }
    }
  }
  return makers;
}

function classesIn({ code: { text, strings } }: Read, makers: readonly Maker[]): Maker[] {
  return Array.from(text.matchAll(/\bclass (\w+) extends (\w+)\b/g)).flatMap((match) => {
    const [, name = "", parent = ""] = match;
    const above = makers.find((maker) => maker.isClass && maker.name === parent);
    if (above === undefined) return [];
    const end = text.slice(match.index).search(/\n\}/);
    const body = text.slice(match.index, match.index + end);
    const at = /\bconstructor\(/.exec(body);
    const call = /\bsuper\(/.exec(body);
    if (at === null || call === null) return [{ ...above, name }];
    const parameters = namesOf(argumentsAt(body, at.index + at[0].length));
    const args = argumentsAt(body, call.index + call[0].length);
    return [
      {
        name,
        isClass: true,
        file: null,
        kind: passedOn(above.kind, args, parameters, strings),
        code: passedOn(above.code, args, parameters, strings) ?? "",
      },
    ];
  });
}

/** Functions, private methods, and arrows with a name. */
const HEAD = /\bfunction (\w+)\(|^ {2}(#\w+)\(|\bconst (\w+) = \((?=[^;]*?=>)/gm;

function functionsIn(file: Read, makers: readonly Maker[]): Maker[] {
  const { text, strings } = file.code;
  return Array.from(text.matchAll(HEAD)).flatMap((match) => {
    const name = match[1] ?? match[2] ?? match[3] ?? "";
    const start = match.index + match[0].length;
    const parameters = namesOf(argumentsAt(text, start));
    if (!parameters.includes("code")) return [];
    const last = name.startsWith("#") ? /\n {2}\}/ : /\n\}/;
    const end = match[3] === undefined ? text.slice(start).search(last) : statementAt(text, start);
    const body = text.slice(start, start + end);
    for (const maker of makers) {
      const call = callOf(maker, file)?.exec(body) ?? null;
      if (call === null || typeof maker.code !== "number") continue;
      const args = argumentsAt(body, call.index + call[0].length);
      if (args[maker.code]?.trim() !== "code") continue;
      return [
        {
          name,
          isClass: false,
          file: file.path,
          kind: passedOn(maker.kind, args, parameters, strings),
          code: parameters.indexOf("code"),
        },
      ];
    }
    return [];
  });
}

/** What a maker's argument is to whoever calls the maker around it: a text, or one of its arguments. */
function passedOn(
  position: string | number | null,
  args: readonly string[],
  parameters: readonly string[],
  strings: readonly string[],
): string | number | null {
  if (typeof position !== "number") return position;
  const text = args[position]?.trim() ?? "";
  const literal = /^"(\d+)"$/.exec(text);
  if (literal !== null) return strings[Number(literal[1])] ?? "";
  const at = parameters.indexOf(text);
  return at < 0 ? null : at;
}

/** How a file calls a maker; null where it does not know it. */
function callOf({ name, isClass, file }: Maker, { path, code }: Read): RegExp | null {
  if (isClass) return new RegExp(`\\bnew ${name}\\(`, "g");
  if (name.startsWith("#")) return file === path ? new RegExp(`\\bthis\\.${name}\\(`, "g") : null;
  if (file !== path && !imports(code, path, name, file)) return null;
  return new RegExp(`(?<![.\\w]|function )${name}\\(`, "g");
}

function imports(
  { text, strings }: Code,
  path: string,
  name: string,
  from: string | null,
): boolean {
  const statement = new RegExp(`^import[^;]*\\b${name}\\b[^;]*from "(\\d+)"`, "gm");
  return Array.from(text.matchAll(statement)).some(
    ([, string]) => join(dirname(path), strings[Number(string)] ?? "") === from,
  );
}

function constructions(
  file: Read,
  makers: readonly Maker[],
  constants: ReadonlyMap<string, string[]>,
  problems: string[],
): Made[] {
  const { path, code } = file;
  const calls = makers.flatMap((maker) => {
    const call = callOf(maker, file);
    if (call === null) return [];
    return Array.from(code.text.matchAll(call), (match) => ({
      maker,
      at: match.index,
      args: argumentsAt(code.text, match.index + match[0].length),
    }));
  });
  // What a class gives to super() is made where the class is: it may be made nowhere else by name.
  const fixed = makers
    .filter(({ name, isClass, code: own }) => {
      const declared = new RegExp(`\\bclass ${name} extends\\b`).test(code.text);
      return isClass && declared && typeof own === "string" && own !== "";
    })
    .map((maker) => ({ maker, at: 0, args: [] }));
  const supers = Array.from(code.text.matchAll(/\bsuper\(/g)).flatMap((match) => {
    const head = code.text.slice(0, match.index);
    const [, name, parent] = [...head.matchAll(/\bclass (\w+) extends (\w+)\b/g)].at(-1) ?? [];
    const maker = makers.find((one) => one.isClass && one.name === parent);
    const own = makers.find((one) => one.isClass && one.name === name);
    if (maker === undefined || typeof own?.code === "number") return [];
    return [{ maker, at: match.index, args: argumentsAt(code.text, match.index + 6) }];
  });
  return [...calls, ...fixed, ...supers].flatMap(({ maker, at, args }) => {
    const line = lineAt(code.text, at);
    const values = (position: string | number | null): (string | null)[] => {
      if (typeof position !== "number") return [position];
      return valuesOf(args[position] ?? "", at, code, constants);
    };
    const kinds = values(maker.kind);
    const kind = kinds.length === 1 ? kinds[0] || null : null;
    return values(maker.code).flatMap((one) => {
      if (one === null) {
        problems.push(`${path}:${line}: a code is a literal, or a name or table of literals`);
        return [];
      }
      const plain = code.text.startsWith("new Failure(", at);
      if (one !== "" && plain && !FAILURES.test(path) && !isClient(path)) {
        problems.push(`${path}:${line}: ${one} is made outside the room's failures.ts`);
      }
      return one === "" ? [] : [{ code: one, kind, path, line }];
    });
  });
}

/** What an expression may be: "" for a code that somebody else has chosen, null for what cannot be told. */
function valuesOf(
  expression: string,
  at: number,
  code: Code,
  constants: ReadonlyMap<string, string[]>,
): (string | null)[] {
  const { text, strings } = code;
  const parts = expression.split(/\?\?|\?(?!\.)|:/).map((part) => part.trim());
  const results = expression.includes("?") && !expression.includes("??") ? parts.slice(1) : parts;
  return results.flatMap((part): (string | null)[] => {
    const literal = /^"(\d+)"$/.exec(part);
    if (literal !== null) return [strings[Number(literal[1])] ?? ""];
    // Another failure's, told on.
    if (/^(?:[\w.]+\.(?:code|kind)|code\.replaceAll\(.*\))$/.test(part)) return [""];
    if (part === "kind") return [""];
    if (part === "code") {
      const own = [...text.slice(0, at).matchAll(/\bconst code = ([^;]*);/g)].at(-1);
      const taken = /\(code\b|[,{]\s*code\b[^()]*[:,}]/.test(text.slice(Math.max(0, at - 700), at));
      if (own !== undefined && own.index > at - 300) {
        return valuesOf(own[1] ?? "", at, code, constants);
      }
      return [taken ? "" : null];
    }
    const pattern = /^"(\d+)"\(.*\)"(\d+)"$/.exec(part);
    if (pattern !== null) {
      return [`${strings[Number(pattern[1])] ?? ""}*${strings[Number(pattern[2])] ?? ""}`];
    }
    const name = /^(\w+)(?:\[.*\])?$/.exec(part)?.[1];
    return (name === undefined ? undefined : constants.get(name)) ?? [null];
  });
}

/** How long a statement goes on from within its first parenthesis. */
function statementAt(text: string, start: number): number {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth < 0 || (depth === 0 && char === ";")) return at - start;
  }
  return text.length - start;
}

/** The arguments of a call, or the parameters of a declaration, from behind its parenthesis. */
function argumentsAt(text: string, start: number): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at);
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth < 0 || (depth === 0 && char === ",")) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
    if (depth < 0) return found;
  }
  return found;
}

function namesOf(parameters: readonly string[]): string[] {
  return parameters.map((parameter) => /^\s*(\w*)/.exec(parameter)?.[1] ?? "");
}

const OPENING = `# Errors

Written by \`npm run gen\` out of the sources: do not edit. Every refusal of the server has a word in the
header \`X-Service-Error\`, which stays the same when its text does not. Look it up here.

Where the status is _as its cause_, the failure tells of another one behind it and has that one's kind. Answers
with 429 and 503 have \`Retry-After\`. Below \`/acl/\` some words give way to broader ones: \`invalid_parameter\`
for whatever is wrong with a request, \`permission_denied\`, \`no_leader\` and \`internal\`.

`;

/** As X-Service-Error tells it. */
function wordOf({ code }: Pick<Row, "code">): string {
  return code.replaceAll("-", "_");
}

/** `docs/errors.md`, before it is formatted. */
export function errorsPage(
  { made, rows }: ErrorCodes,
  statusOf: Readonly<Record<string, number>>,
): string {
  const places = Map.groupBy(made, ({ code }) => code);
  const isOfClient = ({ code }: Row) => places.get(code)?.every(({ path }) => isClient(path));
  const cells = (parts: readonly string[]) =>
    `| ${parts.map((part) => part.replaceAll("|", "\\|")).join(" | ")} |`;
  const sorted = rows.toSorted((a, b) => (wordOf(a) < wordOf(b) ? -1 : 1));
  const answered = sorted
    .filter((row) => !isOfClient(row))
    .map(({ code, meaning, remedy, status }) => {
      const kind = places.get(code)?.find((one) => one.kind !== null)?.kind ?? null;
      const number = status ?? (kind === null ? null : (statusOf[kind] ?? null));
      const display = number === null ? "_as its cause_" : String(number);
      return cells([`\`${wordOf({ code })}\``, display, meaning, remedy]);
    });
  const own = sorted
    .filter(isOfClient)
    .map(({ code, meaning, remedy }) => cells([`\`${code}\``, meaning, remedy]));
  return [
    OPENING,
    "## What the server answers\n\nOr says in its log, where it does not start.\n\n",
    "| Word | Status | What it means | What to do |\n| --- | --- | --- | --- |\n",
    `${answered.join("\n")}\n\n`,
    "## What the command line says by itself\n\n",
    "| Code | What it means | What to do |\n| --- | --- | --- |\n",
    `${own.join("\n")}\n`,
  ].join("");
}
