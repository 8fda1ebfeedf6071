// A stored governing policy: what an ACL policy has, its level, and for an EGP the paths it guards.
// RGPs hang on tokens by name, EGPs on paths.

import { text as textOf, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import type { EnforcementLevel, GoverningKind } from "../../endpoint/judgement.ts";
import { fromStored, type PolicyRecord, type StoredPolicy, toStored } from "../policy-record.ts";

export const ENFORCEMENT_LEVELS = [
  "advisory",
  "soft-mandatory",
  "hard-mandatory",
] as const satisfies readonly EnforcementLevel[];

export interface GoverningRecord extends PolicyRecord {
  readonly level: EnforcementLevel;
  /** Of an EGP, as given after trimming; an RGP has none. */
  readonly paths: readonly string[];
}

interface Stored extends StoredPolicy {
  readonly level: EnforcementLevel;
  readonly paths: readonly string[];
}

export const governingCodec: Codec<GoverningRecord> = {
  encode: ({ level, paths, ...policy }) => {
    const stored: Stored = { ...toStored(policy), level, paths };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const stored = JSON.parse(textOf(bytes)) as Stored;
    return { ...fromStored(stored), level: stored.level, paths: stored.paths };
  },
};

/** Below shared/: where the RGPs or EGPs of a namespace lie. The key of each is its name. */
export function governingPolicies(kind: GoverningKind, namespaceId: string): string {
  return `ns/${namespaceId}/policies/${kind}/`;
}
