// Every function that a program can call, with what it takes and gives: the standard of CEL, its
// `strings` extension, and ours of docs/policies/programs.md. What is not in here does not exist.

import type { SourceText } from "../../document/source-text.ts";
import { unknown, wrongType } from "../failures.ts";
import { isKind, type Kind } from "./kinds.ts";

export interface Signature {
  readonly name: string;
  readonly target: readonly Kind[] | null;
  readonly args: readonly (readonly Kind[])[];
  readonly result: Kind;
}

const TABLE = `
!_(bool) bool
-_(int) int
-_(double) double
_+_(int, int) int
_+_(uint, uint) uint
_+_(double, double) double
_+_(string, string) string
_+_(bytes, bytes) bytes
_+_(list, list) list
_+_(duration, duration) duration
_+_(timestamp, duration) timestamp
_+_(duration, timestamp) timestamp
_-_(int, int) int
_-_(uint, uint) uint
_-_(double, double) double
_-_(duration, duration) duration
_-_(timestamp, timestamp) duration
_-_(timestamp, duration) timestamp
_*_(int, int) int
_*_(uint, uint) uint
_*_(double, double) double
_/_(int, int) int
_/_(uint, uint) uint
_/_(double, double) double
_%_(int, int) int
_%_(uint, uint) uint
_==_(any, any) bool
_!=_(any, any) bool
_<_(ordered) bool
_<=_(ordered) bool
_>_(ordered) bool
_>=_(ordered) bool
@in(any, list|map) bool
_[_](list, int|uint|double) any
_[_](map, any) any
size(string|bytes|list|map) int
string|bytes|list|map.size() int
string.contains(string) bool
string.startsWith(string) bool
string.endsWith(string) bool
string.matches(string) bool
matches(string, string) bool
int(int|uint|double|string|timestamp|duration) int
uint(int|uint|double|string) uint
double(int|uint|double|string) double
bool(bool|string) bool
bytes(bytes|string) bytes
string(string|bool|int|uint|double|bytes|timestamp|duration) string
timestamp(timestamp|string|int) timestamp
duration(duration|string) duration
type(any) type
dyn(any) any
string.charAt(int) string
string.indexOf(string) int
string.indexOf(string, int) int
string.lastIndexOf(string) int
string.lastIndexOf(string, int) int
string.lowerAscii() string
string.upperAscii() string
string.replace(string, string) string
string.replace(string, string, int) string
string.split(string) list
string.split(string, int) list
string.substring(int) string
string.substring(int, int) string
string.trim() string
string.format(list) string
list.join() string
list.join(string) string
duration|timestamp.getHours() int
duration|timestamp.getMinutes() int
duration|timestamp.getSeconds() int
duration|timestamp.getMilliseconds() int
timestamp.getFullYear() int
timestamp.getMonth() int
timestamp.getDate() int
timestamp.getDayOfMonth() int
timestamp.getDayOfWeek() int
timestamp.getDayOfYear() int
timestamp.getHours(string) int
timestamp.getMinutes(string) int
timestamp.getSeconds(string) int
timestamp.getMilliseconds(string) int
timestamp.getFullYear(string) int
timestamp.getMonth(string) int
timestamp.getDate(string) int
timestamp.getDayOfMonth(string) int
timestamp.getDayOfWeek(string) int
timestamp.getDayOfYear(string) int
ip_in(string, string|list) bool
glob(string, string) bool
path_match(string, string) bool
seconds(any) int
in_list(string, string) bool
`;

const ORDERED: readonly (readonly [Kind[], Kind[]])[] = [
  [
    ["int", "uint", "double"],
    ["int", "uint", "double"],
  ],
  [["string"], ["string"]],
  [["bytes"], ["bytes"]],
  [["bool"], ["bool"]],
  [["timestamp"], ["timestamp"]],
  [["duration"], ["duration"]],
];

export const SIGNATURES: ReadonlyMap<string, readonly Signature[]> = Map.groupBy(
  TABLE.trim().split("\n").flatMap(readRow),
  ({ name }) => name,
);

/** Names that a caller can write, macros included: what a guess at a misspelt one chooses from. */
export const CALLABLE: readonly string[] = [
  ...Array.from(SIGNATURES.keys()).filter((name) => /^[a-z]/.test(name)),
  "has",
  "all",
  "exists",
  "exists_one",
  "filter",
  "map",
];

function readRow(row: string): Signature[] {
  const [, target, name = "", args = "", result = ""] =
    /^(?:([a-z|]+)\.)?(.+?)\((.*)\) ([a-z]+)$/.exec(row) ?? [];
  const kinds = target === undefined ? null : kindsOf(target);
  if (args === "ordered") {
    return ORDERED.map((pair) => ({ name, target: kinds, args: pair, result: kindOf(result) }));
  }
  const all = args === "" ? [] : args.split(", ").map(kindsOf);
  return [{ name, target: kinds, args: all, result: kindOf(result) }];
}

function kindsOf(text: string): Kind[] {
  return text.split("|").map(kindOf);
}

function kindOf(text: string): Kind {
  if (!isKind(text)) throw new TypeError(`the table of functions has no kind ${text}`);
  return text;
}

function fits(accepted: readonly Kind[], kind: Kind): boolean {
  return kind === "any" || accepted.includes("any") || accepted.includes(kind);
}

/** `string.contains(string)`, or the sign of an operator with its sides. */
function showSignature({ name, target, args }: Signature): string {
  const kinds = args.map((all) => all.join(" or "));
  const sign = /^_(.+)_$/.exec(name)?.[1] ?? (name === "@in" ? "in" : null);
  if (sign !== null && name !== "_[_]") return kinds.join(` ${sign} `);
  if (name === "_[_]") return `${kinds[0] ?? ""}[${kinds[1] ?? ""}]`;
  if (name === "!_" || name === "-_") return `${name.charAt(0)}${kinds[0] ?? ""}`;
  const lead = target === null ? "" : `${target.join(" or ")}.`;
  return `${lead}${name}(${kinds.join(", ")})`;
}

export interface Called {
  readonly name: string;
  /** Null: not called as a method. */
  readonly target: Kind | null;
  readonly kinds: readonly Kind[];
  readonly at: number;
}

/** The kind of what it gives; "any" if that depends on what is not known. */
export function resultOf(
  source: SourceText,
  { name, target, kinds: argumentKinds, at }: Called,
): Kind {
  const signatures = SIGNATURES.get(name);
  if (signatures === undefined) {
    throw unknown(source, at, "function", name, CALLABLE);
  }
  const fitting = signatures.filter(
    (row) =>
      (row.target === null) === (target === null) &&
      (row.target === null || fits(row.target, target ?? "any")) &&
      row.args.length === argumentKinds.length &&
      row.args.every((kinds, i) => fits(kinds, argumentKinds[i] ?? "any")),
  );
  const [first, ...others] = fitting;
  if (first === undefined) {
    const sides = [...(target === null ? [] : [target]), ...argumentKinds].join(", ");
    const accepted = signatures.map(showSignature).join("; ");
    throw wrongType(
      source,
      at,
      `wrong arguments (${sides}) for ${showCalled(name)}; accepted: ${accepted}`,
    );
  }
  return others.every(({ result }) => result === first.result) ? first.result : "any";
}

function showCalled(name: string): string {
  const sign = /^_(.+)_$/.exec(name)?.[1] ?? /^([!-])_$/.exec(name)?.[1];
  if (name === "_[_]") return "an index";
  return sign === undefined ? (name === "@in" ? '"in"' : `${name}()`) : `"${sign}"`;
}
