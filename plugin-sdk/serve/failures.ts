// Every way in which a plugin refuses by itself.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code plugin-path-unsupported A plugin was asked for a path that it does not have.
 * @remedy Look at the paths of the plugin in its help.
 */
export function unsupportedPath(): Failure {
  return new Failure("not-found", "plugin-path-unsupported", "unsupported path", { texts: [] });
}

/**
 * @code plugin-operation-unsupported A plugin was asked for something that its path does not do.
 * @remedy Look at what the path does in its help.
 */
export function unsupportedOperation(): Failure {
  return new Failure("unsupported", "plugin-operation-unsupported", "unsupported operation");
}

/**
 * @code plugin-answer-unsupported A plugin answered in a way that only built-in engines can.
 * @remedy Tell whoever made the plugin.
 */
export function noSuchAnswer(): Failure {
  const message = "a plugin answers with data or a text, and not with a stream";
  return new Failure("internal", "plugin-answer-unsupported", message);
}

/**
 * @code plugin-secret-unknown A plugin was asked to renew or revoke a secret that it does not know.
 * @remedy Register the version of the plugin that gave the secret, or give the lease up with
 *   revoke-force.
 */
export function unknownSecret(): Failure {
  const message = "the plugin has no secrets of the kind that it is to end or renew";
  return new Failure("upstream", "plugin-secret-unknown", message);
}

/**
 * @code plugin-host-without-transactions A plugin that needs transactions was started by a host without them.
 * @remedy Run the plugin with Holdfast.
 */
export function needsTransactions(): Failure {
  const message =
    "this plugin needs transactions, which the server that started it does not have: it runs with Holdfast";
  return new Failure("unsupported", "plugin-host-without-transactions", message);
}

export const NOT_SERVED = "plugin-declaration-unsupported";

/**
 * @code plugin-declaration-unsupported A plugin declares what only a built-in engine can.
 * @remedy Tell whoever made the plugin; the text names the declaration.
 */
export function notServed(where: string, what: string): Failure {
  const message = `${where}: ${what} is for engines that are built in`;
  return new Failure("invalid", NOT_SERVED, message);
}
