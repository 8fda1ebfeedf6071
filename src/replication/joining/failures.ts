// Every way this folder refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code joining-key-unusable A public key is none that anything can be encrypted to.
 * @remedy Take the secondary_public_key that generate-public-key has answered on the secondary.
 */
export function publicKeyUnusable(): Failure {
  return new Failure(
    "invalid",
    "joining-key-unusable",
    "secondary_public_key must be the base64 text that generate-public-key answers",
  );
}

/**
 * @code joining-keys-unreadable The keys that a primary has sent do not open here, or are none.
 * @remedy Look whether both clusters run the same version; make a new activation token otherwise.
 */
export function keysUnreadable(): Failure {
  const message = "the keys that the primary has sent cannot be read here";
  return new Failure("upstream", "joining-keys-unreadable", message);
}
