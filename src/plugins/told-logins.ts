// What a plugin says of somebody whom it lets in, before a token is made of it: nothing that a role of ours could not say. What
// is wrong with it is the plugin's fault, and not that of whoever logs in.

import { ACCEPTED_NAMES, policyName } from "@holdfast/shared/text/policy-name";
import { AddressRanges } from "@holdfast/shared/text/address-ranges";
import { MAX_POLICIES, MAX_RANGES, MAX_USES } from "@holdfast/plugin-sdk/login-terms";
import type { Nanos } from "@holdfast/shared/world";
import type { WireAuth } from "@holdfast/plugin-sdk/wire/backend-messages";

/** Of metadata, notes and what it wants back at a renewal, together: all of it lies in the token's record. */
const MAX_KEPT = 128 * 1024;
const MAX_IDENTITY = 4096;
/** By their numbers on the wire: as the mount says, one that is kept, and that of the mount unless it says otherwise. */
const KEPT_KINDS: ReadonlySet<number> = new Set([0, 1, 3]);

/** Why it is refused; null: a token can be made of it. `beside`: texts that are kept with it. */
export function loginProblem(auth: WireAuth, beside: readonly string[] = []): string | null {
  return (
    timesProblem(timesOf(auth)) ??
    usesProblem(auth) ??
    kindProblem(auth) ??
    policiesProblem(auth) ??
    rangesProblem(auth) ??
    sizeProblem(auth, beside)
  );
}

/** Of a login or of its renewal: what is not said is 0. How much is too much is the mount's to say. */
export function timesProblem(times: Times): string | null {
  const below = Object.entries(NAMES).find(([name]) => times[name as keyof Times] < 0n);
  return below === undefined ? null : `with ${below[1]} below zero`;
}

const NAMES = {
  ttl: "a lifetime",
  maxTtl: "a longest lifetime",
  period: "a period",
  explicitMaxTtl: "an explicit longest lifetime",
} as const;

type Times = Readonly<Record<keyof typeof NAMES, Nanos>>;

function timesOf({ leaseOptions, period, explicitMaxTtl }: WireAuth): Times {
  const { ttl = 0n, maxTtl = 0n } = leaseOptions ?? {};
  return { ttl, maxTtl, period, explicitMaxTtl };
}

function usesProblem({ numUses }: WireAuth): string | null {
  if (numUses >= 0n && numUses <= BigInt(MAX_USES)) return null;
  return `with a number of uses that is not from 0 to ${MAX_USES}`;
}

function kindProblem({ tokenType }: WireAuth): string | null {
  if (KEPT_KINDS.has(tokenType)) return null;
  return "with a batch token or one of an unknown kind (token_type), and there are service tokens alone";
}

function policiesProblem({ policies, tokenPolicies, noDefaultPolicy }: WireAuth): string | null {
  const names = new Set([...policies, ...tokenPolicies]);
  if (names.size > MAX_POLICIES) return `with more than ${MAX_POLICIES} policies`;
  const folded = new Set([...names].map(policyName));
  if (folded.has(null)) return `with what is no name of a policy: accepted are ${ACCEPTED_NAMES}`;
  if (folded.has("root")) return 'with the policy "root", which no login gives';
  return noDefaultPolicy && folded.size === 0 ? "with a token of no policy at all" : null;
}

/** One that cannot be read would be good from nowhere. */
function rangesProblem({ boundCidrs }: WireAuth): string | null {
  if (boundCidrs.length > MAX_RANGES) return `with more than ${MAX_RANGES} address ranges`;
  if (AddressRanges.read(boundCidrs) !== null) return null;
  return "with an address range (bound_cidrs) that is none";
}

function sizeProblem(
  { metadata, alias, displayName }: WireAuth,
  beside: readonly string[],
): string | null {
  const identity = alias?.name ?? displayName;
  if (Buffer.byteLength(identity) > MAX_IDENTITY) {
    return `with a name of more than ${MAX_IDENTITY} bytes`;
  }
  const texts = [...metadata].flat().concat(beside);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return bytes > MAX_KEPT ? `with more than ${MAX_KEPT} bytes to be kept with its token` : null;
}
