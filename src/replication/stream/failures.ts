// Every way in which a secondary does not get on with its primary. They are told in its status.

import { Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

/**
 * @code replication-refused The primary does not send this secondary anything.
 * @remedy Do as the text says: it is the primary's.
 */
export function refusedByPrimary(reason: string): Failure {
  return new Failure("conflict", "replication-refused", `the primary refuses: ${reason}`);
}

/**
 * @code replication-no-room The disk of this secondary is nearly full, so that what its primary writes is not applied: revocations neither.
 * @remedy Make room on the disk of this secondary: it goes on by itself. Until then a region takes no global tokens.
 */
export function noRoom({ message }: Failure): Failure {
  const [free = ""] = /(?<=: )\d+ bytes are free/.exec(message) ?? [];
  const text =
    "the storage of this secondary is nearly full, and what the primary writes is not applied, also what it revokes";
  return new Failure("unavailable", "replication-no-room", free === "" ? text : `${text}: ${free}`);
}

/**
 * @code replication-ended The primary has ended the connection, and says why.
 * @remedy Nothing needs to be done: it connects again by itself.
 */
export function endedByPrimary(reason: string): Failure {
  return new Failure("unavailable", "replication-ended", `the primary has ended it: ${reason}`);
}

/**
 * @code replication-revoked The primary has revoked this secondary, and sends it nothing any more.
 * @remedy Where that was a mistake, make a new token on the primary, and use it here with update-primary.
 */
export function revokedByPrimary(): Failure {
  const message =
    "the primary has revoked this secondary; where that was a mistake, a new token lets it follow again (update-primary)";
  return new Failure("denied", "replication-revoked", message);
}

/**
 * @code replication-certificate-over The certificate of this secondary has ended while it was away, and nobody takes it by that one.
 * @remedy Revoke it on the primary, make a token for the same id there, and use it here with update-primary: it keeps its data, and what differs is compared. A filter goes with the secondary that is revoked, and is to be made again first.
 */
export function certificateOver(at: Instant, options?: ErrorOptions): Failure {
  const message = `the certificate of this secondary has ended (${showTime(at)}), and no primary takes it any more: revoke it there, and use a new token here (update-primary); it keeps its data`;
  return new Failure("denied", "replication-certificate-over", message, options);
}

/**
 * @code replication-replaced Another cluster was promoted in the place of this secondary, and comes to the primary with the credentials of both.
 * @remedy Demote this one in disaster recovery, and have it follow the other one there; where the other one is not to be, stop it, and revoke and readmit this one.
 */
export function replacedByPrimary(): Failure {
  const message =
    "another cluster was promoted in the place of this secondary, and the primary sends to that one: demote this one (disaster recovery), and let it follow that one";
  return new Failure("denied", "replication-replaced", message);
}

/**
 * @code replication-ended-there The primary has ended replication, and goes on by itself with the same data.
 * @remedy Decide which of the two goes on, and stop the other one for good. A cluster that is to follow again joins with an empty data
 * directory; one that goes on in the place of the primary is promoted by force.
 */
export function disabledByPrimary(): Failure {
  const message =
    "the primary has disabled replication and goes on by itself, with the same tokens and leases: one that is promoted beside it makes two of everything that they stand for outside";
  return new Failure("conflict", "replication-ended-there", message);
}

/**
 * @code replication-divergent This secondary has log entries that its primary does not have.
 * @remedy Look at both; then point the secondary to its primary with a new token, which gives up those entries.
 */
export function divergent(fork: bigint, own: bigint): Failure {
  const message = `the log here goes on to ${own}, and has only ${fork} in common with that of the primary; a new token lets it go back`;
  return new Failure("conflict", "replication-divergent", message);
}

/**
 * @code replication-unrelated The log here is not one that the primary's comes from.
 * @remedy Enable the secondary anew; what it has is replaced.
 */
export function unrelated(): Failure {
  const message =
    "the log here and that of the primary have nothing in common, though both say so; enable the secondary anew";
  return new Failure("conflict", "replication-unrelated", message);
}

/**
 * @code replication-sealed The secondary is sealed, and takes nothing from its primary.
 * @remedy Unseal it; it goes on by itself.
 */
export function waitsForKeys(): Failure {
  const message = "it is sealed, and takes nothing from its primary; unseal it";
  return new Failure("sealed", "replication-sealed", message);
}

/**
 * @code replication-unmended After three comparisons the data here still differs from that of the primary.
 * @remedy Check the storage of both. It is tried again every ten minutes.
 */
export function unmended(): Failure {
  const message =
    "after three comparisons the data here still differs from the primary's; check the storage of both";
  return new Failure("damaged", "replication-unmended", message);
}

/**
 * @code replication-protocol The primary has sent what it should not.
 * @remedy Compare the versions of both sides.
 */
export function protocolBroken(what: string): Failure {
  return new Failure("upstream", "replication-protocol", `the primary sends ${what}`);
}

/**
 * @code replication-nowhere No address of a primary is known.
 * @remedy Point the secondary to its primary.
 */
export function noAddress(): Failure {
  return new Failure("unavailable", "replication-nowhere", "no address of a primary is known");
}

/**
 * @code replication-member-silent A secondary that was asked for damaged records did not answer as it should.
 * @remedy Look at the secondary, and check again.
 */
export function memberSilent(id: string): Failure {
  const message = `the secondary ${id} was asked for what is damaged here, and did not answer as it should`;
  return new Failure("upstream", "replication-member-silent", message);
}

/**
 * Nothing is left out: what comes after it waits too.
 * @code replication-keys-missing The primary sends what is sealed under a key that it has not handed over.
 * @remedy It asks again by itself. Where that does not end, look at the log of the primary, and point the secondary to it with a new token.
 */
export function keysMissing(index: bigint): Failure {
  const message = `entry ${index} of the primary is sealed under a key that is not here, and the primary has not handed it over; it is asked again`;
  return new Failure("unavailable", "replication-keys-missing", message);
}
