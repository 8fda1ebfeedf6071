// Refusals on /acl/ in the words that clients of the ACL API match on: one text
// for whoever may not, and machine words with underscores.

import type { Failure } from "@holdfast/shared/failure";
import { broaderWord, methodNotAllowed, permissionDenied, tokenExpired } from "./failures.ts";
import type { RequestState } from "./request-state.ts";
import type { TokenLookup } from "./seams.ts";

const DENIED = "Permission denied";

export function inAclWords(
  failure: Failure,
  { incoming, endpoint }: RequestState,
  { tokens }: { readonly tokens: TokenLookup },
): Failure {
  const { code, retryAfter, headers } = failure;
  // Words with underscores are the room's own; a record that failed is told as everywhere.
  if (code.includes("_") || code.startsWith("audit-")) return failure;
  const more = { cause: failure, headers, ...(retryAfter === null ? {} : { retryAfter }) };
  switch (code) {
    case "missing-token":
    case "permission-denied":
      return permissionDenied(DENIED, more);
    case "invalid-token": {
      if (incoming.credential === null || !tokens.hasExpired(incoming.credential)) {
        return permissionDenied(DENIED, more);
      }
      const text = endpoint?.tellsExpiry === true ? "ACL token expired" : DENIED;
      return tokenExpired(text, more);
    }
    case "unsupported-operation":
      return methodNotAllowed("Invalid method", more);
    default:
      return broaderWord(failure, more);
  }
}
