// Who is behind a token (see Origin): kept in its record, found for records that say nothing of it, and
// the one name that no other mount gives to anybody (T-B27).

import type { Caller, Origin } from "@holdfast/shared/endpoint/request";
import type { Token } from "./token.ts";

/** Nobody has vouched for anything. */
const UNKNOWN: Omit<Origin, "namespaceId"> = { mount: null, login: "", name: "", metadata: {} };

/** Tokens of /acl/ are made by management, whose word on the name counts. Of one that was made otherwise
 *  and does not say, nothing is known. */
export function originOf({ origin, terms, namespaceId, name }: Token): Origin {
  if (origin !== undefined) return origin;
  return { ...UNKNOWN, namespaceId, ...(terms === undefined ? { name } : {}) };
}

/** What a caller without the right to say who its child is hands on to it. */
export function inherited({ origin, namespace, accessor }: Caller): Origin {
  const own = origin ?? { ...UNKNOWN, namespaceId: namespace.id };
  return own.mount === null ? { ...own, first: own.first ?? accessor } : own;
}

/**
 * Of a method and whom it has let in. Slash and dash of the method are escaped, so that the first bare dash
 * ends it: `corp-admin` with `alice` is corp~-admin-alice, and `corp` with `admin-alice` is
 * corp-admin-alice. It is never cut, since two that are cut may be equal.
 */
export function provedName(mountPath: string, identity: string): string {
  const method = mountPath.replace(/^auth\//, "").replace(/\/$/, "");
  const escaped = method.replaceAll(/[~-]/g, "~$&").replaceAll("/", "~.");
  return identity === "" ? escaped : `${escaped}-${identity}`;
}

/** Undefined when it is nothing that this server writes. */
export function readOrigin(stored: unknown): Origin | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { namespaceId, mount, login, name, metadata, owner, first } = stored as Record<
    string,
    unknown
  >;
  if (typeof namespaceId !== "string" || typeof login !== "string" || typeof name !== "string") {
    return undefined;
  }
  if (!(mount === null || typeof mount === "string") || !isTexts(metadata)) return undefined;
  if (!(owner === undefined || isTexts(owner))) return undefined;
  if (!(first === undefined || typeof first === "string")) return undefined;
  return {
    namespaceId,
    mount,
    login,
    name,
    metadata,
    ...(owner === undefined ? {} : { owner }),
    ...(first === undefined ? {} : { first }),
  };
}

export function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
