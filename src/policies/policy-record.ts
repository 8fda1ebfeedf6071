// A stored ACL policy: its text and what is kept beside it. The compiled form is never stored.

import { text as textOf, utf8 } from "../base/bytes.ts";
import type { Codec } from "../base/codec.ts";
import type { Instant } from "../base/world.ts";

export interface PolicyRecord {
  readonly text: string;
  /** Counts the writes, from 1; what check-and-set compares. */
  readonly version: number;
  readonly modified: Instant;
  /** Index of the last write; a policy reaches only child namespaces that are older. */
  readonly written: bigint;
  readonly casRequired: boolean;
  /** From then on the policy is gone. */
  readonly expires: Instant | null;
}

interface Stored {
  readonly text: string;
  readonly version: number;
  readonly modified: string;
  readonly written: string;
  readonly casRequired: boolean;
  readonly expires: string | null;
}

export const policyCodec: Codec<PolicyRecord> = {
  encode: ({ text, version, modified, written, casRequired, expires }) => {
    const stored: Stored = {
      text,
      version,
      modified: String(modified), // JSON has no integers of this size
      written: String(written),
      casRequired,
      expires: expires === null ? null : String(expires),
    };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const stored = JSON.parse(textOf(bytes)) as Stored;
    return {
      text: stored.text,
      version: stored.version,
      modified: BigInt(stored.modified),
      written: BigInt(stored.written),
      casRequired: stored.casRequired,
      expires: stored.expires === null ? null : BigInt(stored.expires),
    };
  },
};

/** Below shared/: where the ACL policies of a namespace lie. The key of each is its name. */
export function aclPolicies(namespaceId: string): string {
  return `ns/${namespaceId}/policies/acl/`;
}
