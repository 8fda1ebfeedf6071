// The kinds of values that can be told before a program runs. "any" is what cannot be told: data of
// the request, elements of lists, variables of loops.

export type Kind =
  | "any"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "list"
  | "map"
  | "timestamp"
  | "duration"
  | "null"
  | "type";

export const KINDS: ReadonlySet<string> = new Set<Kind>([
  "any",
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "list",
  "map",
  "timestamp",
  "duration",
  "null",
  "type",
]);

export function isKind(text: string): text is Kind {
  return KINDS.has(text);
}

export function isNumeric(kind: Kind): boolean {
  return kind === "int" || kind === "uint" || kind === "double";
}

/** Whether values of the two can ever be equal. */
export function comparable(a: Kind, b: Kind): boolean {
  if (a === "any" || b === "any" || a === b) return true;
  return isNumeric(a) && isNumeric(b);
}
