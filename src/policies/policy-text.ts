// The text of a policy as callers send it: as it is, or in base64. Short plain text may be base64 by
// accident, so the decoded form counts only if it is a document and the text itself is not.

import { fromBase64 } from "../base/bytes.ts";
import { type AclDocument, parseAclDocument } from "../policy/acl-document.ts";
import { textMissing } from "./failures.ts";

export interface GivenPolicy {
  readonly text: string;
  readonly document: AclDocument;
}

/** Throws what is wrong with the text as it was sent. */
export function readPolicyText(given: string): GivenPolicy {
  if (given.trim() === "") throw textMissing();
  try {
    return { text: given, document: parseAclDocument(given) };
  } catch (asSent) {
    const decoded = decodedText(given);
    if (decoded === null) throw asSent;
    try {
      return { text: decoded, document: parseAclDocument(decoded) };
    } catch {
      throw asSent;
    }
  }
}

function decodedText(given: string): string | null {
  if (given.length % 4 !== 0) return null; // padded, as other servers want it
  const bytes = fromBase64(given);
  if (bytes === null) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
