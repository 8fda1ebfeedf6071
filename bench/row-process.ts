// Runs one row in this process and hands back its figures.

import { mkdirSync } from "node:fs";
import { ROWS } from "./catalogue.ts";
import { answer } from "./processes.ts";
import { type Context, type Figures, NotMeasured } from "./row.ts";
import { errorText } from "../tests/support/error-text.ts";

export interface RowInput extends Context {
  readonly row: string;
}

export type Outcome =
  | ({ readonly kind: "measured" } & Figures)
  | { readonly kind: "not measured"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

await answer(async ({ row: name, ...context }: RowInput): Promise<Outcome> => {
  const row = ROWS.find((known) => known.name === name);
  if (row === undefined) return { kind: "failed", reason: `there is no row ${name}` };
  mkdirSync(context.directory, { mode: 0o700 });
  try {
    const found = await row.run(context);
    const figures = typeof found === "number" ? { samples: [found] } : found;
    return { kind: "measured", ...figures };
  } catch (error) {
    if (error instanceof NotMeasured) return { kind: "not measured", reason: error.message };
    console.error(error);
    return { kind: "failed", reason: errorText(error) };
  }
});
