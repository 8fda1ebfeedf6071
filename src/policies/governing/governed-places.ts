// Warnings about the paths of EGPs that no request meets: nothing is there, or nothing that an EGP is
// asked about. A policy may be written before what it is about, so it is never more than that; but
// somebody who thinks a path is guarded should know that it is not.

import { showName } from "../../document/document-failure.ts";
import { readEgpPaths, showEgpPath } from "./egp-paths.ts";
import { type RulePlaces, spellingProblem } from "../rule-places.ts";

const MAX_WARNINGS = 100; // an answer is read by people

/** What there is to be governed. */
export interface GovernedPlaces extends Pick<RulePlaces, "spellingOf"> {
  /** Of a path in the namespace. `whole`: these are all its segments, and not those before a star. Null:
   *  nothing is wrong with it. */
  ungoverned(namespaceId: string, segments: readonly string[], whole: boolean): string | null;
}

export function egpWarnings(
  texts: readonly string[],
  namespaceId: string,
  places: GovernedPlaces,
): string[] {
  const warnings: string[] = [];
  for (const egp of readEgpPaths(texts)) {
    const segments = egp.path.split("/");
    // It may go on, or is empty where the path is that of a list.
    if (egp.glob || segments.at(-1) === "") segments.pop();
    const display = showEgpPath(egp);
    const problem =
      spellingProblem(display, namespaceId, places) ??
      places.ungoverned(namespaceId, segments, !egp.glob);
    if (problem !== null) warnings.push(`path ${showName(display)}: ${problem}`);
    if (warnings.length >= MAX_WARNINGS) break;
  }
  return warnings;
}
