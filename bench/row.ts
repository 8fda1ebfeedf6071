// What a row of the bench is: a declaration with a name, a budget and the function that measures it.
// How rows are run and shown is run.ts's and table.ts's; which there are is in catalogue.ts.

import type { LoadKind } from "./load/load-kind.ts";

export type Budget = { readonly atLeast: number } | { readonly atMost: number };

export interface Row {
  /** subject/detail, the subject being the name of the module. */
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly budget?: Budget;
  /** Where it is the rate of such requests: by this it is compared with another checkout's server. */
  readonly load?: LoadKind;
  /** Runs in a fresh process of its own, so that heap and caches come from nobody else. */
  run(context: Context): Promise<number | Figures>;
}

export interface Figures {
  /** One per round: the table shows their median and their spread. */
  readonly samples: readonly number[];
  /** What the same rounds also showed, such as latencies: each gets a line below. */
  readonly also?: readonly Figure[];
}

export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly budget?: Budget;
}

export interface Context {
  /** Empty, for this row alone, removed afterwards. */
  readonly directory: string;
  /** Where stores that are costly to fill are kept; rows open them but do not change their content. */
  readonly cache: string;
  /** Tiny sizes and short rounds: shows that the row works, and nothing about speed. */
  readonly quick: boolean;
  /** Rounds count only where a fixed piece of work took no longer than this, before and after them.
   *  Default: all of them do. */
  readonly quietMillis?: number;
}

/** Thrown by a row that cannot be measured on this machine: the reason stands in the table. */
export class NotMeasured extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "NotMeasured";
  }
}

/** Null when there is no budget to meet. */
export function meets(value: number, budget: Budget | undefined): boolean | null {
  if (budget === undefined) return null;
  return "atLeast" in budget ? value >= budget.atLeast : value <= budget.atMost;
}
