// What a new token may be. Problems are collected, so that nobody learns of them one by one.

import type { Instant, Nanos } from "../base/world.ts";
import { ACCEPTED_NAMES, policyName } from "../policy/acl-name.ts";
import { tokenInvalid } from "./failures.ts";
import type { TokenType } from "./token.ts";

const MAX_NAME_BYTES = 256;
const MAX_POLICIES = 1024; // decision 31

export interface NewToken {
  /** `client` or `management`, in this spelling only. */
  readonly type: string;
  readonly namespaceId: string;
  /** Default empty. */
  readonly name?: string;
  /** Default none. Names in any case; kept folded, each once. */
  readonly policies?: readonly string[];
  /** Replicated to all clusters. Default false. */
  readonly global?: boolean;
  /** Default never. */
  readonly expires?: Instant | null;
  /** What was asked for where `expires` was worked out from it. */
  readonly ttl?: Nanos | null;
}

export interface CheckedToken {
  readonly type: TokenType;
  readonly name: string;
  readonly policies: readonly string[];
}

export function checkNewToken(given: NewToken, now: Instant): CheckedToken {
  const { type, name = "", policies = [], expires = null } = given;
  const problems: string[] = [];
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) problems.push("token name too long");
  if (type !== "client" && type !== "management") {
    problems.push("token type must be client or management");
  }
  if (type === "client" && policies.length === 0) {
    problems.push("client token missing policies or roles");
  }
  if (type === "management" && policies.length > 0) {
    problems.push("management token cannot be associated with policies or roles");
  }
  if (policies.length > MAX_POLICIES) {
    problems.push(`a token may have at most ${MAX_POLICIES} policies`);
  }
  const folded = new Set<string>();
  for (const policy of policies.slice(0, MAX_POLICIES)) {
    const known = policyName(policy);
    if (known !== null) folded.add(known);
  }
  if (policies.slice(0, MAX_POLICIES).some((policy) => policyName(policy) === null)) {
    problems.push(`invalid policy name: accepted are ${ACCEPTED_NAMES}`);
  }
  // Judged after folding: every spelling of it is the same name (T-B10).
  if (folded.has("root")) problems.push('policy "root" cannot be attached to a client token');
  if (expires !== null && expires < now) {
    problems.push("expiration time cannot be before create time");
  }
  if (problems.length > 0 || (type !== "client" && type !== "management")) {
    throw tokenInvalid(problems);
  }
  return { type, name, policies: [...folded] };
}
