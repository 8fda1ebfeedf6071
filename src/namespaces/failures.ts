// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code namespace-name The name of a namespace is not valid.
 * @remedy Keep to what the text says.
 */
export function nameRefused(what: string): Failure {
  return new Failure("invalid", "namespace-name", `the name of a namespace is not valid: ${what}`);
}

/**
 * @code namespace-too-deep Namespaces would be nested too deep.
 * @remedy Create it nearer to the root.
 */
export function tooDeep(max: number): Failure {
  const message = `namespaces may be nested at most ${max} deep`;
  return new Failure("invalid", "namespace-too-deep", message);
}

/**
 * @code namespace-path-too-long The path of the namespace would be too long.
 * @remedy Use shorter names.
 */
export function pathTooLong(max: number): Failure {
  const message = `the path of a namespace, from root, may have at most ${max} characters`;
  return new Failure("invalid", "namespace-path-too-long", message);
}

/**
 * @code namespaces-too-many There are as many namespaces as there may be.
 * @remedy Delete one first.
 */
export function tooMany(max: number): Failure {
  const message = `there may be at most ${max} namespaces; delete one first`;
  return new Failure("invalid", "namespaces-too-many", message);
}

/**
 * @code namespace-metadata custom_metadata is not a small object of texts.
 * @remedy Keep to the limits that the text gives.
 */
export function metadataRefused(accepted: string): Failure {
  return new Failure("invalid", "namespace-metadata", `custom_metadata must be ${accepted}`);
}

/**
 * As for anything that is absent: no text.
 * @code namespace-not-found There is no such namespace.
 * @remedy List them; check the namespace of the request.
 */
export function notFound(): Failure {
  return new Failure("not-found", "namespace-not-found", "no such namespace", { texts: [] });
}

/**
 * @code namespace-parent-missing The parent of the namespace does not exist.
 * @remedy Create it first.
 */
export function parentMissing(): Failure {
  const message = "the parent namespace does not exist; create it first";
  return new Failure("invalid", "namespace-parent-missing", message);
}

/** It went between the look-up and the transaction. */
export function baseGone(): Failure {
  const message = "the namespace of this request is being deleted";
  return new Failure("conflict", "namespace-gone", message);
}

/**
 * @code namespace-being-deleted A namespace of this name is being deleted.
 * @remedy Try again when it is gone.
 */
export function beingDeleted(): Failure {
  const message = "a namespace of this name is being deleted; try again when it is gone";
  return new Failure("conflict", "namespace-being-deleted", message);
}

/**
 * @code namespace-other-case A namespace has this name in other upper and lower case.
 * @remedy Use that one, or another name.
 */
export function otherCase(): Failure {
  const message = "there is a namespace whose name differs in upper and lower case only";
  return new Failure("conflict", "namespace-other-case", message);
}

/**
 * @code namespace-path-taken Something else has the path of the namespace.
 * @remedy Choose another name.
 */
export function pathTaken(by: string): Failure {
  return new Failure("conflict", "namespace-path-taken", `the path is in use by ${by}`);
}

/**
 * @code namespace-has-children The namespace has namespaces below it.
 * @remedy Delete those first.
 */
export function hasChildren(): Failure {
  const message = "the namespace has child namespaces; delete those first";
  return new Failure("invalid", "namespace-has-children", message);
}
