// What stands in the places of {{name}}, {{password}} and {{expiration}} in a statement: quoted as the place needs it, whatever
// the text is. Inside quotes it stays inside; outside it brings its own.

import { databaseRefusal } from "@holdfast/plugin-sdk/database";

/** By placeholder. `identifier`: it names something; else it is a text. */
export type Values = Readonly<
  Record<string, { readonly text: string; readonly isIdentifier: boolean }>
>;

export function filled(statement: string, values: Values): string {
  let sql = "";
  let at = 0;
  while (at < statement.length) {
    const piece = pieceAt(statement, at);
    sql += substituted(piece, values);
    at += piece.text.length;
  }
  return sql;
}

interface Piece {
  readonly kind: "code" | "comment" | "text" | "escaped" | "name" | "unicode" | "dollar";
  readonly text: string;
}

const STARTS: readonly (readonly [Piece["kind"], RegExp])[] = [
  ["comment", /--[^\n]*/y],
  ["unicode", /[uU]&"(?:[^"]|"")*"?/y],
  ["escaped", /[eE]'(?:[^'\\]|''|\\[\s\S])*'?/y],
  ["text", /'(?:[^']|'')*'?/y],
  ["name", /"(?:[^"]|"")*"?/y],
];
const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;
const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const PLACE = /\{\{\s*([a-z]+)\s*\}\}/y;

function pieceAt(sql: string, at: number): Piece {
  for (const [kind, pattern] of STARTS) {
    const text = matchAt(pattern, sql, at);
    if (text !== null) return { kind, text };
  }
  if (sql.startsWith("/*", at)) return { kind: "comment", text: commentAt(sql, at) };
  const tag = matchAt(DOLLAR, sql, at);
  if (tag !== null) {
    const end = sql.indexOf(tag, at + tag.length);
    const to = end < 0 ? sql.length : end + tag.length;
    return { kind: "dollar", text: sql.slice(at, to) };
  }
  const place = matchAt(PLACE, sql, at);
  if (place !== null) return { kind: "code", text: place };
  return { kind: "code", text: matchAt(WORD, sql, at) ?? sql.charAt(at) };
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/** They nest. */
function commentAt(sql: string, from: number): string {
  let depth = 0;
  for (let at = from; at < sql.length; at++) {
    if (sql.startsWith("/*", at)) depth++;
    else if (sql.startsWith("*/", at)) depth--;
    else continue;
    at++;
    if (depth === 0) return sql.slice(from, at + 1);
  }
  return sql.slice(from);
}

function substituted({ kind, text }: Piece, values: Values): string {
  switch (kind) {
    case "comment":
      return text;
    case "text":
      return placed(text, values, ({ text: value }) => value.replaceAll("'", "''"));
    case "escaped":
      return placed(text, values, ({ text: value }) =>
        value.replaceAll("\\", "\\\\").replaceAll("'", "''"),
      );
    case "name":
      return placed(text, values, ({ text: value }) => value.replaceAll('"', '""'));
    case "unicode":
      return placed(text, values, ({ text: value }) =>
        value.replaceAll("\\", "\\\\").replaceAll('"', '""'),
      );
    case "code":
      return placed(text, values, ({ text: value, isIdentifier }) =>
        isIdentifier ? quotedName(value) : quotedText(value),
      );
    case "dollar":
      return dollar(text, values);
  }
}

/** What is inside is a program of its own. */
function dollar(text: string, values: Values): string {
  const tag = matchAt(DOLLAR, text, 0) ?? "";
  const isEnded = text.length >= 2 * tag.length && text.endsWith(tag);
  const body = text.slice(tag.length, isEnded ? -tag.length : undefined);
  const inside = filled(body, values);
  if (inside.split(tag).length > body.split(tag).length) {
    throw databaseRefusal(
      "refused",
      `a value holds ${tag}, by which a block of the statement ends`,
    );
  }
  return `${tag}${inside}${isEnded ? tag : ""}`;
}

function placed(text: string, values: Values, show: (value: Values[string]) => string): string {
  return text.replaceAll(/\{\{\s*([a-z]+)\s*\}\}/g, (all, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value === undefined ? all : show(value);
  });
}

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
