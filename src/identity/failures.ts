// What this room refuses.

import { Failure } from "../base/failure.ts";

export function audienceMissing(): Failure {
  return new Failure("invalid", "audience-missing", "an identity token needs an audience");
}

export function ttlOutOfRange(): Failure {
  const text = "an identity token lives from 1 second to 24 hours";
  return new Failure("invalid", "identity-ttl", text);
}

export function addressMissing(): Failure {
  const text = "api_addr is not set: without it an identity token has no issuer";
  return new Failure("invalid", "issuer-missing", text);
}
