// Every way this room refuses.

import { Failure } from "../base/failure.ts";

export function nameRefused(what: string): Failure {
  return new Failure("invalid", "namespace-name", `the name of a namespace is not valid: ${what}`);
}

export function tooDeep(most: number): Failure {
  const message = `namespaces may be nested at most ${most} deep`;
  return new Failure("invalid", "namespace-too-deep", message);
}

export function pathTooLong(most: number): Failure {
  const message = `the path of a namespace, from root, may have at most ${most} characters`;
  return new Failure("invalid", "namespace-path-too-long", message);
}

export function tooMany(most: number): Failure {
  const message = `there may be at most ${most} namespaces; delete one first`;
  return new Failure("invalid", "namespaces-too-many", message);
}

export function metadataRefused(accepted: string): Failure {
  return new Failure("invalid", "namespace-metadata", `custom_metadata must be ${accepted}`);
}

/** As for anything that is absent: no text. */
export function notFound(): Failure {
  return new Failure("not-found", "namespace-not-found", "no such namespace", { texts: [] });
}

export function parentMissing(): Failure {
  const message = "the parent namespace does not exist; create it first";
  return new Failure("invalid", "namespace-parent-missing", message);
}

/** It went between the look-up and the transaction. */
export function baseGone(): Failure {
  const message = "the namespace of this request is being deleted";
  return new Failure("conflict", "namespace-gone", message);
}

export function beingDeleted(): Failure {
  const message = "a namespace of this name is being deleted; try again when it is gone";
  return new Failure("conflict", "namespace-being-deleted", message);
}

export function otherCase(): Failure {
  const message = "there is a namespace whose name differs in upper and lower case only";
  return new Failure("conflict", "namespace-other-case", message);
}

export function pathTaken(by: string): Failure {
  return new Failure("conflict", "namespace-path-taken", `the path is in use by ${by}`);
}

export function hasChildren(): Failure {
  const message = "the namespace has child namespaces; delete those first";
  return new Failure("invalid", "namespace-has-children", message);
}
