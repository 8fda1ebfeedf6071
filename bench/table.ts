// The table at the end: one line per row, further figures of a row on lines of their own below it.

import { median } from "./measure.ts";
import { type Budget, type Figure, meets, type Row } from "./row.ts";
import type { Outcome } from "./row-process.ts";

export interface Result {
  readonly row: Row;
  readonly outcome: Outcome;
  /** How long the machine took for a fixed piece of work just before: see machine.ts. */
  readonly reference: number;
}

const HEADER = ["Row", "What", "Unit", "Result", "Spread", "Budget", "Met"];
const RIGHT: ReadonlySet<string> = new Set(["Result", "Spread", "Budget"]);

/** Without `judged` no verdicts are given: sizes were too small for the budgets to apply. */
export function showTable(results: readonly Result[], judged: boolean): string {
  const lines = [HEADER, ...results.flatMap((result) => linesOf(result, judged))];
  const widths = HEADER.map((_, i) => {
    const cells = lines.filter((line) => line.length === HEADER.length).map((line) => line[i]!);
    return Math.max(...cells.map((cell) => cell.length));
  });
  const show = (line: readonly string[]) =>
    line
      .map((cell, i) => {
        const width = widths[i]!;
        return RIGHT.has(HEADER[i]!) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [show(HEADER), rule, ...lines.slice(1).map(show), ""].join("\n");
}

/** Full lines, and short ones of two cells: the reason why there is no figure. */
function linesOf({ row, outcome }: Result, judged: boolean): string[][] {
  switch (outcome.kind) {
    case "measured": {
      const main = [row.name, ...cells({ ...row, samples: outcome.samples }, judged)];
      const also = (outcome.also ?? []).map((figure) => {
        return ["", ...cells({ ...figure, what: `  ${figure.what}` }, judged)];
      });
      return [main, ...also];
    }
    case "not measured":
    case "failed":
      return [
        [row.name, row.what, row.unit, "–", "", showBudget(row.budget), outcome.kind],
        ["", `  ${outcome.reason}`],
      ];
  }
}

function cells({ what, unit, samples, budget }: Figure, judged: boolean): string[] {
  const value = median(samples);
  const spread =
    samples.length < 2
      ? ""
      : `${showNumber(Math.min(...samples))}–${showNumber(Math.max(...samples))}`;
  const met = judged ? meets(value, budget) : null;
  const verdict = met === null ? "" : met ? "yes" : "NO";
  return [what, unit, showNumber(value), spread, showBudget(budget), verdict];
}

function showBudget(budget: Budget | undefined): string {
  if (budget === undefined) return "";
  return "atLeast" in budget ? `≥ ${showNumber(budget.atLeast)}` : `≤ ${showNumber(budget.atMost)}`;
}

/** Three digits that count, and whole numbers from 100 up. */
function showNumber(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: decimals });
}
