// Tables for people: columns as wide as their widest cell, made narrower by breaking cells over
// several lines where the terminal is. Nothing is cut off: what is shown can be copied. The gaps give
// way first, then columns whose cells are text. Identifiers are not broken, as one in two lines is hard to
// copy: where they do not fit beside the rest each row becomes a block of lines.

import { harmless, oneLine, pad, widthOf, wrap } from "./text.ts";

const GAP = "    ";
const NARROW_GAP = "  ";
const MIN_WIDTH = 8; // a column narrower than this is no help
const LONG_WORD = 20; // longer ones are broken rather than the whole table

interface TableOptions {
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
  if (width !== null && tooWide(columns, cells, wanted, kept, width)) {
    return blocks(columns, cells, width, heading);
  }
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

/** Whether an identifier, or a word of ordinary length, would have to be broken. */
function tooWide(
  columns: readonly string[],
  cells: readonly (readonly string[])[],
  wanted: readonly number[],
  kept: readonly boolean[],
  width: number,
): boolean {
  const min = columns.map((name, i) => {
    if (kept[i] === true) return wanted[i]!;
    const longest = [name, ...cells.map((row) => row[i]!)]
      .flatMap((cell) => cell.split(" "))
      .reduce((max, word) => Math.max(max, widthOf(word)), 0);
    return Math.min(longest, LONG_WORD);
  });
  return total(min, NARROW_GAP) > width;
}

/** Each row with a line for each of its cells, and an empty line between rows. */
function blocks(
  columns: readonly string[],
  cells: readonly (readonly string[])[],
  width: number,
  heading: (text: string) => string,
): string {
  const names = Math.max(...columns.map(widthOf));
  const room = Math.max(MIN_WIDTH, width - names - NARROW_GAP.length);
  return cells
    .map((row) =>
      columns
        .map((name, i) => {
          const cell = row[i]!;
          // One long word stands below its name, whole.
          const below = !cell.includes(" ") && widthOf(cell) > room;
          if (below) return `${heading(name)}\n${NARROW_GAP}${cell}`;
          const text = wrap(cell, room).join(`\n${" ".repeat(names + NARROW_GAP.length)}`);
          return `${heading(pad(name, names))}${NARROW_GAP}${text}`.trimEnd();
        })
        .map((line) => `${line}\n`)
        .join(""),
    )
    .join("\n");
}

/** Names and values. Values are not broken: a secret in two lines cannot be copied. */
export function pairs(
  rows: readonly (readonly [name: string, value: string])[],
  { heading }: TableOptions,
): string {
  const all = [["Key", "Value"], ["---", "-----"], ...rows] as const;
  const width = Math.max(...all.map(([name]) => widthOf(oneLine(name))));
  const indent = " ".repeat(width + GAP.length);
  const texts = all.map(([name, value]) => {
    const text = harmless(value).split("\n").join(`\n${indent}`);
    return `${pad(oneLine(name), width)}${GAP}${text}`.trimEnd();
  });
  const [first = "", ...others] = texts;
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
    const wide = [...fitted.keys()].filter((i) => fitted[i]! > MIN_WIDTH);
    const loose = wide.filter((i) => !kept[i]);
    const giving = (loose.length > 0 ? loose : wide).toSorted((a, b) => fitted[b]! - fitted[a]!);
    const [at, next] = giving;
    if (at === undefined) return fitted;
    const widest = fitted[at]!;
    const second = next === undefined ? MIN_WIDTH : fitted[next]!;
    fitted[at] = Math.max(MIN_WIDTH, widest - over, Math.min(second, widest - 1));
  }
}
