// Whoever another cluster vouches for: a caller with the policies of that name here, and no token.

import type { Caller } from "@holdfast/shared/endpoint/request";
import type { Instant } from "@holdfast/shared/world";
import type { AttestedCaller } from "./incoming.ts";
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
