// Tables for people: columns as wide as their widest cell, made narrower by breaking cells over
// several lines where the terminal is. Nothing is cut off: what is shown can be copied.

import { harmless, oneLine, pad, widthOf, wrap } from "./text.ts";

const GAP = "    ";
const LEAST = 8; // a column narrower than this is no help

export interface TableOptions {
  /** Null: as wide as it gets, which is right for anything that is no terminal. */
  readonly width: number | null;
  readonly heading: (text: string) => string;
}

export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  { width, heading }: TableOptions,
): string {
  const cells = rows.map((row) => columns.map((_, i) => oneLine(row[i] ?? "")));
  const widths = fit(
    columns.map((name, i) => Math.max(widthOf(name), ...cells.map((row) => widthOf(row[i]!)))),
    width,
  );
  const underlines = columns.map((name) => "-".repeat(widthOf(name)));
  return [
    ...lines(columns, widths).map(heading),
    ...lines(underlines, widths),
    ...cells.flatMap((row) => lines(row, widths)),
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

function lines(cells: readonly string[], widths: readonly number[]): string[] {
  const broken = cells.map((cell, i) => wrap(cell, widths[i]!));
  const height = Math.max(1, ...broken.map((one) => one.length));
  return Array.from({ length: height }, (_, line) =>
    broken
      .map((one, i) => pad(one[line] ?? "", widths[i]!))
      .join(GAP)
      .trimEnd(),
  );
}

/** Takes from the widest column until all fit. */
function fit(widths: readonly number[], total: number | null): number[] {
  const fitted = [...widths];
  if (total === null) return fitted;
  const room = total - GAP.length * (widths.length - 1);
  for (;;) {
    const over = fitted.reduce((sum, width) => sum + width, 0) - room;
    const widest = Math.max(...fitted);
    if (over <= 0 || widest <= LEAST) return fitted;
    const at = fitted.indexOf(widest);
    const second = Math.max(LEAST, ...fitted.filter((_, i) => i !== at));
    fitted[at] = Math.max(LEAST, widest - over, Math.min(second, widest - 1));
  }
}
