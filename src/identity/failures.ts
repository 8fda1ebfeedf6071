// What this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code audience-missing An identity token needs an audience.
 * @remedy Give one.
 */
export function audienceMissing(): Failure {
  return new Failure("invalid", "audience-missing", "an identity token needs an audience");
}

/**
 * @code identity-ttl The lifetime of an identity token is out of range.
 * @remedy Use 1 second to 24 hours.
 */
export function ttlOutOfRange(): Failure {
  const text = "an identity token lives from 1 second to 24 hours";
  return new Failure("invalid", "identity-ttl", text);
}

/**
 * @code identity-key-elsewhere No identity token was ever signed, and another cluster makes the first key.
 * @remedy Try again after ten minutes: the primary makes it where it knows of this region, and has an api_addr. Or have it issue a credential that needs one.
 */
export function keyElsewhere(): Failure {
  const text =
    "there is no key for identity tokens yet, and the primary makes it, within ten minutes where its api_addr is set";
  return new Failure("unavailable", "identity-key-elsewhere", text);
}

/**
 * @code issuer-missing api_addr is not set, so identity tokens have no issuer.
 * @remedy Set api_addr in the configuration.
 */
export function addressMissing(): Failure {
  const text = "api_addr is not set: without it an identity token has no issuer";
  return new Failure("invalid", "issuer-missing", text);
}
