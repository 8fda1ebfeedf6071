// Refusals on /acl/ in the words that clients of spec 1 match on (acl-tokens.md 1, 2.3, D5, D9): one text
// for whoever may not, and machine words with underscores.

import { Failure, type FailureKind } from "../base/failure.ts";
import type { Passage } from "./passage.ts";
import type { TokenLookup } from "./seams.ts";

const DENIED = "Permission denied";
const WORDS: Partial<Record<FailureKind, string>> = {
  invalid: "invalid_parameter",
  "too-large": "invalid_parameter",
  "media-type": "invalid_parameter",
  unavailable: "no_leader",
  internal: "internal",
  damaged: "internal",
};

export function inAclWords(
  failure: Failure,
  { incoming, endpoint }: Passage,
  { tokens }: { readonly tokens: TokenLookup },
): Failure {
  const { kind, code, message, texts, retryAfter, headers } = failure;
  // Words with underscores are the room's own; a record that failed is told as everywhere.
  if (code.includes("_") || code === "audit-failed") return failure;
  const more = { cause: failure, headers, ...(retryAfter === null ? {} : { retryAfter }) };
  switch (code) {
    case "missing-token":
    case "permission-denied":
      return new Failure("denied", "permission_denied", DENIED, more);
    case "invalid-token": {
      if (incoming.credential === null || !tokens.hasExpired(incoming.credential)) {
        return new Failure("denied", "permission_denied", DENIED, more);
      }
      const text = endpoint?.tellsExpiry === true ? "ACL token expired" : DENIED;
      return new Failure("denied", "token_expired", text, more);
    }
    case "unsupported-operation":
      return new Failure("unsupported", "method_not_allowed", "Invalid method", more);
    default:
      return new Failure(kind, WORDS[kind] ?? code.replaceAll("-", "_"), message, {
        ...more,
        texts,
      });
  }
}
