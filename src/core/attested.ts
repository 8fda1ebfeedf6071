// Whoever another cluster vouches for: a caller with the policies of that name here, and no token.

import type { Caller } from "@holdfast/shared/endpoint/request";
import type { Instant } from "@holdfast/shared/world";
import { policyName } from "@holdfast/shared/text/policy-name";
import type { AttestedCaller, ForwardedFrom } from "./incoming.ts";
import type { NamespaceTree } from "./seams.ts";

/** Null where it has run out, and where its namespace is not here. */
export function attestedCaller(
  { namespace, ...attested }: AttestedCaller,
  namespaces: Pick<NamespaceTree, "named">,
  now: Instant,
): Caller | null {
  if (attested.expires !== null && attested.expires <= now) return null;
  const found = namespaces.named(namespace.path);
  if (found === null || found.id !== namespace.id) return null;
  return { ...attested, type: "client", global: false, namespace: found };
}

/** Whether the cluster that has sent it on may vouch for all that it claims. Without some of its policies a caller could do more: they may
 *  deny. */
export function mayVouch(forwarded: ForwardedFrom | null): boolean {
  const { attested = null, attests = null } = forwarded ?? {};
  if (attested === null || attests === null) return true;
  return attested.policies.every((policy) => attests.includes(policyName(policy) ?? policy));
}
