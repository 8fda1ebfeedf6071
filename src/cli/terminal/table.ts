// Tables for people: columns as wide as their widest cell, made narrower by breaking cells over
// several lines where the terminal is. Nothing is cut off: what is shown can be copied. The gaps give
// way first, then columns whose cells are text; identifiers last, as one in two lines is hard to copy.

import { harmless, oneLine, pad, widthOf, wrap } from "./text.ts";

const GAP = "    ";
const NARROW_GAP = "  ";
const LEAST = 8; // a column narrower than this is no help

export interface TableOptions {
  /** Null: as wide as it gets, which is right for anything that is no terminal. */
  readonly width: number | null;
  readonly heading: (text: string) => string;
  /** Columns whose cells are broken only when nothing else is left to give way. */
  readonly whole?: readonly string[];
}

export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  { width, heading, whole = [] }: TableOptions,
): string {
  const cells = rows.map((row) => columns.map((_, i) => oneLine(row[i] ?? "")));
  const wanted = columns.map((name, i) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[i]!)), widthOf(name)),
  );
  const gap = width !== null && total(wanted, GAP) > width ? NARROW_GAP : GAP;
  const kept = columns.map((name) => whole.includes(name));
  const widths =
    width === null ? wanted : fit(wanted, kept, width - gap.length * (columns.length - 1));
  const underlines = columns.map((name) => "-".repeat(widthOf(name)));
  return [
    ...lines(columns, widths, gap).map(heading),
    ...lines(underlines, widths, gap),
    ...cells.flatMap((row) => lines(row, widths, gap)),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** Names and values. Values are not broken: a secret in two lines cannot be copied. */
export function pairs(
  rows: readonly (readonly [name: string, value: string])[],
  { heading }: TableOptions,
): string {
  const all = [["Key", "Value"], ["---", "-----"], ...rows] as const;
  const width = Math.max(...all.map(([name]) => widthOf(oneLine(name))));
  const indent = " ".repeat(width + GAP.length);
  const shown = all.map(([name, value]) => {
    const text = harmless(value).split("\n").join(`\n${indent}`);
    return `${pad(oneLine(name), width)}${GAP}${text}`.trimEnd();
  });
  const [first = "", ...others] = shown;
  return [heading(first), ...others].map((line) => `${line}\n`).join("");
}

function lines(cells: readonly string[], widths: readonly number[], gap: string): string[] {
  const broken = cells.map((cell, i) => wrap(cell, widths[i]!));
  const height = Math.max(1, ...broken.map((one) => one.length));
  return Array.from({ length: height }, (_, line) =>
    broken
      .map((one, i) => pad(one[line] ?? "", widths[i]!))
      .join(gap)
      .trimEnd(),
  );
}

function total(widths: readonly number[], gap: string): number {
  return sum(widths) + gap.length * (widths.length - 1);
}

function sum(widths: readonly number[]): number {
  return widths.reduce((all, width) => all + width, 0);
}

/** Takes from the widest column until all fit; from kept ones when the others have no more to give. */
function fit(widths: readonly number[], kept: readonly boolean[], room: number): number[] {
  const fitted = [...widths];
  for (;;) {
    const over = sum(fitted) - room;
    if (over <= 0) return fitted;
    const wide = [...fitted.keys()].filter((i) => fitted[i]! > LEAST);
    const loose = wide.filter((i) => !kept[i]);
    const giving = (loose.length > 0 ? loose : wide).toSorted((a, b) => fitted[b]! - fitted[a]!);
    const [at, next] = giving;
    if (at === undefined) return fitted;
    const widest = fitted[at]!;
    const second = next === undefined ? LEAST : fitted[next]!;
    fitted[at] = Math.max(LEAST, widest - over, Math.min(second, widest - 1));
  }
}
