// Every way this room refuses. Texts of the contract are matched on by clients.

import { Failure } from "../base/failure.ts";

export function notFound(): Failure {
  return new Failure("invalid", "lease-not-found", "lease not found");
}

/** What looking one up says. */
export function invalidLease(): Failure {
  return new Failure("invalid", "lease-invalid", "invalid lease");
}

export function expired(): Failure {
  return new Failure("invalid", "lease-expired", "lease expired");
}

export function irrevocable(): Failure {
  const message = "lease expired and could not be revoked yet";
  return new Failure("invalid", "lease-irrevocable", message);
}

export function notRenewable(): Failure {
  return new Failure("invalid", "lease-not-renewable", "lease is not renewable");
}

export function lifetimeReached(): Failure {
  return new Failure("invalid", "lease-lifetime", "maximum lifetime reached");
}

/** The same whether or not there is such a lease. */
export function otherNamespace(): Failure {
  return new Failure("denied", "lease-other-namespace", "permission denied");
}

/** The token that asked was deleted while it waited for its secret. */
export function ownerGone(): Failure {
  return new Failure("denied", "lease-owner-gone", "permission denied", {
    texts: ["permission denied", "invalid token"],
  });
}

export function mountGone(): Failure {
  const message = "the mount is being disabled or moved";
  return new Failure("not-found", "lease-mount-gone", message, { texts: [] });
}

/** Nobody is there to take the answer. */
export function requestOver(): Failure {
  return new Failure("timed-out", "request-timed-out", "request timed out");
}

/** The engine is not there: it may come back. */
export function noEngine(): Failure {
  return new Failure("unavailable", "lease-no-engine", "the engine of this lease is not available");
}

export function secretTypeUnknown(type: string): Failure {
  const message = `the engine does not know secrets of the type ${type} any more`;
  return new Failure("upstream", "engine-permanent", message);
}

export function tooSlow(seconds: bigint): Failure {
  return new Failure("upstream", "lease-revoke-slow", `the engine took longer than ${seconds} s`);
}

export function sealing(): Failure {
  return new Failure("unavailable", "lease-sealing", "the node is being sealed");
}

/** When one ends is not told: it would say something of others' work. */
export function tooManyLeases(): Failure {
  return new Failure("rate-limited", "lease-count-exceeded", "lease count quota exceeded");
}

/** What a foreign error says is not told: it may quote a secret. */
export function unexpected(cause: unknown): Failure {
  const message = "the engine failed for a reason of its own";
  return new Failure("upstream", "lease-engine-failed", message, { cause });
}

export function notRevoked(why: Failure): Failure {
  const { retryAfter } = why;
  const message = `the lease could not be revoked and will be tried again: ${why.message}`;
  const kind = why.kind === "invalid" ? "invalid" : "upstream";
  return new Failure(kind, "lease-not-revoked", message, {
    cause: why,
    ...(retryAfter === null ? {} : { retryAfter }),
  });
}

export function stopped(revoked: number, id: string, why: Failure): Failure {
  const message = `stopped after ${revoked} revoked leases: ${id}: ${why.message}`;
  const kind = why.kind === "invalid" ? "invalid" : "upstream";
  return new Failure(kind, "lease-revocation-stopped", message, { cause: why });
}

export function prefixInvalid(): Failure {
  const message = "the prefix must be the path of requests, such as clouda/creds/ci";
  return new Failure("invalid", "lease-prefix-invalid", message);
}

export function unreadable(count: number): Failure {
  const message = `${count} leases cannot be read, and so not be revoked; revoke-force gives them up`;
  return new Failure("damaged", "lease-unreadable", message);
}
