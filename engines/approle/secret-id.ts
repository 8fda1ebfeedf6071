// A secret id as it is kept: everything but the secret, which only its holder has.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { wire } from "@holdfast/shared/endpoint/wire";
import { keptTime, readRanges, storedTime } from "@holdfast/plugin-sdk/login-terms";
import * as failures from "./failures.ts";
import type { Role } from "./role.ts";

export interface SecretId {
  readonly accessor: string;
  readonly created: Instant;
  /** When a use was taken last; else when it was made. */
  readonly updated: Instant;
  /** Null: never. */
  readonly expires: Instant | null;
  readonly ttl: Nanos | null;
  /** Null: as many as one likes. The last one takes the record with it. */
  readonly usesLeft: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether policies may build on the metadata: somebody with sudo has written it. Absent: no. */
  readonly vouched?: boolean;
  /** Where it may be used; empty: wherever the role may. */
  readonly ranges: readonly string[];
  /** Where its tokens are good; empty: as the role says. */
  readonly tokenRanges: readonly string[];
}

/** What is asked for when one is made. */
export interface SecretIdTerms {
  readonly metadata?: JsonValue | undefined;
  /** Default false. */
  readonly vouched?: boolean | undefined;
  readonly ranges?: readonly string[] | undefined;
  readonly tokenRanges?: readonly string[] | undefined;
  readonly uses?: number | undefined;
  readonly ttl?: Nanos | undefined;
}

/** Never more than the role grants. */
export function newSecretId(
  role: Role,
  terms: SecretIdTerms,
  { accessor, now }: { readonly accessor: string; readonly now: Instant },
): SecretId {
  const uses = terms.uses ?? role.secretIdUses;
  if (role.secretIdUses > 0 && (uses === 0 || uses > role.secretIdUses)) {
    throw failures.aboveRole("num_uses", "secret_id_num_uses");
  }
  const ttl = terms.ttl === undefined ? role.secretIdTtl : terms.ttl || null;
  if (role.secretIdTtl !== null && (ttl === null || ttl > role.secretIdTtl)) {
    throw failures.aboveRole("ttl", "secret_id_ttl");
  }
  return {
    accessor,
    created: now,
    updated: now,
    expires: ttl === null ? null : now + ttl,
    ttl,
    usesLeft: uses === 0 ? null : uses,
    metadata: metadataOf(terms.metadata),
    vouched: terms.vouched ?? false,
    ranges: within("cidr_list", terms.ranges, "secret_id_bound_cidrs", role.secretIdRanges),
    tokenRanges: within(
      "token_bound_cidrs",
      terms.tokenRanges,
      "token_bound_cidrs",
      role.terms.boundTo,
    ),
  };
}

function within(
  field: string,
  wanted: readonly string[] = [],
  of: string,
  bounds: readonly string[],
): readonly string[] {
  const ranges = readRanges(wanted, field);
  if (bounds.length > 0 && !readRanges(bounds, of).covers(ranges)) {
    throw failures.outsideRole(field, of);
  }
  return ranges.texts;
}

const texts = wire.body("metadata").texts("Noted on tokens.");

function metadataOf(value: JsonValue | undefined): Readonly<Record<string, string>> {
  if (value === undefined || value === "") return {};
  // The text of JSON has been read by the field.
  if (!isObject(value)) throw failures.metadataInvalid();
  try {
    return texts.read(value);
  } catch (error) {
    throw error instanceof Failure ? error : failures.metadataInvalid();
  }
}

interface Stored extends Omit<SecretId, "created" | "updated" | "expires" | "ttl"> {
  readonly created: string;
  readonly updated: string;
  readonly expires: string | null;
  readonly ttl: string | null;
}

export const secretIdCodec: Codec<SecretId> = {
  encode: (secret) => {
    const stored: Stored = {
      ...secret,
      created: String(secret.created),
      updated: String(secret.updated),
      expires: storedTime(secret.expires),
      ttl: storedTime(secret.ttl),
    };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const stored = JSON.parse(text(bytes)) as Stored;
    return {
      ...stored,
      created: BigInt(stored.created),
      updated: BigInt(stored.updated),
      expires: keptTime(stored.expires),
      ttl: keptTime(stored.ttl),
    };
  },
};
