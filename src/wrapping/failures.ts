// Refusals of wrapping, beside the one that wrapping tokens share with the pipeline.

import { showDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Exhausted } from "./allowance.ts";

/**
 * @code wrap-ttl-missing The time to keep wrapped data is missing.
 * @remedy Send X-Service-Wrap-TTL, such as 5m.
 */
export function ttlMissing(): Failure {
  const message =
    "the header X-Service-Wrap-TTL is missing; it says how long the data is kept, such as 5m";
  return new Failure("invalid", "wrap-ttl-missing", message);
}

export function nobodyWraps(): Failure {
  const message =
    "without a token only a login is answered wrapped; send a token, or leave X-Service-Wrap-TTL out";
  return new Failure("invalid", "not-wrapped", message);
}

export function closed(): Failure {
  return new Failure("sealed", "sealed", "service is sealed", { retryAfter: 5 });
}

/**
 * @code cubbyhole-full The token's private space is full.
 * @remedy Delete entries.
 */
export function cubbyholeFull(max: number): Failure {
  const message = `the cubbyhole of a token holds at most ${max} entries; delete one first`;
  return new Failure("invalid", "cubbyhole-full", message);
}

export function cubbyholesTooLarge(full: Exhausted): Failure {
  const message = `the ${SPACES[full.whose]} at most ${amount(full)}; delete some first`;
  return new Failure("invalid", "cubbyhole-full", message);
}

const SPACES = {
  holder: "cubbyhole of a token holds",
  owner: "cubbyholes of all tokens of one login hold together",
  namespace: "cubbyholes of a namespace hold together",
};

/**
 * @code wrappings-full There are as many wrapped answers as there may be.
 * @remedy Unwrap some, or wait until some have ended.
 */
export function wrappingsFull(full: Exhausted): Failure {
  const whose = full.whose === "namespace" ? "in this namespace" : "made by one login or token";
  const message =
    `there may be at most ${amount(full)} of wrapped answers ${whose}; ` +
    "unwrap some, or ask again when some have ended";
  return new Failure("rate-limited", "wrappings-full", message);
}

function amount({ max }: Exhausted): string {
  return `${max.entries} entries and ${max.bytes} bytes`;
}

/**
 * @code wrap-ttl-too-long Wrapped data was to be kept longer than allowed.
 * @remedy Use at most the time that the text names.
 */
export function ttlTooLong(longest: Nanos): Failure {
  const message = `X-Service-Wrap-TTL may be at most ${showDuration(longest)}, which is max_lease_ttl`;
  return new Failure("invalid", "wrap-ttl-too-long", message);
}
