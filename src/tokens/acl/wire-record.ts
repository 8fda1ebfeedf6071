// Tokens as callers of the ACL API see them: the record of 13 members, the stub of lists with 11, the
// one-time token. The secret stands in the record and nowhere else.

import { showDuration } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { contentHash, type Token } from "../token.ts";

const id = out.string("Identifies the token: a UUID in lower case.");
const role = out.object({ ID: out.string("Id of a role."), Name: out.string("Its name.") });

const stubMembers = {
  AccessorID: id,
  Name: out.string("For people; may be empty."),
  Type: out.oneOf(["client", "management"], "What kind of token it is."),
  Policies: out.nullable(
    out.list(out.string("Name of a policy."), "In the order given; null for management."),
  ),
  Roles: out.nullable(out.list(role, "Null: there are no roles.")),
  Global: out.boolean("Replicated to all regions."),
  Hash: out.string("Changes with what can be changed: base64 of 32 bytes."),
  CreateTime: out.time("When it was made."),
  ExpirationTime: out.nullable(out.time("When it ends; null: never.")),
  CreateIndex: out.integer("Index of the write that made it."),
  ModifyIndex: out.integer("Index of the write that changed it last."),
  KeptFrom: out.optional(
    out.string(
      "Of a global token that was kept when this cluster left its set: the region that wrote it, which revokes it here no more. Absent for others.",
    ),
  ),
};

export const stub = out.object(stubMembers);
export const record = out.object({
  ...stubMembers,
  SecretID: out.secret("The credential."),
  ExpirationTTL: out.string("The lifetime that was asked for, such as 8h0m0s; empty without one."),
});
export const oneTimeRecord = out.object({
  OneTimeSecretID: out.secret("To be exchanged, once."),
  AccessorID: id,
  ExpiresAt: out.time("Until when it can be exchanged."),
  CreateIndex: out.integer("Index of the write that made it."),
  ModifyIndex: out.integer("The same."),
});

export type TokenStub = OutputOf<typeof stub>;
export type TokenRecord = OutputOf<typeof record>;

export function stubOf(token: Token): TokenStub {
  return {
    AccessorID: token.accessor,
    Name: token.name,
    Type: token.type,
    Policies: token.type === "management" ? null : token.policies, // none, which is no empty list
    Roles: null,
    Global: token.global,
    Hash: contentHash(token),
    CreateTime: showTime(token.created),
    ExpirationTime: token.expires === null ? null : showTime(token.expires),
    CreateIndex: Number(token.createIndex),
    ModifyIndex: Number(token.modifyIndex),
    ...(token.keptFrom === undefined ? {} : { KeptFrom: token.keptFrom }),
  };
}

export function recordOf(token: Token): TokenRecord {
  return {
    ...stubOf(token),
    // What is wrapped is for whoever was given the wrapping, and for no operator.
    SecretID: token.terms?.wrapping === undefined ? token.secret.reveal() : "",
    ExpirationTTL: token.ttl === null ? "" : showDuration(token.ttl),
  };
}

/** The built-in token of callers without a credential, where it is shown at all. */
export const ANONYMOUS: TokenRecord = {
  AccessorID: "anonymous",
  SecretID: "",
  Name: "Anonymous Token",
  Type: "client",
  Policies: ["anonymous"],
  Roles: null,
  Global: false,
  Hash: "",
  CreateTime: "0001-01-01T00:00:00Z",
  ExpirationTime: null,
  ExpirationTTL: "",
  CreateIndex: 0,
  ModifyIndex: 0,
};

export interface MadeOneTimeToken {
  readonly secret: string;
  readonly accessor: string;
  readonly expires: Instant;
  readonly index: bigint;
}

export function oneTimeRecordOf(made: MadeOneTimeToken): OutputOf<typeof oneTimeRecord> {
  return {
    OneTimeSecretID: made.secret,
    AccessorID: made.accessor,
    ExpiresAt: showTime(made.expires),
    CreateIndex: Number(made.index),
    ModifyIndex: Number(made.index),
  };
}
