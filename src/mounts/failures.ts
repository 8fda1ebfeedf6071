// Every way this room refuses.

import { Failure, type FailureOptions, type FailureKind } from "@holdfast/shared/failure";

/**
 * @code mount-path The path of a mount is not valid.
 * @remedy Keep to what the text says.
 */
export function pathRefused(what: string): Failure {
  return new Failure("invalid", "mount-path", `the path of a mount is not valid: ${what}`);
}

/**
 * @code mount-path-of-auth An auth method was asked for among the secret engines.
 * @remedy Use sys/auth instead.
 */
export function pathOfAuth(): Failure {
  const message =
    "auth methods are not among the secret engines: ask sys/auth/… for them; " +
    "only sys/mounts/auth/…/tune reaches them from here";
  return new Failure("invalid", "mount-path-of-auth", message);
}

/**
 * @code mount-path-protected The path belongs to the server itself.
 * @remedy Choose another path.
 */
export function pathProtected(path: string): Failure {
  return new Failure("denied", "mount-path-protected", `cannot mount at ${path}: it is protected`);
}

/**
 * @code mount-path-taken The path meets that of another mount.
 * @remedy Choose another path.
 */
export function pathTaken(path: string, by: string): Failure {
  return new Failure("conflict", "mount-path-taken", `path is already in use: ${path} meets ${by}`);
}

/**
 * What was given is not repeated: it may be a secret in the wrong place.
 * @code mount-type-unknown There is no such type of mount.
 * @remedy Use one that the text lists.
 */
export function typeUnknown(known: readonly string[]): Failure {
  const message = `type must be one of ${known.toSorted().join(", ")}`;
  return new Failure("invalid", "mount-type-unknown", message);
}

/**
 * What was given is told to whoever gave it alone: it is in no record.
 * @code plugin-not-found No plugin of this name, or of this version, is in the catalog.
 * @remedy List the catalog, and register the plugin.
 */
export function pluginNotFound(
  name: string,
  version: string,
  builtIn: readonly string[] = [],
): Failure {
  const wanted = version === "" ? name : `${name}, version=${version.slice(0, 128)}`;
  const besides = builtIn.length === 0 ? "" : `; built in are ${builtIn.toSorted().join(", ")}`;
  const texts = [`plugin not found in the catalog: ${wanted}${besides}`];
  return new Failure("invalid", "plugin-not-found", "plugin not found in the catalog", { texts });
}

/**
 * @code mount-type-of-other-kind The type is one of auth methods, and a secret engine was asked for, or the other way round.
 * @remedy Use sys/auth for auth methods and sys/mounts for secret engines.
 */
export function typeOfOtherKind(name: string, kind: "secret" | "auth"): Failure {
  const wanted = kind === "auth" ? "a secret" : "an auth";
  const message = `cannot mount "${name}" of type "${kind}" as ${wanted} backend`;
  return new Failure("invalid", "mount-type-of-other-kind", message);
}

/**
 * @code mount-not-loaded The plugin of the mount is missing or does not start.
 * @remedy Mend what the text names, and reload the plugin.
 */
export function notLoaded(path: string, cause: string): Failure {
  const message = `mount "${path}" is not loaded: ${cause}`;
  return new Failure("unavailable", "mount-not-loaded", message);
}

/**
 * @code plugin-not-started The plugin could not be started.
 * @remedy Mend what the text names, and try again.
 */
export function pluginNotStarted(cause: string, texts?: readonly string[]): Failure {
  return new Failure("invalid", "plugin-not-started", cause, texts === undefined ? {} : { texts });
}

/**
 * @code mount-type-fixed This type is mounted once in every namespace and nowhere else.
 * @remedy Use the mount that is there.
 */
export function typeFixed(type: string): Failure {
  const message = `"${type}" is mounted once in every namespace, and nowhere else`;
  return new Failure("invalid", "mount-type-fixed", message);
}

/**
 * @code mount-version-unknown There is no such version of the type.
 * @remedy Leave plugin_version out.
 */
export function versionUnknown(version: string): Failure {
  const message = `plugin_version: there is no other version than ${version} of this type`;
  return new Failure("invalid", "mount-version-unknown", message);
}

/**
 * @code mount-ttls-crossed The longest lifetime is below the usual one.
 * @remedy Set max_lease_ttl to at least default_lease_ttl.
 */
export function ttlsCrossed(): Failure {
  const message = "max_lease_ttl must not be below default_lease_ttl";
  return new Failure("invalid", "mount-ttls-crossed", message);
}

/**
 * @code mount-headers A header may not be passed on or set.
 * @remedy Leave headers with credentials and the server's own out.
 */
export function headerRefused(field: string): Failure {
  const message =
    `${field} has names of headers, and none of those that carry credentials, frame an answer or ` +
    "are the server's own";
  return new Failure("invalid", "mount-headers", message);
}

/**
 * @code mount-identity-key There is no such key for identity tokens.
 * @remedy Use default, or leave it out.
 */
export function identityKeyUnknown(): Failure {
  const message = 'identity_token_key: there is one key, which is called "default"';
  return new Failure("invalid", "mount-identity-key", message);
}

/**
 * @code mount-not-found Nothing is mounted at this path.
 * @remedy List the mounts; check the namespace.
 */
export function notMounted(kind: "secret" | "auth", path: string): Failure {
  const what = kind === "auth" ? "no auth method" : "no secret engine";
  return new Failure("invalid", "mount-not-found", `${what} is mounted at ${path}`);
}

/**
 * @code mounts-too-many There are as many mounts as there may be.
 * @remedy Disable one first.
 */
export function tooMany(max: number): Failure {
  const message = `there may be at most ${max} mounts; disable one first`;
  return new Failure("invalid", "mounts-too-many", message);
}

/**
 * @code mount-fixed The mount is part of every namespace and cannot be changed.
 * @remedy Leave it as it is.
 */
export function fixedMount(path: string): Failure {
  const message = `${path} is part of every namespace and cannot be changed`;
  return new Failure("invalid", "mount-fixed", message);
}

/**
 * @code mount-options-fixed The options of the mount cannot be changed so.
 * @remedy Read the reason in the text.
 */
export function optionsFixed(why: string): Failure {
  return new Failure("invalid", "mount-options-fixed", `options cannot be changed: ${why}`);
}

/**
 * @code mount-busy The mount is being disabled or moved.
 * @remedy Wait for that to end.
 */
export function busy(state: "disabling" | "moving"): Failure {
  const message =
    state === "moving"
      ? "the mount is being moved; wait for that to end"
      : "the mount is being disabled: it cannot be changed any more, nor kept";
  return new Failure("conflict", "mount-busy", message);
}

/**
 * It has no engine here, or the engine could not be opened.
 * @code mount-not-ready The engine of the mount could not be opened.
 * @remedy Read the cause in the text and the log; it is tried again.
 */
export function notReady(cause: string): Failure {
  return new Failure("unavailable", "mount-not-ready", `the mount cannot be used: ${cause}`);
}

/**
 * Also for a request that was still running when the mount went.
 * @code mount-gone The mount is being disabled.
 * @remedy Nothing; enable another. What its revocations need is still written at its config.
 */
export function gone(): Failure {
  const message = "this mount is being disabled: it gives nothing out any more";
  return new Failure("not-found", "mount-gone", message);
}

/**
 * @code namespace-gone The namespace of the request is being deleted.
 * @remedy Nothing; use another.
 */
export function namespaceGone(): Failure {
  const message = "the namespace of this request is being deleted";
  return new Failure("conflict", "namespace-gone", message);
}

/**
 * @code mount-abandons Disabling the mount would leave things at the outside system.
 * @remedy Remove them, or give abandon=true to leave them there.
 */
export function abandons(what: string): Failure {
  const message = `disabling would leave behind ${what}; ?abandon=true leaves it there`;
  return new Failure("invalid", "mount-abandons", message);
}

/** Not faults of this server: somebody outside must be mended, asked again or told something else. */
const EXPLAINED: ReadonlySet<FailureKind> = new Set([
  "upstream",
  "invalid",
  "unavailable",
  "timed-out",
]);

/**
 * What has stopped it holds no secret: it is a Failure.
 * @code mount-not-disabled The mount could not be disabled and stays closed.
 * @remedy Mend the cause that the text names, then disable it again.
 */
export function notDisabled(cause: Failure): Failure {
  const { kind, retryAfter } = cause;
  const later = retryAfter === null ? {} : { retryAfter };
  // Its own text says what was behind it.
  const message =
    `the mount could not be disabled and stays closed: ${cause.message}; mend the cause (its configuration ` +
    "can still be written) and disable it again, or give the leases up with sys/leases/revoke-force";
  return new Failure(EXPLAINED.has(kind) ? kind : "internal", "mount-not-disabled", message, later);
}

/**
 * @code mount-move The mount cannot be moved so.
 * @remedy Read the reason in the text.
 */
export function moveRefused(why: string): Failure {
  return new Failure("invalid", "mount-move", why);
}

/**
 * @code mount-move-unknown There is no such move.
 * @remedy Use the id that the start of the move answered.
 */
export function moveUnknown(): Failure {
  return new Failure("not-found", "mount-move-unknown", "no such migration", { texts: [] });
}

/**
 * @code orphan-unknown There is no such record of leftovers.
 * @remedy List them with `LIST <mount>/orphans`.
 */
export function orphanUnknown(): Failure {
  return new Failure("not-found", "orphan-unknown", "no such orphan record", { texts: [] });
}

/**
 * @code undo-unknown No engine knows how to undo a record of this kind.
 * @remedy Run the version that wrote it, or clean up by hand and drop the record.
 */
export function undoUnknown(kind: string): Failure {
  const message = `nothing undoes a write-ahead record of kind ${kind}`;
  return new Failure("invalid", "undo-unknown", message);
}

/**
 * @code path-unmounted No mount serves this path, or the token may not see it.
 * @remedy List the mounts; check the namespace and the token's policies.
 */
export function nothingServes(): Failure {
  return new Failure("not-found", "path-unmounted", "no mount serves this path", { texts: [] });
}

export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}

/**
 * @code rollback-failed Something half made could not be undone.
 * @remedy Read the cause in the text; mend it at the outside system, then try again.
 */
export function rollbackFailed(message: string): Failure {
  return new Failure("upstream", "rollback-failed", message);
}

/**
 * @code mount-job-stopped The work on a mount was stopped, because the server seals or stops.
 * @remedy Nothing: it goes on at the next start.
 */
export function mountJobStopped(message: string): Failure {
  return new Failure("unavailable", "mount-job-stopped", message);
}

/**
 * @code job-stopped The work was stopped, because the server seals or stops.
 * @remedy Nothing: it goes on at the next start.
 */
export function jobStopped(message: string): Failure {
  return new Failure("unavailable", "job-stopped", message);
}

/**
 * @code job-deadline Work on a mount took too long.
 * @remedy Look whether the outside system answers; it is tried again.
 */
export function jobDeadline(message: string): Failure {
  return new Failure("timed-out", "job-deadline", message);
}

export function fieldInvalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}

/**
 * @code mount-job-failed Work on a mount failed unexpectedly.
 * @remedy Read the server's log.
 */
export function mountJobFailed(message: string, options?: FailureOptions): Failure {
  return new Failure("internal", "mount-job-failed", message, options);
}

/**
 * @code write-ahead-taken A plugin chose an id for a note of what it is about to make that is no id, or is taken.
 * @remedy Tell whoever made the plugin: ids are drawn anew for each note.
 */
export function recordTaken(): Failure {
  const message = "a write-ahead record has a UUID that no other of its mount has";
  return new Failure("conflict", "write-ahead-taken", message);
}
