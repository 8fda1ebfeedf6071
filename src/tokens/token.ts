// A token as it is kept. Its secret is in the record once, behind the barrier, because the API
// returns it on reads; it is found by its salted hash alone.

import { hash } from "node:crypto";
import { text as textOf, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { Secret } from "@holdfast/shared/secret";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Origin } from "@holdfast/shared/endpoint/request";
import { recordUnusable } from "./failures.ts";
import { readOrigin } from "./origin.ts";
import { readTerms, type StoredTerms, storedTerms, type TokenTerms } from "./token-terms.ts";

export type TokenType = "client" | "management";

export interface Token {
  readonly accessor: string;
  readonly secret: Secret<string>;
  readonly name: string;
  readonly type: TokenType;
  /** Folded names, in the order given; none for management. */
  readonly policies: readonly string[];
  /** Replicated to all clusters; never changes. */
  readonly global: boolean;
  readonly namespaceId: string;
  readonly created: Instant;
  readonly expires: Instant | null;
  /** As it was asked for; what counts is `expires`. */
  readonly ttl: Nanos | null;
  /** Made through `auth/token`: its time can be prolonged there. */
  readonly renewable: boolean;
  /** Of those made through `auth/token`, and of no others. */
  readonly terms?: TokenTerms | undefined;
  /** Who is behind it. Default: what its kind says, see origin.ts. */
  readonly origin?: Origin | undefined;
  /** Of this cluster. */
  readonly createIndex: bigint;
  readonly modifyIndex: bigint;
  /** Those of its record, where another cluster has written it: see own-indexes.ts. */
  readonly written?: Indexes | undefined;
  /** The region whose copy it is, where this cluster has left the set that it was global in: nobody there revokes it here. */
  readonly keptFrom?: string | undefined;
}

export interface Indexes {
  readonly create: bigint;
  readonly modify: bigint;
}

// What other programs put in the place of a secret that they hide. One that came back by way of an
// export or a replica must never let anybody in (T-B01).
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  "<hidden>",
  "<redacted>",
  "<sensitive>",
  "hidden",
  "redacted",
  "[secret]",
  "null",
  "undefined",
  "00000000-0000-0000-0000-000000000000",
]);
const MAX_SECRET = 8192;

export function isUsableSecret(secret: string): boolean {
  if (secret.length === 0 || secret.length > MAX_SECRET) return false;
  return secret.isWellFormed() && !PLACEHOLDERS.has(secret.trim().toLowerCase());
}

interface Stored {
  readonly accessor: string;
  readonly secret: string;
  readonly name: string;
  readonly type: TokenType;
  readonly policies: readonly string[];
  readonly global: boolean;
  readonly namespaceId: string;
  readonly created: string;
  readonly expires: string | null;
  readonly ttl: string | null;
  readonly renewable?: boolean; // absent in the oldest records: false
  readonly terms?: StoredTerms | undefined;
  readonly origin?: Origin | undefined;
  readonly createIndex: string;
  readonly modifyIndex: string;
}

const show = (value: bigint | null) => (value === null ? null : String(value));
const read = (value: string | null) => (value === null ? null : BigInt(value));

export const tokenCodec: Codec<Token> = {
  encode: ({ written, ...token }) => {
    const stored: Stored = {
      ...token,
      secret: token.secret.reveal(),
      created: String(token.created), // nanoseconds: JSON has no integers of this size
      expires: show(token.expires),
      ttl: show(token.ttl),
      terms: token.terms === undefined ? undefined : storedTerms(token.terms),
      createIndex: String(written?.create ?? token.createIndex),
      modifyIndex: String(written?.modify ?? token.modifyIndex),
    };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const stored = parsed(bytes);
    // An identity that is half understood must count for nothing, not for more (T-B03).
    if (!isStored(stored)) throw recordUnusable();
    const terms = stored.terms === undefined ? undefined : readTerms(stored.terms);
    if (stored.terms !== undefined && terms === undefined) throw recordUnusable();
    const origin = stored.origin === undefined ? undefined : readOrigin(stored.origin);
    if (stored.origin !== undefined && origin === undefined) throw recordUnusable();
    return {
      accessor: stored.accessor,
      secret: new Secret(stored.secret),
      name: stored.name,
      type: stored.type,
      policies: stored.policies,
      global: stored.global,
      namespaceId: stored.namespaceId,
      created: BigInt(stored.created),
      expires: read(stored.expires),
      ttl: read(stored.ttl),
      renewable: stored.renewable ?? false,
      ...(terms === undefined ? {} : { terms }),
      ...(origin === undefined ? {} : { origin }),
      createIndex: BigInt(stored.createIndex),
      modifyIndex: BigInt(stored.modifyIndex),
    };
  },
};

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    throw recordUnusable(); // the parser's own error would quote what it read
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { accessor, secret, name, type, policies, global, namespaceId, ...rest } = value as Partial<
    Record<keyof Stored, unknown>
  >;
  const texts = [accessor, secret, name, namespaceId];
  if (!texts.every((text) => typeof text === "string") || typeof global !== "boolean") return false;
  if (rest.renewable !== undefined && typeof rest.renewable !== "boolean") return false;
  if (type !== "client" && type !== "management") return false;
  if (!Array.isArray(policies) || !policies.every((policy) => typeof policy === "string")) {
    return false;
  }
  const { created, createIndex, modifyIndex, expires = null, ttl = null } = rest;
  const known = [created, createIndex, modifyIndex].every(isWhole);
  const open = [expires, ttl].every((number) => number === null || isWhole(number));
  return known && open && typeof secret === "string" && isUsableSecret(secret);
}

function isWhole(value: unknown): boolean {
  return typeof value === "string" && /^-?\d{1,20}$/.test(value);
}

/** Covers what can be changed, `Global` and the expiry; each part with its length, so that no two
 *  lists of policies run together. Base64 of 32 bytes. */
export function contentHash(token: Token): string {
  const { name, type, policies, global, expires } = token;
  const parts = [name, type, String(policies.length), ...policies, global ? "global" : "local"];
  let whole = "";
  for (const part of [...parts, show(expires) ?? ""]) {
    whole += `${Buffer.byteLength(part)}:${part}`;
  }
  return hash("sha256", whole, "base64");
}
