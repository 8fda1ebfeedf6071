// Which notation a policy document is written in, by its beginning, for tools that are given a file and
// not told its kind. A server never guesses: there the kind is part of the path.

/** "hcl": an ACL document. "rules" and "expression": of an RGP or EGP. "json" may be of any kind. */
export type PolicyNotation = "hcl" | "json" | "rules" | "expression";

const BLANKS_AND_COMMENTS = /(?:[\s\ufeff]|#[^\n]*|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const RULES = /(?:rule\s+[A-Za-z_]|main\s*(?:\{|when\b)|test\s*")/y;
// A key, then what makes it a block or an attribute. `==` and a call are an expression's.
const HCL = /(?:[A-Za-z_][\w.-]*|"[^"\n]*")\s*(?:"|\{|=(?!=))/y;

export function notationOf(text: string): PolicyNotation {
  BLANKS_AND_COMMENTS.lastIndex = 0;
  BLANKS_AND_COMMENTS.test(text);
  const start = BLANKS_AND_COMMENTS.lastIndex;
  if (start === text.length) return "hcl"; // nothing at all; that is no expression
  if (text[start] === "{") return "json";
  for (const [notation, pattern] of [
    ["rules", RULES],
    ["hcl", HCL],
  ] as const) {
    pattern.lastIndex = start;
    if (pattern.test(text)) return notation;
  }
  return "expression";
}

/** A JSON document with an expression is a program, one with paths an ACL document. */
export function isProgramJson(text: string): boolean {
  return /"expression"\s*:/.test(text) && !/"path"\s*:\s*[[{]/.test(text);
}
