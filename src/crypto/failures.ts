// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code otp-length-mismatch The one-time password is not as long as the token.
 * @remedy Take the otp that the start of the ceremony answered.
 */
export function otpLengthMismatch(message: string): Failure {
  return new Failure("invalid", "otp-length-mismatch", message);
}

/**
 * @code shamir-shares-out-of-range The number of shares is out of range.
 * @remedy Use the range that the text gives.
 */
export function sharesOutOfRange(message: string): Failure {
  return new Failure("invalid", "shamir-shares-out-of-range", message);
}

/**
 * @code shamir-threshold-out-of-range The threshold does not go with the number of shares.
 * @remedy Use the range that the text gives.
 */
export function thresholdOutOfRange(message: string): Failure {
  return new Failure("invalid", "shamir-threshold-out-of-range", message);
}

/**
 * @code pgp-key-too-long A PGP key is longer than is read.
 * @remedy Export the one public key alone, without photographs or foreign signatures.
 * @code pgp-key-unreadable A PGP key cannot be read.
 * @remedy Give one public key, armored or in base64.
 * @code pgp-key-private A private PGP key was given instead of a public one.
 * @remedy Give the public key, and treat the private one as disclosed.
 * @code pgp-key-several More than one PGP key was given in one place.
 * @remedy Give one key for each share.
 * @code pgp-key-not-yet-valid A PGP key has a creation time in the future.
 * @remedy Check the clocks of both machines.
 * @code pgp-key-revoked A PGP key is revoked.
 * @remedy Give its owner's current key.
 * @code pgp-key-expired A PGP key is expired.
 * @remedy Have its owner extend it, and give the new export.
 * @code pgp-key-no-encryption-key A PGP key has no part that can encrypt now.
 * @remedy Have its owner add an encryption subkey.
 * @code pgp-key-unusable A PGP key holds values that nothing can be encrypted to.
 * @remedy Give another key of its owner.
 * @code pgp-key-packets A PGP key has more parts than are read.
 * @remedy Export the key without photographs and foreign signatures.
 * @code pgp-key-algorithm A PGP key is of a kind or size that is not accepted.
 * @remedy Use RSA of 2048 bits or more, or one of the curves that the text lists.
 * @code pgp-key-signatures A PGP key carries more signatures of its own than are checked.
 * @remedy Make a minimal export, which leaves one signature for each part.
 */
const PGP_CODES = {
  algorithm: "pgp-key-algorithm",
  expired: "pgp-key-expired",
  "no-encryption-key": "pgp-key-no-encryption-key",
  "not-yet-valid": "pgp-key-not-yet-valid",
  packets: "pgp-key-packets",
  private: "pgp-key-private",
  revoked: "pgp-key-revoked",
  several: "pgp-key-several",
  signatures: "pgp-key-signatures",
  "too-long": "pgp-key-too-long",
  unreadable: "pgp-key-unreadable",
  unusable: "pgp-key-unusable",
};

/** What is wrong with a PGP key. */
export type PgpProblem = keyof typeof PGP_CODES;

export function pgpKeyRefused(problem: PgpProblem, message: string, cause: unknown): Failure {
  return new Failure("invalid", PGP_CODES[problem], message, { cause });
}
