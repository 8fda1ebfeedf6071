// Refusals of wrapping, beside the one that wrapping tokens share with the pipeline.

import { Failure } from "../base/failure.ts";

export function ttlMissing(): Failure {
  const message =
    "the header X-Service-Wrap-TTL is missing; it says how long the data is kept, such as 5m";
  return new Failure("invalid", "wrap-ttl-missing", message);
}

export function closed(): Failure {
  return new Failure("sealed", "sealed", "service is sealed", { retryAfter: 5 });
}

export function cubbyholeFull(most: number): Failure {
  const message = `the cubbyhole of a token holds at most ${most} entries; delete one first`;
  return new Failure("invalid", "cubbyhole-full", message);
}
