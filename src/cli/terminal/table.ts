// Tables for people: columns as wide as their widest cell, made narrower by breaking cells over
// several lines where the terminal is. Nothing is cut off: what is shown can be copied. The gaps give
// way first, then columns whose cells are text. Identifiers are not broken, as one in two lines is hard to
// copy: where they do not fit beside the rest each row becomes a block of lines. A long word among a text, such as a
// path, sticks out of its column, and what stands beside it goes on below.

import { harmless, oneLine, pad, widthOf, wrap } from "./text.ts";

const GAP = "    ";
export const PAIRS_GAP = GAP.length; // between a name and its value
const NARROW_GAP = "  ";
const MIN_WIDTH = 8; // a column narrower than this is no help
const LONG_WORD = 20; // longer ones may be broken rather than the whole table

interface TableOptions {
  /** Null: as wide as it gets, which is right for anything that is no terminal. */
  readonly width: number | null;
  readonly heading: (text: string) => string;
  /** Columns whose cells are broken only when nothing else is left to give way. */
  readonly whole?: readonly string[];
  /** Columns whose words are not broken however long they are: paths among a text. */
  readonly unbroken?: readonly string[];
}

export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  { width, heading, whole = [], unbroken = [] }: TableOptions,
): string {
  const cells = rows.map((row) => columns.map((_, i) => oneLine(row[i] ?? "")));
  const wanted = columns.map((name, i) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[i]!)), widthOf(name)),
  );
  const gap = width !== null && total(wanted, GAP) > width ? NARROW_GAP : GAP;
  const kept = columns.map((name) => whole.includes(name));
  const longest = columns.map((name, i) =>
    kept[i] === true ? wanted[i]! : longestWord([name, ...cells.map((row) => row[i]!)]),
  );
  const least = columns.map((name, i) =>
    kept[i] === true || unbroken.includes(name) ? longest[i]! : Math.min(longest[i]!, LONG_WORD),
  );
  const softened = least.map((one, i) => (kept[i] === true ? one : Math.min(one, LONG_WORD)));
  if (width !== null && total(softened, NARROW_GAP) > width) {
    return blocks(columns, cells, width, heading);
  }
  const room = (width ?? 0) - gap.length * (columns.length - 1);
  const floors = sum(longest) <= room ? longest : sum(least) <= room ? least : softened;
  const widths = width === null ? wanted : fit(wanted, floors, room);
  const isWhole = columns.map((name) => unbroken.includes(name));
  const underlines = columns.map((name) => "-".repeat(widthOf(name)));
  return [
    ...lines(columns, widths, gap).map(heading),
    ...lines(underlines, widths, gap),
    ...cells.flatMap((row) => stretched(row, widths, { gap, width, whole: isWhole })),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

function longestWord(cells: readonly string[]): number {
  return cells
    .flatMap((cell) => cell.split(" "))
    .reduce((max, word) => Math.max(max, widthOf(word)), 0);
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

interface Stretching {
  readonly gap: string;
  readonly width: number | null;
  /** By column: whether its words stay whole. */
  readonly whole: readonly boolean[];
}

/** Lines of a row. A word that is wider than its column has the rest of its line, or one of its own. */
function stretched(
  row: readonly string[],
  widths: readonly number[],
  { gap, width, whole }: Stretching,
): string[] {
  const left = row.map((cell, i) => wrap(cell, widths[i]!, { whole: whole[i] === true }));
  const found: string[] = [];
  while (left.some((cell) => cell.length > 0)) {
    const wide = left.findIndex(([line = ""], i) => widthOf(line) > widths[i]!);
    const before = wide < 0 ? left : left.slice(0, wide);
    const start = total(widths.slice(0, before.length), gap) + (wide > 0 ? gap.length : 0);
    const word = left[wide]?.[0] ?? "";
    const fits = width === null || start + widthOf(word) <= width;
    const beside = before.map((cell, i) => pad(cell.shift() ?? "", widths[i]!)).join(gap);
    if (wide < 0) found.push(beside.trimEnd());
    else if (fits) found.push(`${beside}${wide > 0 ? gap : ""}${word}`);
    else {
      if (beside.trim() !== "") found.push(beside.trimEnd());
      found.push(
        `${" ".repeat(Math.max(0, Math.min(start, (width ?? 0) - widthOf(word))))}${word}`,
      );
    }
    left[wide]?.shift();
  }
  return found;
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

/** Takes from the widest column until all fit. None becomes narrower than its floor, nor than is of help
 *  while another can give. */
function fit(widths: readonly number[], floors: readonly number[], room: number): number[] {
  const fitted = [...widths];
  for (const min of [MIN_WIDTH, 0]) {
    const floor = (i: number) => Math.max(min, floors[i]!);
    for (;;) {
      const over = sum(fitted) - room;
      if (over <= 0) return fitted;
      const wide = [...fitted.keys()].filter((i) => fitted[i]! > floor(i));
      const [at, next] = wide.toSorted((a, b) => fitted[b]! - fitted[a]!);
      if (at === undefined) break;
      const widest = fitted[at]!;
      const second = next === undefined ? floor(at) : fitted[next]!;
      fitted[at] = Math.max(floor(at), widest - over, Math.min(second, widest - 1));
    }
  }
  return fitted;
}
