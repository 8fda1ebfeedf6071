// What a token may be, new or changed: its name, type and policies. Problems are collected, so that
// nobody learns of them one by one.

import { ACCEPTED_NAMES, policyName } from "@holdfast/shared/text/policy-name";
import { roleUnknown } from "./failures.ts";
import type { TokenType } from "./token.ts";

const MAX_NAME_BYTES = 256;
const MAX_POLICIES = 1024; // far above what anybody gives a token, and judged at every request

export interface GivenShape {
  /** `client` or `management`, in this spelling only. */
  readonly type: string;
  /** Default empty. */
  readonly name?: string | undefined;
  /** Default none. Names in any case; kept folded, each once. */
  readonly policies?: readonly string[] | undefined;
  /** Names or identifiers. There are none yet, so any is refused. */
  readonly roles?: readonly string[] | undefined;
}

export interface TokenShape {
  readonly type: TokenType;
  readonly name: string;
  readonly policies: readonly string[];
}

/** Adds to `problems`; what is returned counts only if there are none. */
export function checkShape(given: GivenShape, problems: string[]): TokenShape {
  const { type, name = "", policies = [], roles = [] } = given;
  const [role] = roles;
  if (role !== undefined) throw roleUnknown(role);
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) problems.push("token name too long");
  if (!isType(type)) problems.push("token type must be client or management");
  if (type === "client" && policies.length === 0) {
    problems.push("client token missing policies or roles");
  }
  if (type === "management" && policies.length > 0) {
    problems.push("management token cannot be associated with policies or roles");
  }
  if (policies.length > MAX_POLICIES) {
    problems.push(`a token may have at most ${MAX_POLICIES} policies`);
  }
  const folded = policies.slice(0, MAX_POLICIES).map(policyName);
  if (folded.includes(null)) {
    problems.push(`invalid policy name: accepted are ${ACCEPTED_NAMES}`);
  }
  // Judged after folding: every spelling of it is the same name (T-B10).
  if (folded.includes("root")) problems.push('policy "root" cannot be attached to a client token');
  const names = new Set(folded.filter((policy) => policy !== null));
  return { type: isType(type) ? type : "client", name, policies: [...names] };
}

function isType(type: string): type is TokenType {
  return type === "client" || type === "management";
}
