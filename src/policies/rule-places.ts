// Warnings about rules whose path leads nowhere: no mount is there, or no such
// path in the mount. Policies may be written before what they are about, so it is never more than that.

import type { Sliced } from "@holdfast/shared/sliced";
import type { AclRule } from "../acl/rule.ts";
import { showName } from "../document/document-failure.ts";

const MAX_WARNINGS = 100; // an answer is read by people

/** What is mounted, as far as rules are concerned. */
export interface RulePlaces {
  /** Of a path in the namespace, whose segments so far are known. Null: nothing is wrong with it. */
  problemOf(namespaceId: string, segments: readonly string[]): string | null;
  /** A path as requests for it are judged: names without case in small letters. Wildcards may stand in it. */
  spellingOf(namespaceId: string, segments: readonly string[]): readonly string[];
}

export function* placeWarnings(
  rules: readonly AclRule[],
  namespaceId: string,
  places: RulePlaces,
): Sliced<string[]> {
  const warnings: string[] = [];
  for (const rule of rules) {
    yield; // a look at what is mounted is dearer than most
    const problem =
      spellingProblem(rule.label, namespaceId, places) ??
      places.problemOf(namespaceId, knownSegments(rule));
    if (problem === null) continue;
    warnings.push(`path ${showName(rule.label)} on line ${rule.position.line}: ${problem}`);
    if (warnings.length >= MAX_WARNINGS) break;
  }
  return warnings;
}

/** What no request can match, since its capitals are small ones by the time anybody decides. */
export function spellingProblem(
  path: string,
  namespaceId: string,
  places: Pick<RulePlaces, "spellingOf">,
): string | null {
  if (!/[A-Z]/.test(path) || path.includes("//")) return null;
  const segments = path.replace(/^\//, "").split("/");
  const folder = segments.at(-1) === "" ? segments.pop() : undefined;
  const spelt = places.spellingOf(namespaceId, segments);
  if (spelt.every((segment, i) => segment === segments[i])) return null;
  const meant = showName(`${spelt.join("/")}${folder === undefined ? "" : "/"}`);
  return `names there have no capitals, so no request matches it; write ${meant}`;
}

/** Whole segments before the first wildcard or directive; of an exact path all of them. */
function knownSegments({ pattern, template, label }: AclRule): string[] {
  const text = pattern === null ? (template?.[0] ?? "") : pattern.text.slice(0, pattern.first);
  const whole = pattern?.kind === "exact";
  const segments = (text.startsWith("/") ? text.slice(1) : text).split("/");
  if (!whole) segments.pop(); // it may go on, or is empty
  return label.includes("//") ? [] : segments.filter((segment) => segment !== "");
}
