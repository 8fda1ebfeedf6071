// Every way the roles of replication refuse.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code replication-primary-already This cluster is a primary already.
 * @remedy Nothing needs to be done; its status shows the set.
 */
export function primaryAlready(): Failure {
  return new Failure(
    "invalid",
    "replication-primary-already",
    "this cluster is a primary already; sys/replication/dr/status shows its set",
  );
}

/**
 * @code replication-promote-instead A secondary does not become a primary by being enabled as one.
 * @remedy Promote it with sys/replication/dr/secondary/promote.
 */
export function promoteInstead(): Failure {
  return new Failure(
    "invalid",
    "replication-promote-instead",
    "this cluster is a secondary: promote it instead (sys/replication/dr/secondary/promote)",
  );
}

/**
 * @code replication-not-primary Only a primary does that.
 * @remedy Send it to the primary; the status of each cluster says what it is.
 */
export function notPrimary(): Failure {
  return new Failure(
    "invalid",
    "replication-not-primary",
    "this cluster is not a primary of disaster-recovery replication",
  );
}

/**
 * @code replication-not-secondary Only a secondary does that.
 * @remedy Send it to the secondary; the status of each cluster says what it is.
 */
export function notSecondary(): Failure {
  return new Failure(
    "invalid",
    "replication-not-secondary",
    "this cluster is not a secondary of disaster-recovery replication",
  );
}

/**
 * @code replication-role-taken A cluster that replicates cannot join another one.
 * @remedy Disable its role first. Joining takes the place of all of its data.
 */
export function roleTaken(mode: string): Failure {
  return new Failure(
    "invalid",
    "replication-role-taken",
    `this cluster is ${mode === "secondary" ? "a secondary" : "a primary"} already: disable that first`,
  );
}

/**
 * @code replication-role-changing The role of this cluster changes at this moment.
 * @remedy Try again in a second.
 */
export function roleChanging(): Failure {
  return new Failure(
    "unavailable",
    "replication-role-changing",
    "the role of this cluster changes at this moment; try again in a second",
  );
}

/**
 * @code replication-epoch-superseded A primary of an earlier epoch was named, after a later one was known.
 * @remedy Take a token of the primary that was promoted last.
 */
export function epochSuperseded(found: number, known: number): Failure {
  return new Failure(
    "invalid",
    "replication-epoch-superseded",
    `that primary is superseded: its epoch is ${found}, and one of epoch ${known} is known here`,
  );
}

/**
 * @code replication-other-set The primary that was named is of another replication set.
 * @remedy Take a token of the set that this cluster belongs to, or join the other one with secondary/enable, which
 * takes the place of all data.
 */
export function otherSet(): Failure {
  return new Failure(
    "invalid",
    "replication-other-set",
    "that primary is of another replication set; only secondary/enable joins another one, and replaces all data",
  );
}

/**
 * @code replication-primary-unknown A secondary without a primary cannot be moved to another address.
 * @remedy Name the primary by a token (update-primary with `token`).
 */
export function primaryUnknown(): Failure {
  return new Failure(
    "invalid",
    "replication-primary-unknown",
    "this cluster has no credentials of a primary: name it by a token of its own",
  );
}
