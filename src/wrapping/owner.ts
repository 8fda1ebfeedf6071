// Whose the things are that a token stores.

import { hash } from "node:crypto";
import type { Caller } from "@holdfast/shared/endpoint/request";
import type { Holder } from "./allowance.ts";

/**
 * Who has to make room for what a token stores: everybody who has logged in is one, with however many
 * tokens, and their children. Without a login it is the token that the others come from.
 */
export function ownerOf({
  origin,
  namespace,
  accessor,
}: Pick<Caller, "origin" | "namespace" | "accessor">): Holder {
  if (origin === undefined) return { namespaceId: namespace.id, accessor };
  const { namespaceId, mount, login, name, first } = origin;
  if (mount === null) {
    return first === undefined
      ? { namespaceId: namespace.id, accessor }
      : { namespaceId, accessor: first };
  }
  const who = hash("sha256", JSON.stringify([mount, login, name]), "hex");
  return { namespaceId, accessor: `login-${who}` };
}
