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
}

/** A slash at the front of a label does not count. */
export function patternOf(path: string): Pattern {
  const label = path.startsWith("/") ? path.slice(1) : path;
  const star = label.endsWith("*");
  const text = star ? label.slice(0, -1) : label;
  if (label === "+" || label.startsWith("+/") || label.includes("/+")) {
    const pluses = text.split("/").filter((segment) => segment === "+").length;
    return { kind: "segments", text, star, first: text.indexOf("+"), pluses };
  }
  const kind = star ? "prefix" : "exact";
  return { kind, text, star, first: text.length, pluses: 0 };
}

/** Equal for patterns of equal meaning: rules with one key merge. */
export function keyOf({ kind, star, text }: Pattern): string {
  return `${kind}${star ? "*" : " "}${text}`;
}

/** As it would be written. */
export function labelOf({ star, text }: Pattern): string {
  return star ? `${text}*` : text;
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

/** Which of these made the first the weaker, for people. */
export function whyWeaker(a: Pattern, b: Pattern): string {
  if (a.first !== b.first) return "its first wildcard stands earlier";
  if (a.star !== b.star) return "it ends in * and the other does not";
  if (a.pluses !== b.pluses) return "it has more + segments";
  return a.text.length === b.text.length ? "it sorts lower" : "it is shorter";
}

/** For rules that stand in no tree. */
export function matches({ kind, star, text }: Pattern, path: string): boolean {
  if (kind === "exact") return path === text;
  if (kind === "prefix") return path.startsWith(text);
  const wanted = text.split("/");
  const segments = path.split("/");
  const tail = star ? wanted.pop() : undefined;
  if (tail === undefined ? segments.length !== wanted.length : segments.length <= wanted.length) {
    return false;
  }
  const same = wanted.every((segment, i) => segment === "+" || segment === segments[i]);
  return same && (segments[wanted.length] ?? "").startsWith(tail ?? "");
}

/**
 * The pattern as a child namespace sees it, or null if it does not reach there: its literal text must
 * lead into the child. A pattern such as `+/secret/*` was written without the child in mind.
 */
export function patternInside(pattern: Pattern, child: string): Pattern | null {
  const lead = `${child}/`;
  if (!pattern.text.slice(0, pattern.first).startsWith(lead)) return null;
  const first = pattern.first - lead.length;
  return { ...pattern, text: pattern.text.slice(lead.length), first };
}
