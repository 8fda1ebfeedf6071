// Every way in which automated snapshots refuse.

import { Failure } from "@holdfast/shared/failure";
import { StoreError } from "../targets/store-error.ts";

/**
 * @code snapshot-config-invalid A field of a snapshot configuration is missing or not as it must be.
 * @remedy Keep to what the text says.
 */
export function configInvalid(message: string): Failure {
  return new Failure("invalid", "snapshot-config-invalid", message);
}

/**
 * @code snapshot-config-unknown There is no such snapshot configuration.
 * @remedy List the configurations.
 */
export function configUnknown(): Failure {
  const message = "no such snapshot configuration";
  return new Failure("not-found", "snapshot-config-unknown", message, { texts: [] });
}

/**
 * @code snapshot-configs-too-many There are as many snapshot configurations as there may be.
 * @remedy Delete one that is not needed.
 */
export function tooManyConfigs(max: number): Failure {
  const message = `there may be at most ${max} snapshot configurations; delete one first`;
  return new Failure("invalid", "snapshot-configs-too-many", message);
}

/**
 * @code snapshot-place-taken Another configuration writes snapshots of the same names to the same place.
 * @remedy Give another path_prefix or file_prefix: nobody could tell whose is whose.
 */
export function placeTaken(other: string): Failure {
  const message =
    `the configuration "${other}" writes to the same place with the same file_prefix: nobody could tell whose ` +
    "is whose; give another path_prefix or file_prefix";
  return new Failure("invalid", "snapshot-place-taken", message);
}

/**
 * @code snapshot-secrets-again Secrets that are stored would go to another host.
 * @remedy Give them again together with what changes the host.
 */
export function secretsAgain(fields: readonly string[], origin: string): Failure {
  const message =
    `${fields.join(" and ")} must be given again: what is stored would go to ${origin}, which it was not stored ` +
    "for; nothing was changed";
  return new Failure("invalid", "snapshot-secrets-again", message);
}

/**
 * @code snapshot-probe-refused A test write to where snapshots are to go was refused.
 * @remedy Mend what the text says; verify=false stores the configuration without a test.
 */
export function probeRefused(why: string): Failure {
  const message = `a test write failed: ${why}; verify=false stores the configuration without one`;
  return new Failure("invalid", "snapshot-probe-refused", message);
}

/**
 * @code snapshot-probe-failed Where snapshots are to go cannot be reached, or has a fault.
 * @remedy Try again; verify=false stores the configuration without a test.
 */
export function probeFailed(why: string): Failure {
  const message = `a test write failed: ${why}; verify=false stores the configuration without one`;
  return new Failure("upstream", "snapshot-probe-failed", message);
}

/**
 * @code snapshot-run-failed A snapshot that was asked for could not be made or stored.
 * @remedy Mend what the text says; it is tried again by itself.
 */
export function runFailed(why: string): Failure {
  return new Failure("upstream", "snapshot-run-failed", `the snapshot failed: ${why}`);
}

/**
 * @code snapshot-target-hangs The place where snapshots go hung in an earlier attempt, and still does.
 * @remedy Look at the disk or the network directory that the configuration names.
 */
export function stillHangs(): Failure {
  const message =
    "an earlier attempt hangs in the place where snapshots go; look at its disk or network";
  return new Failure("unavailable", "snapshot-target-hangs", message);
}

/** What a store said to a test, for whoever wrote the configuration; every other error as it is. */
export function probeFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return error.passes ? probeFailed(error.message) : probeRefused(error.message);
}
