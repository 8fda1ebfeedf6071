// Which status sys/health answers with: the first state that holds, by its own number or the one the
// caller asked for. Pure; load balancers live by it.

/** What a node is to its cluster. One that follows may answer what it has followed, or nothing but about
 *  itself. */
export type NodeRole = "active" | "standby" | "performance-standby";

/** What is known of the node and its cluster. */
export interface HealthFacts {
  readonly removed: boolean;
  readonly initialised: boolean;
  readonly sealed: boolean;
  readonly drSecondary: boolean;
  /** Whether it leads a replication set, and writes nothing: another cluster was promoted, or its secondaries are silent. */
  readonly fenced: boolean;
  readonly role: NodeRole;
  /** For a standby: whether the active node was heard of within 15 s. */
  readonly activeReachable: boolean;
}

export interface HealthCodes {
  readonly removedcode: number;
  readonly uninitcode: number;
  readonly sealedcode: number;
  readonly drsecondarycode: number;
  readonly haunhealthycode: number;
  readonly performancestandbycode: number;
  readonly standbycode: number;
  readonly activecode: number;
}

export const HEALTH_CODES: HealthCodes = {
  removedcode: 530,
  uninitcode: 501,
  sealedcode: 503,
  drsecondarycode: 472,
  haunhealthycode: 474,
  performancestandbycode: 473,
  standbycode: 429,
  activecode: 200,
};

export interface Lenience {
  readonly standbyOk: boolean;
  readonly perfStandbyOk: boolean;
}

export function healthStatus(facts: HealthFacts, codes: HealthCodes, lenience: Lenience): number {
  if (facts.removed) return codes.removedcode;
  if (!facts.initialised) return codes.uninitcode;
  if (facts.sealed) return codes.sealedcode;
  if (facts.drSecondary) return codes.drsecondarycode;
  // It reads alone, and unlike a standby hands no write on: nobody counts it as active.
  if (facts.fenced) return codes.performancestandbycode;
  if (facts.role !== "active" && !facts.activeReachable) return codes.haunhealthycode;
  if (facts.role === "performance-standby") {
    return lenience.perfStandbyOk ? codes.activecode : codes.performancestandbycode;
  }
  if (facts.role === "standby") return lenience.standbyOk ? codes.activecode : codes.standbycode;
  return codes.activecode;
}
