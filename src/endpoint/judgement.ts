// What RGPs and EGPs said of one request. The pipeline asks, the policies room judges, the audit trail
// tells.

export type GoverningKind = "rgp" | "egp";

/** What a program that fails does: it is told, it denies unless overridden, it denies. */
export type EnforcementLevel = "advisory" | "soft-mandatory" | "hard-mandatory";

export interface PolicyResult {
  readonly kind: GoverningKind;
  readonly name: string;
  readonly namespaceId: string;
  readonly level: EnforcementLevel;
  readonly passed: boolean;
  /** Why its program could not say; it then counts as failed. */
  readonly error: string | null;
}

export interface Judgement {
  readonly allowed: boolean;
  /** In the order in which they were asked. */
  readonly results: readonly PolicyResult[];
  /** Whether a failure would have denied that an override lets pass. */
  readonly overrideNeeded: boolean;
  /** For the answer: advisory policies that failed. */
  readonly warnings: readonly string[];
  /** What a caller with a token is told when it is denied; empty when it is not. */
  readonly denial: string;
}
