// Every way this engine refuses.

import { Failure } from "../../base/failure.ts";

/** As for anything that is absent: no text. */
export function notFound(): Failure {
  return new Failure("not-found", "secret-not-found", "no such secret", { texts: [] });
}

/** In the words of every denial (decision 36). */
export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}

export function casMissing(current: number): Failure {
  const message =
    "check-and-set parameter required for this call: cas is missing, " +
    `the current version is ${current}`;
  return new Failure("invalid", "kv-cas-required", message);
}

export function casWrong(given: number, current: number): Failure {
  const message =
    `check-and-set parameter did not match the current version: cas is ${given}, ` +
    `the current version is ${current}`;
  return new Failure("invalid", "kv-cas-mismatch", message);
}

export function targetTaken(): Failure {
  const message =
    "there is a secret at the target; give its current version as cas to have it replaced";
  return new Failure("invalid", "kv-target-taken", message);
}

export function sameSecret(): Failure {
  return new Failure("invalid", "kv-same-secret", "from and to are the same secret");
}

export function nested(): Failure {
  const message = "of two folders neither may lie in the other, nor may they be the same";
  return new Failure("invalid", "kv-nested-folders", message);
}

export function casOnFolder(): Failure {
  const message = "cas is for a single secret; it cannot go with recursive";
  return new Failure("invalid", "kv-cas-recursive", message);
}

export function pathRefused(field: string): Failure {
  const message =
    `${field} must be the path of a secret, such as team/app: segments of up to 256 bytes, ` +
    "one slash between two, short enough to stand in a request";
  return new Failure("invalid", "kv-path", message);
}

export function versionsMissing(most: number): Failure {
  const message = `versions is missing; it must be a list of 1 to ${most} version numbers`;
  return new Failure("invalid", "kv-versions", message);
}

export function optionsRefused(): Failure {
  const message = "options must be an object; its cas must be a whole number, at least 0";
  return new Failure("invalid", "kv-options", message);
}

export function customMetadataRefused(accepted: string): Failure {
  return new Failure("invalid", "kv-custom-metadata", `custom_metadata must be ${accepted}`);
}

export function cursorRefused(): Failure {
  const message = "after is no cursor of this search, or an old one; begin again without it";
  return new Failure("invalid", "kv-cursor", message);
}

export function optionUnknown(name: string): Failure {
  const message = `unknown option ${JSON.stringify(name)} for kv; there is version alone`;
  return new Failure("invalid", "kv-option", message);
}

export function versionRefused(): Failure {
  return new Failure("invalid", "kv-version", 'the option version of kv must be "1" or "2"');
}

/** The record says that there is data, and there is none. */
export function vanished(): Failure {
  const message = "the data of this version is missing in storage";
  return new Failure("damaged", "kv-version-vanished", message);
}

export function callerGone(): Failure {
  return new Failure("timed-out", "caller-gone", "the caller did not wait for the answer");
}
