// Every way this room refuses.

import { Failure } from "../base/failure.ts";

export function barrierSealed(): Failure {
  return new Failure("sealed", "barrier-sealed", "service is sealed");
}

/** Keys are being forgotten: they cannot be brought back before that is done. */
export function barrierSealing(): Failure {
  return new Failure("unavailable", "barrier-sealing", "service is being sealed; try again");
}

/** Nothing is sealed that a crash would make us forget to count. */
export function countNotStored(): Failure {
  const message = "the count of encryptions could not be stored yet; try again";
  return new Failure("unavailable", "barrier-count-not-stored", message);
}

/** One text for every cause: wrong tag, another path, an unknown term, cut short. */
export function entryDamaged(pathDigest: string): Failure {
  const message = `stored entry ${pathDigest} is damaged: it does not open`;
  return new Failure("damaged", "barrier-entry-damaged", message);
}

export function keyringDamaged(): Failure {
  const message = "the stored keyring is damaged; restore it from a snapshot";
  return new Failure("damaged", "barrier-keyring-damaged", message);
}

export function rotationOutOfRange(least: number, most: number): Failure {
  const message = `max_operations must be from ${least} to ${most}, and interval 0 or at least 24h`;
  return new Failure("invalid", "rotation-out-of-range", message);
}
