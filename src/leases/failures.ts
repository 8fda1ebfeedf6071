// Every way this room refuses. Clients match on some of the texts.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code lease-not-found There is no such lease.
 * @remedy Check the id; it may have ended.
 */
export function notFound(): Failure {
  return new Failure("invalid", "lease-not-found", "lease not found");
}

/**
 * What looking one up says.
 * @code lease-invalid The id is not that of a lease.
 * @remedy Check the id.
 */
export function invalidLease(): Failure {
  return new Failure("invalid", "lease-invalid", "invalid lease");
}

/**
 * @code lease-expired The lease has ended.
 * @remedy Ask for new credentials.
 */
export function expired(): Failure {
  return new Failure("invalid", "lease-expired", "lease expired");
}

/**
 * @code lease-irrevocable The lease has ended, and what it stands for could not be removed yet.
 * @remedy `holdfast lease list -irrevocable` shows the cause; mend it, or use revoke-force and
 *   clean up by hand.
 */
export function irrevocable(): Failure {
  const message = "lease expired and could not be revoked yet";
  return new Failure("invalid", "lease-irrevocable", message);
}

/**
 * @code lease-not-renewable The lease cannot be renewed.
 * @remedy Ask for new credentials before it ends.
 */
export function notRenewable(): Failure {
  return new Failure("invalid", "lease-not-renewable", "lease is not renewable");
}

/**
 * @code lease-lifetime The lease has reached its longest lifetime.
 * @remedy Ask for new credentials.
 */
export function lifetimeReached(): Failure {
  return new Failure("invalid", "lease-lifetime", "maximum lifetime reached");
}

/**
 * The same whether or not there is such a lease.
 * @code lease-other-namespace The lease belongs to another namespace.
 * @remedy Send the request to the namespace of the lease.
 */
export function otherNamespace(): Failure {
  return new Failure("denied", "lease-other-namespace", "permission denied");
}

/**
 * The token that asked was deleted while it waited for its secret.
 * @code lease-owner-gone The token that owns the lease is gone.
 * @remedy Log in and ask for new credentials.
 */
export function ownerGone(): Failure {
  return new Failure("denied", "lease-owner-gone", "permission denied", {
    texts: ["permission denied", "invalid token"],
  });
}

/**
 * @code lease-mount-gone The mount of the lease is being disabled or moved.
 * @remedy Try again when that has ended.
 */
export function mountGone(): Failure {
  const message = "the mount is being disabled or moved";
  return new Failure("not-found", "lease-mount-gone", message, { texts: [] });
}

/**
 * @code lease-role-gone The role was deleted while a secret was made by it. Nothing was given, and the secret is ended.
 * @remedy Ask with a role that is there.
 */
export function roleGone(): Failure {
  const message = "the role was deleted while the secret was made: nothing was given";
  return new Failure("invalid", "lease-role-gone", message);
}

/** Nobody is there to take the answer. */
export function requestOver(): Failure {
  return new Failure("timed-out", "request-timed-out", "request timed out");
}

/**
 * The engine is not there: it may come back.
 * @code lease-no-engine The engine of the lease is not running.
 * @remedy Look at the mount's state; its log says why it does not open.
 */
export function noEngine(): Failure {
  return new Failure("unavailable", "lease-no-engine", "the engine of this lease is not available");
}

/**
 * @code lease-irrevocable-mount-gone The mount of the lease is gone, and with it what it takes to revoke the lease.
 * @remedy Remove outside what the lease stands for, then forget it with `sys/leases/revoke-force`.
 */
export function mountIsGone(): Failure {
  return new Failure("upstream", "lease-irrevocable-mount-gone", "its mount is gone");
}

export function secretTypeUnknown(type: string): Failure {
  const message = `the engine does not know secrets of the type ${type} any more`;
  return new Failure("upstream", "engine-permanent", message);
}

/**
 * @code lease-revoke-slow The engine took too long to revoke the lease; it is tried again.
 * @remedy Look whether the outside system answers.
 */
export function tooSlow(seconds: bigint): Failure {
  return new Failure("upstream", "lease-revoke-slow", `the engine took longer than ${seconds} s`);
}

/**
 * @code lease-sealing The server is being sealed.
 * @remedy Try again when it is unsealed.
 */
export function sealing(): Failure {
  return new Failure("unavailable", "lease-sealing", "the node is being sealed");
}

/**
 * When one ends is not told: it would say something of others' work.
 * @code lease-count-exceeded There are as many leases as a quota allows.
 * @remedy Revoke what is not needed, or raise the quota.
 */
export function tooManyLeases(): Failure {
  return new Failure("rate-limited", "lease-count-exceeded", "lease count quota exceeded");
}

/**
 * What a foreign error says is not told: it may quote a secret.
 * @code lease-engine-failed The engine failed unexpectedly.
 * @remedy Find the request id in the server's log.
 */
export function unexpected(cause: unknown): Failure {
  const message = "the engine failed for a reason of its own";
  return new Failure("upstream", "lease-engine-failed", message, { cause });
}

/**
 * @code lease-not-revoked The lease could not be revoked and will be tried again.
 * @remedy Read the cause in the text; mend it at the outside system.
 */
export function notRevoked(why: Failure): Failure {
  const { retryAfter } = why;
  const message = `the lease could not be revoked and will be tried again: ${why.message}`;
  const kind = why.kind === "invalid" ? "invalid" : "upstream";
  return new Failure(kind, "lease-not-revoked", message, {
    cause: why,
    ...(retryAfter === null ? {} : { retryAfter }),
  });
}

/**
 * @code lease-revocation-stopped The revocation of many leases stopped at one that failed.
 * @remedy Mend the cause that the text names, then run it again; or use revoke-force.
 */
export function stopped(revoked: number, id: string, why: Failure): Failure {
  const message = `stopped after ${revoked} revoked leases: ${id}: ${why.message}`;
  const kind = why.kind === "invalid" ? "invalid" : "upstream";
  return new Failure(kind, "lease-revocation-stopped", message, { cause: why });
}

/**
 * @code lease-prefix-invalid The prefix is not a path of requests.
 * @remedy Use one like clouda/creds/ci.
 */
export function prefixInvalid(): Failure {
  const message = "the prefix must be the path of requests, such as clouda/creds/ci";
  return new Failure("invalid", "lease-prefix-invalid", message);
}

/**
 * @code lease-unreadable Stored leases cannot be read, so they cannot be revoked.
 * @remedy Use revoke-force to give them up, and remove what they stand for by hand.
 */
export function unreadable(count: number): Failure {
  const message = `${count} leases cannot be read, and so not be revoked; revoke-force gives them up`;
  return new Failure("damaged", "lease-unreadable", message);
}
