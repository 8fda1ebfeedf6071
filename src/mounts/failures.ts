// Every way this room refuses.

import { Failure, type FailureKind } from "../base/failure.ts";

export function pathRefused(what: string): Failure {
  return new Failure("invalid", "mount-path", `the path of a mount is not valid: ${what}`);
}

export function pathOfAuth(): Failure {
  const message =
    "auth methods are not among the secret engines: ask sys/auth/… for them; " +
    "only sys/mounts/auth/…/tune reaches them from here";
  return new Failure("invalid", "mount-path-of-auth", message);
}

export function pathProtected(path: string): Failure {
  return new Failure("denied", "mount-path-protected", `cannot mount at ${path}: it is protected`);
}

export function pathTaken(path: string, by: string): Failure {
  return new Failure("conflict", "mount-path-taken", `path is already in use: ${path} meets ${by}`);
}

/** What was given is not repeated: it may be a secret in the wrong place. */
export function typeUnknown(known: readonly string[]): Failure {
  const message = `type must be one of ${known.toSorted().join(", ")}`;
  return new Failure("invalid", "mount-type-unknown", message);
}

export function typeFixed(type: string): Failure {
  const message = `"${type}" is mounted once in every namespace, and nowhere else`;
  return new Failure("invalid", "mount-type-fixed", message);
}

export function versionUnknown(version: string): Failure {
  const message = `plugin_version: there is no other version than ${version} of this type`;
  return new Failure("invalid", "mount-version-unknown", message);
}

export function ttlsCrossed(): Failure {
  const message = "max_lease_ttl must not be below default_lease_ttl";
  return new Failure("invalid", "mount-ttls-crossed", message);
}

export function headerRefused(field: string): Failure {
  const message =
    `${field} has names of headers, and none of those that carry credentials, frame an answer or ` +
    "are the server's own";
  return new Failure("invalid", "mount-headers", message);
}

export function identityKeyUnknown(): Failure {
  const message = 'identity_token_key: there is one key, which is called "default"';
  return new Failure("invalid", "mount-identity-key", message);
}

export function notMounted(kind: "secret" | "auth", path: string): Failure {
  const what = kind === "auth" ? "no auth method" : "no secret engine";
  return new Failure("invalid", "mount-not-found", `${what} is mounted at ${path}`);
}

export function tooMany(most: number): Failure {
  const message = `there may be at most ${most} mounts; disable one first`;
  return new Failure("invalid", "mounts-too-many", message);
}

export function fixedMount(path: string): Failure {
  const message = `${path} is part of every namespace and cannot be changed`;
  return new Failure("invalid", "mount-fixed", message);
}

export function optionsFixed(why: string): Failure {
  return new Failure("invalid", "mount-options-fixed", `options cannot be changed: ${why}`);
}

export function busy(state: string): Failure {
  return new Failure("conflict", "mount-busy", `the mount is ${state}; wait for that to end`);
}

/** It has no engine here, or the engine could not be opened. */
export function notReady(cause: string): Failure {
  return new Failure("unavailable", "mount-not-ready", `the mount cannot be used: ${cause}`);
}

/** A request was still running when the mount went. */
export function gone(): Failure {
  return new Failure("not-found", "mount-gone", "the mount is being disabled", { texts: [] });
}

export function namespaceGone(): Failure {
  const message = "the namespace of this request is being deleted";
  return new Failure("conflict", "namespace-gone", message);
}

export function abandons(what: string): Failure {
  const message = `disabling would leave behind ${what}; ?abandon=true leaves it there`;
  return new Failure("invalid", "mount-abandons", message);
}

/** Not faults of this server: somebody outside must be mended, asked again or told something else. */
const TOLD: ReadonlySet<FailureKind> = new Set(["upstream", "invalid", "unavailable", "timed-out"]);

/** What has stopped it holds no secret: it is a Failure. */
export function notDisabled(cause: Failure): Failure {
  const { kind, retryAfter } = cause;
  const later = retryAfter === null ? {} : { retryAfter };
  // Its own text says what was behind it.
  const message = `the mount could not be disabled and stays closed: ${cause.message}`;
  return new Failure(TOLD.has(kind) ? kind : "internal", "mount-not-disabled", message, later);
}

export function moveRefused(why: string): Failure {
  return new Failure("invalid", "mount-move", why);
}

export function moveUnknown(): Failure {
  return new Failure("not-found", "mount-move-unknown", "no such migration", { texts: [] });
}

export function orphanUnknown(): Failure {
  return new Failure("not-found", "orphan-unknown", "no such orphan record", { texts: [] });
}

export function undoUnknown(kind: string): Failure {
  const message = `nothing undoes a write-ahead record of kind ${kind}`;
  return new Failure("invalid", "undo-unknown", message);
}

export function nothingServes(): Failure {
  return new Failure("not-found", "mount-not-found", "no mount serves this path", { texts: [] });
}

export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}
