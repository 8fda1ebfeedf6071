// A stored ACL policy: its text and what is kept beside it. The compiled form is never stored.

import { text as textOf, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import type { Instant } from "@holdfast/shared/world";

export interface PolicyRecord {
  readonly text: string;
  /** Counts the writes, from 1; what check-and-set compares. */
  readonly version: number;
  readonly modified: Instant;
  /** Index of the write that made it. */
  readonly created: bigint;
  /** Index of the last write; a policy reaches only child namespaces that are older. */
  readonly written: bigint;
  readonly casRequired: boolean;
  /** From then on the policy is gone. */
  readonly expires: Instant | null;
  /** For people. Default none. */
  readonly description?: string | undefined;
}

export interface StoredPolicy {
  readonly text: string;
  readonly version: number;
  readonly modified: string;
  readonly created: string;
  readonly written: string;
  readonly casRequired: boolean;
  readonly expires: string | null;
  readonly description?: string | undefined;
}

export function toStored(policy: PolicyRecord): StoredPolicy {
  const { text, version, modified, created, written, casRequired, expires, description } = policy;
  return {
    text,
    version,
    modified: String(modified), // JSON has no integers of this size
    created: String(created),
    written: String(written),
    casRequired,
    expires: expires === null ? null : String(expires),
    ...(description === undefined ? {} : { description }),
  };
}

export function fromStored(stored: StoredPolicy): PolicyRecord {
  const { text, version, modified, created, written, casRequired, expires, description } = stored;
  return {
    text,
    version,
    modified: BigInt(modified),
    created: BigInt(created),
    written: BigInt(written),
    casRequired,
    expires: expires === null ? null : BigInt(expires),
    ...(description === undefined ? {} : { description }),
  };
}

export const policyCodec: Codec<PolicyRecord> = {
  encode: (policy) => utf8(JSON.stringify(toStored(policy))),
  decode: (bytes) => fromStored(JSON.parse(textOf(bytes)) as StoredPolicy),
};

/** Below shared/: where the ACL policies of a namespace lie. The key of each is its name. */
export function aclPolicies(namespaceId: string): string {
  return `ns/${namespaceId}/policies/acl/`;
}
