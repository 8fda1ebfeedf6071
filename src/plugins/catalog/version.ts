// Versions of plugins: semantic ones, in their one form, and their order.

import * as failures from "./failures.ts";

const MAX_LENGTH = 128;
const NUMBER = "(0|[1-9][0-9]{0,14})";
const WORDS = "([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)";
const VERSION = new RegExp(
  `^v?${NUMBER}(?:\\.${NUMBER})?(?:\\.${NUMBER})?(?:-${WORDS})?(?:\\+${WORDS})?$`,
);
/** What versions of built-in engines are told by. */
const BUILTIN = "builtin";

interface Parts {
  readonly numbers: readonly [number, number, number];
  readonly before: readonly string[]; // words of a pre-release; none: it is released
  readonly build: string;
}

/** Such as v1.2.0 for 1.2; empty stays empty. Throws for what is no version, or could be taken for a built-in one. */
export function canonicalVersion(text: string): string {
  if (text === "") return "";
  const parts = partsOf(text);
  if (parts === null) throw failures.versionMalformed(text);
  const canonical = show(parts);
  if (parts.build.split(".").includes(BUILTIN)) throw failures.versionReserved(canonical);
  return canonical;
}

/** The same of what a plugin says of itself: null where that is no version. */
export function reportedVersion(text: string): string | null {
  if (text === "") return "";
  const parts = partsOf(text);
  return parts === null ? null : show(parts);
}

/** Whether it is one of a built-in engine, as those tell it. */
export function isBuiltInVersion(text: string): boolean {
  return partsOf(text)?.build.split(".").includes(BUILTIN) ?? false;
}

/** Of canonical ones: older first. What says nothing about the order is ordered as text. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  if (one === null || other === null) return a < b ? -1 : Number(a > b);
  for (const [at, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return compareBefore(one.before, other.before) || compareTexts(one.build, other.build);
}

function partsOf(text: string): Parts | null {
  if (text.length > MAX_LENGTH) return null;
  const found = VERSION.exec(text);
  if (found === null) return null;
  const [, major, minor, patch, before, build = ""] = found;
  const numbers = [major, minor, patch].map((digits = "0") => Number(digits));
  const words = before?.split(".") ?? [];
  if (words.some((word) => /^0[0-9]+$/.test(word))) return null;
  const [first = 0, second = 0, third = 0] = numbers;
  return { numbers: [first, second, third], before: words, build };
}

function show({ numbers, before, build }: Parts): string {
  const tail = before.length === 0 ? "" : `-${before.join(".")}`;
  return `v${numbers.join(".")}${tail}${build === "" ? "" : `+${build}`}`;
}

/** What is released comes after everything that leads to it; numbers before words. */
function compareBefore(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Number(a.length === 0) - Number(b.length === 0);
  for (const [at, word] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const difference = compareWords(word, other);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function compareWords(a: string, b: string): number {
  const [isNumber, otherIsNumber] = [isDigits(a), isDigits(b)];
  if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return compareTexts(a, b);
}

function isDigits(word: string): boolean {
  return /^[0-9]+$/.test(word);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
