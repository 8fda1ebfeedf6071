// The caller of a request that is under way, as of now.

import type { Caller } from "@holdfast/shared/endpoint/request";
import type { Clock } from "@holdfast/shared/world";
import { attestedCaller } from "./attested.ts";
import { reaches } from "./need.ts";
import type { RequestState } from "./request-state.ts";
import type { NamespaceTree, NodeState, SharedElsewhere, TokenLookup } from "./seams.ts";

interface Sources {
  readonly tokens: Pick<TokenLookup, "find" | "underWay">;
  readonly namespaces: Pick<NamespaceTree, "named">;
  readonly clock: Pick<Clock, "now">;
  readonly elsewhere?: Pick<SharedElsewhere, "isStale" | "lacksRoom">;
}

/** Null where it was revoked, has run out or is good elsewhere only. The use that a counted token has taken for this
 *  request stays taken, so that one with none left is found by its record. */
export function callerAgain(
  { incoming, namespace, caller }: RequestState,
  { tokens, namespaces, clock, elsewhere }: Sources,
): Caller | null {
  if (namespace === null) return null;
  const attested = incoming.forwarded?.attested ?? null;
  if (attested !== null) {
    const still = attestedCaller(attested, namespaces, clock.now());
    if (still === null || !reaches(still, namespace)) return null;
    return caller ?? still; // nobody here changes who it is
  }
  if (incoming.credential === null) return null;
  const counted = caller?.counted === true && caller.wrapping === undefined;
  const now = counted
    ? counting(caller, tokens.underWay(caller))
    : tokens.find(incoming.credential);
  if (now === null || !reaches(now, namespace)) return null;
  if (now.global && elsewhere !== undefined && (elsewhere.isStale || elsewhere.lacksRoom))
    return null;
  return (now.boundTo?.has(incoming.remote.address) ?? true) ? now : null;
}

/** Whether there is anything to look at again: nearly always there is nothing. */
export function mayHaveChanged(
  { caller }: RequestState,
  { node, asOf, now }: { readonly node: NodeState; readonly asOf: bigint; now: () => bigint },
): boolean {
  // A change of role writes nothing that has an index.
  if (node.sealed || node.drSecondary || node.changing === true) return true;
  if (node.index !== asOf) return true;
  return caller !== null && caller.expires !== null && caller.expires <= now();
}

/** Programs see the number of uses that there were when the request came, this one included. */
function counting({ terms }: Caller, now: Caller | null): Caller | null {
  if (now?.terms === undefined || terms === undefined) return now;
  return { ...now, terms: { ...now.terms, usesLeft: terms.usesLeft } };
}
