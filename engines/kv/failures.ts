// Every way this engine refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * As for anything that is absent: no text.
 * @code secret-not-found There is no such secret, or no such version.
 * @remedy Check path and version.
 */
export function notFound(): Failure {
  return new Failure("not-found", "secret-not-found", "no such secret", { texts: [] });
}

/** In the words of every denial. */
export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}

/**
 * @code kv-cas-required This secret is written only with cas.
 * @remedy Give the version that the text names as cas.
 */
export function casMissing(current: number): Failure {
  const message =
    "check-and-set parameter required for this call: cas is missing, " +
    `the current version is ${current}`;
  return new Failure("invalid", "kv-cas-required", message);
}

/**
 * @code kv-cas-mismatch The secret has another version than cas says: somebody wrote in between.
 * @remedy Read it again, then write with its current version.
 */
export function casWrong(sent: number, current: number): Failure {
  const message =
    `check-and-set parameter did not match the current version: cas is ${sent}, ` +
    `the current version is ${current}`;
  return new Failure("invalid", "kv-cas-mismatch", message);
}

/**
 * @code kv-target-taken There is a secret at the target already.
 * @remedy Give its current version as cas to replace it, or choose another target.
 */
export function targetTaken(): Failure {
  const message =
    "there is a secret at the target; give its current version as cas to have it replaced";
  return new Failure("invalid", "kv-target-taken", message);
}

/**
 * @code kv-same-secret Source and target are the same secret.
 * @remedy Choose another target.
 */
export function sameSecret(): Failure {
  return new Failure("invalid", "kv-same-secret", "from and to are the same secret");
}

/**
 * @code kv-nested-folders Of source and target folder one lies in the other.
 * @remedy Choose folders that lie apart.
 */
export function nested(): Failure {
  const message = "of two folders neither may lie in the other, nor may they be the same";
  return new Failure("invalid", "kv-nested-folders", message);
}

/**
 * @code kv-cas-recursive cas cannot go with a whole folder.
 * @remedy Leave cas out.
 */
export function casOnFolder(): Failure {
  const message = "cas is for a single secret; it cannot go with recursive";
  return new Failure("invalid", "kv-cas-recursive", message);
}

/**
 * @code kv-path The path of a secret is not valid.
 * @remedy Use names joined by single slashes, within the limits that the text gives.
 */
export function pathRefused(field: string): Failure {
  const message =
    `${field} must be the path of a secret, such as team/app: segments of up to 256 bytes, ` +
    "one slash between two, short enough to stand in a request";
  return new Failure("invalid", "kv-path", message);
}

/**
 * @code kv-copy-too-large The versions of a secret are too large to be copied together.
 * @remedy Destroy versions that nobody needs, move the secret instead, or write its newest version anew.
 */
export function copyTooLarge(max: number): Failure {
  const message =
    `a copy has at most ${max} bytes in all its versions, and this one would have more; destroy ` +
    "versions that nobody needs, or move the secret, which has no such limit";
  return new Failure("too-large", "kv-copy-too-large", message);
}

/**
 * @code kv-source-changing Somebody keeps changing the secret that is to be copied or moved.
 * @remedy Try again.
 */
export function sourceChanging(): Failure {
  const message = "the secret was changed again and again while it was looked at; try again";
  return new Failure("conflict", "kv-source-changing", message);
}

/**
 * @code kv-versions The list of versions is missing or too long.
 * @remedy Give versions, a list of numbers.
 */
export function versionsMissing(max: number): Failure {
  const message = `versions is missing; it must be a list of 1 to ${max} version numbers`;
  return new Failure("invalid", "kv-versions", message);
}

/**
 * @code kv-options The options of a write are not an object with a number as cas.
 * @remedy Correct options.
 */
export function optionsRefused(): Failure {
  const message = "options must be an object; its cas must be a whole number, at least 0";
  return new Failure("invalid", "kv-options", message);
}

/**
 * @code kv-custom-metadata custom_metadata is not a small object of texts.
 * @remedy Keep to the limits that the text gives.
 */
export function customMetadataRefused(accepted: string): Failure {
  return new Failure("invalid", "kv-custom-metadata", `custom_metadata must be ${accepted}`);
}

/**
 * @code kv-cursor The cursor of a search is not one of this search, or is too old.
 * @remedy Begin again without it.
 */
export function cursorRefused(): Failure {
  const message = "after is no cursor of this search, or an old one; begin again without it";
  return new Failure("invalid", "kv-cursor", message);
}

/**
 * @code kv-option kv has no such option.
 * @remedy Leave it out; there is version alone.
 */
export function optionUnknown(name: string): Failure {
  const message = `unknown option ${JSON.stringify(name)} for kv; there is version alone`;
  return new Failure("invalid", "kv-option", message);
}

/**
 * @code kv-version The option version of a kv mount is not 1 or 2.
 * @remedy Use 1 or 2.
 */
export function versionRefused(): Failure {
  return new Failure("invalid", "kv-version", 'the option version of kv must be "1" or "2"');
}

/**
 * The record says that there is data, and there is none.
 * @code kv-version-vanished The data of a version is missing in storage.
 * @remedy Find what touched the disk, then restore a backup.
 */
export function vanished(): Failure {
  const message = "the data of this version is missing in storage";
  return new Failure("damaged", "kv-version-vanished", message);
}

/**
 * @code caller-gone The caller did not wait for the answer.
 * @remedy Nothing; a longer timeout at the client helps if it recurs.
 */
export function callerGone(): Failure {
  return new Failure("timed-out", "caller-gone", "the caller did not wait for the answer");
}
