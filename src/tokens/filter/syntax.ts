// What a filter says, once it is read: a tree without positions, whose names mean nothing yet. Fields
// and types are the business of predicate.ts.

/** The way to a value: names of fields and variables, and places in lists. */
export type Selector = readonly string[];

export type Operator =
  | "equal"
  | "contains" // also written the other way round, with `in`
  | "matches"
  | "empty"
  | "nil"
  | "below"
  | "at-most"
  | "above"
  | "at-least";

export interface Match {
  readonly kind: "match";
  readonly selector: Selector;
  readonly operator: Operator;
  readonly negated: boolean;
  /** As text, whatever its notation; "" where the operator takes none. */
  readonly value: string;
}

export interface Quantified {
  readonly kind: "quantified";
  readonly every: boolean;
  readonly list: Selector;
  /** What the body calls the place in the list, and the element. */
  readonly position: string | null;
  readonly element: string | null;
  readonly body: Expression;
}

export type Expression =
  | { readonly kind: "or" | "and"; readonly operands: readonly Expression[] } // two or more
  | { readonly kind: "not"; readonly operand: Expression }
  | Match
  | Quantified;
