// `path_match` and `glob`: the patterns of ACL rules and of their values, for
// programs.

import { patternOf } from "../../acl/pattern.ts";
import type { Meter } from "../running/meter.ts";
import { contains } from "./text-search.ts";

/** Whether the label of an ACL rule would match a path. */
export function matchesPath(rule: string, path: string): boolean {
  const { kind, text, star } = patternOf(rule);
  if (kind === "exact") return path === text;
  if (kind === "prefix") return path.startsWith(text);
  const wanted = text.split("/");
  const segments = path.split("/");
  if (star ? segments.length < wanted.length : segments.length !== wanted.length) return false;
  return wanted.every((segment, i) => {
    const there = segments[i] ?? "";
    if (star && i === wanted.length - 1) return there.startsWith(segment);
    return segment === "+" || segment === there;
  });
}

/** A star at the beginning, at the end, or both; elsewhere it is a character. */
export function matchesGlob(pattern: string, text: string, meter: Meter): boolean {
  if (pattern === "*" || pattern === text) return true;
  const begins = pattern.endsWith("*");
  const ends = pattern.startsWith("*");
  if (begins && ends) return contains(text, pattern.slice(1, -1), meter);
  if (begins) return text.startsWith(pattern.slice(0, -1));
  return ends && text.endsWith(pattern.slice(1));
}
