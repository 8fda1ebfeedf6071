// Ids of leases: `<request path>/<24 base62>[.<namespace id>]`. The path is a
// prefix, so leases lie in folders like what they were asked for; the namespace is told by the id
// itself, so that an id of another namespace is refused without a look at whether there is such a
// lease (T-D02).

import type { Random } from "@holdfast/shared/world";
import { drawBelow } from "../../crypto/uniform.ts";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import * as failures from "../failures.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 24; // 142 bits
const LAST_PART = /^[0-9A-Za-z]{24}(?:\.([0-9A-Za-z]{1,64}))?$/;
// A request's path has at most 1,024 bytes.
const MAX_ID = 2048;

export function newLeaseId(random: Random, path: string, namespaceId: string): string {
  let name = "";
  while (name.length < LENGTH) name += ALPHABET[drawBelow(random, ALPHABET.length)];
  return namespaceId === ROOT_NAMESPACE.id ? `${path}/${name}` : `${path}/${name}.${namespaceId}`;
}

/** Whether it could be the id of a lease of this namespace. Refuses one of another. */
export function isLeaseIdOf(namespace: NamespaceRef, id: string): boolean {
  const named = namespaceOf(id);
  if (named === null) return false;
  if (named !== namespace.id) throw failures.otherNamespace();
  return true;
}

/** The same, where nobody is to be told which of the two it is. */
export function isLeaseIdIn(namespaceId: string, id: string): boolean {
  return namespaceOf(id) === namespaceId;
}

/** Null for what is no id. */
function namespaceOf(id: string): string | null {
  if (id.length > MAX_ID || !isKeyText(id)) return null;
  const found = LAST_PART.exec(id.slice(id.lastIndexOf("/") + 1));
  if (found === null || !id.includes("/")) return null;
  return found[1] ?? ROOT_NAMESPACE.id;
}

/** Whether text of a caller can be part of a storage key. */
export function isKeyText(text: string): boolean {
  if (text === "" || text.startsWith("/") || text.endsWith("/") || text.includes("//"))
    return false;
  // oxlint-disable-next-line no-control-regex -- refusing them is the point
  return text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text);
}
