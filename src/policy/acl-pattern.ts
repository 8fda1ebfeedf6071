// The label of a rule as a pattern: which of three kinds it is, and which of two is the weaker when
// both match one path. Comparison is by characters and by case.

export interface Pattern {
  /** "exact": the path itself. "prefix": whatever begins with the text. "segments": `+` for one each. */
  readonly kind: "exact" | "prefix" | "segments";
  /** Without the star at the end. */
  readonly text: string;
  /** Whether it ends in a star: always for "prefix", never for "exact". */
  readonly star: boolean;
  /** Where the first wildcard stands. The text before it is literal. */
  readonly first: number;
  /** How many segments are `+`. */
  readonly pluses: number;
  /** Equal for patterns of equal meaning: rules with one key merge. */
  readonly key: string;
}

/** A slash at the front of a label does not count. */
export function patternOf(given: string): Pattern {
  const label = given.startsWith("/") ? given.slice(1) : given;
  const star = label.endsWith("*");
  const text = star ? label.slice(0, -1) : label;
  if (label === "+" || label.startsWith("+/") || label.includes("/+")) {
    const pluses = text.split("/").filter((segment) => segment === "+").length;
    return patternWith({ kind: "segments", text, star, first: text.indexOf("+"), pluses });
  }
  const kind = star ? "prefix" : "exact";
  return patternWith({ kind, text, star, first: text.length, pluses: 0 });
}

function patternWith(parts: Omit<Pattern, "key">): Pattern {
  return { ...parts, key: `${parts.kind}${parts.star ? "*" : " "}${parts.text}` };
}

/** Of two different patterns that match one path, whether the first is the weaker. Exact ones are
 *  not compared: they decide before any pattern. */
export function isWeaker(a: Pattern, b: Pattern): boolean {
  if (a.first !== b.first) return a.first < b.first;
  if (a.star !== b.star) return a.star;
  if (a.pluses !== b.pluses) return a.pluses > b.pluses;
  if (a.text.length !== b.text.length) return a.text.length < b.text.length;
  return a.text < b.text;
}

/**
 * The pattern as a child namespace sees it, or null if it does not reach there: its literal text must
 * lead into the child. A pattern such as `+/secret/*` was written without the child in mind.
 */
export function patternInside(pattern: Pattern, child: string): Pattern | null {
  const lead = `${child}/`;
  if (!pattern.text.slice(0, pattern.first).startsWith(lead)) return null;
  const first = pattern.first - lead.length;
  return patternWith({ ...pattern, text: pattern.text.slice(lead.length), first });
}
