// What was seen of the primary when it was last called: whoever takes over without it has to know whether it is gone, or only
// does not answer as a primary. Pure.

import type { PromotionFacts } from "./checks.ts";

/** `none`: nobody is followed. */
export const SIGHTS = [
  "demoted",
  "connected",
  "refuses",
  "sealed",
  "other",
  "nobody",
  "none",
] as const;

export interface PrimarySeen {
  readonly seen: (typeof SIGHTS)[number];
  /** In words. */
  readonly text: string;
}

export type SeenFacts = Pick<
  PromotionFacts,
  | "applied"
  | "final"
  | "silentFor"
  | "refusal"
  | "hasPrimary"
  | "superseded"
  | "sighting"
  | "places"
>;

export function primarySeen(facts: SeenFacts): PrimarySeen {
  const { applied, final, silentFor, refusal, hasPrimary, superseded } = facts;
  const { sighting = null, places = [] } = facts;
  if (final !== null && applied >= final && !superseded) {
    return { seen: "demoted", text: "it was demoted, and all that it wrote is here" };
  }
  if (!hasPrimary || superseded) return { seen: "none", text: "it is not followed any more" };
  if (silentFor === null) return { seen: "connected", text: "it is alive and connected" };
  if (refusal !== null) return { seen: "refuses", text: refusal };
  if (sighting === null) {
    const where = places.length === 0 ? "" : ` at ${places.join(" and ")}`;
    return { seen: "nobody", text: `nobody answers${where}` };
  }
  const { kind, address, text } = sighting;
  return kind === "sealed"
    ? {
        seen: kind,
        text: `a server is there and sealed, at ${address}: where it is the primary, it leads on once it is unsealed`,
      }
    : { seen: kind, text: `something else answers at ${address}: ${text}` };
}

/** What follows from that for whoever takes over. */
export function silenceWarnings(facts: SeenFacts): string[] {
  const { seen, text } = primarySeen(facts);
  switch (seen) {
    case "sealed":
      return [
        `the primary is perhaps not gone: ${text}, and writes until it hears of this cluster. Keep it sealed, or stop it; where it can be ` +
          "unsealed and is to stay the primary, do that instead",
      ];
    case "other":
      return [
        `the primary was not heard of, and is perhaps not gone: ${text}. Look what runs there, and that nobody writes to the primary any more`,
      ];
    case "nobody":
      return [
        `the primary was not heard of: ${text}. Where it still runs, it writes until it hears of this cluster: stop it, or cut it off`,
      ];
    case "demoted":
    case "connected":
    case "refuses":
    case "none":
      return [];
  }
}
