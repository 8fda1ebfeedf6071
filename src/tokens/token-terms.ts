// What a token made through `auth/token` has beside the record of the ACL API: the token that made it, what
// was noted, and how its life is bounded. Kept inside the token's record; tokens of /acl/ have none.

import { isCount, isObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { WrapForm } from "@holdfast/shared/endpoint/request";
import { isTexts } from "./origin.ts";
import type { Token } from "./token.ts";
import type { TokenPlace } from "./rows/token-keys.ts";

export interface TokenTerms {
  /** Ends with it, unless it was let go since; null: made without one. */
  readonly parent: TokenPlace | null;
  /** As shown; what of it can be trusted is in the origin. */
  readonly meta: Readonly<Record<string, string>>;
  /** The built-in default policy does not count for it. */
  readonly withoutDefault: boolean;
  /** The longest life that its maker allowed, from its creation; null: the server's. */
  readonly longest: Nanos | null;
  /** What each renewal gives; null: what is asked for. */
  readonly period: Nanos | null;
  /** Null: as many as one likes. At 0 it lets nobody in. */
  readonly usesLeft: number | null;
  /** Holds an answer for whoever unwraps it. Default: it is a token like others. */
  readonly wrapping?: WrapForm | undefined;
  /** Where it was made: "auth/people/login/ada", "auth/token/create". Older records have it of logins and
   *  wrappings alone. */
  readonly path?: string | undefined;
  /** Addresses and ranges that it is good from. Default: anywhere. */
  readonly boundTo?: readonly string[] | undefined;
}

/** Where a token was made. */
export function pathOf({ type, terms }: Pick<Token, "type" | "terms">): string {
  if (terms !== undefined) {
    if (terms.path !== undefined) return terms.path;
    return terms.parent === null ? "auth/token/create-orphan" : "auth/token/create";
  }
  return type === "management" ? "auth/token/root" : "acl/token";
}

export interface StoredTerms extends Omit<TokenTerms, "longest" | "period"> {
  readonly longest: string | null;
  readonly period: string | null;
}

export function storedTerms(terms: TokenTerms): StoredTerms {
  return { ...terms, longest: textOf(terms.longest), period: textOf(terms.period) };
}

/** Undefined when it is nothing that this server writes. */
export function readTerms(stored: unknown): TokenTerms | undefined {
  if (!isObject(stored)) return undefined;
  const { parent, meta, withoutDefault, usesLeft, path, boundTo, wrapping } = stored;
  const longest = nanosOf(stored["longest"]);
  const period = nanosOf(stored["period"]);
  if (typeof withoutDefault !== "boolean" || !(parent === null || isPlace(parent)))
    return undefined;
  if (!isTexts(meta) || longest === undefined || period === undefined) return undefined;
  if (!(usesLeft === null || isCount(usesLeft))) return undefined;
  if (!(path === undefined || typeof path === "string")) return undefined;
  if (!(boundTo === undefined || isList(boundTo))) return undefined;
  if (!(wrapping === undefined || isForm(wrapping))) return undefined;
  const rest = {
    ...(wrapping === undefined ? {} : { wrapping }),
    ...(path === undefined ? {} : { path }),
    ...(boundTo === undefined ? {} : { boundTo }),
  };
  return { parent, meta, withoutDefault, longest, period, usesLeft, ...rest };
}

function textOf(nanos: Nanos | null): string | null {
  return nanos === null ? null : String(nanos);
}

function nanosOf(value: unknown): Nanos | null | undefined {
  if (value === null) return null;
  return typeof value === "string" && /^\d{1,20}$/.test(value) ? BigInt(value) : undefined;
}

function isPlace(value: unknown): value is TokenPlace {
  if (!isObject(value)) return false;
  const { namespaceId, accessor, global } = value;
  return (
    typeof namespaceId === "string" && typeof accessor === "string" && typeof global === "boolean"
  );
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function isForm(value: unknown): value is WrapForm {
  return value === "token" || value === "jwt";
}
