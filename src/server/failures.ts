// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

export function reloadFailed(message: string): Failure {
  return new Failure("invalid", "reload-failed", message);
}

/**
 * @code reload-unknown There is no such part to be reloaded.
 * @remedy Use one that the text lists.
 */
export function reloadUnknown(message: string): Failure {
  return new Failure("invalid", "reload-unknown", message);
}

/**
 * @code seal-key-unreadable The key file of the static seal cannot be read.
 * @remedy Check its path and permissions.
 */
export function sealKeyUnreadable(message: string): Failure {
  return new Failure("invalid", "seal-key-unreadable", message);
}

/**
 * @code exchange-running The data of this server is being exchanged for other data already.
 * @remedy Wait until that is over.
 */
export function exchangeRunning(): Failure {
  return new Failure("conflict", "exchange-running", "the data is being exchanged already");
}

/**
 * @code exchanging The data of this server is being exchanged for other data, which takes a moment.
 * @remedy Try again after the time that Retry-After says.
 */
export function exchanging(): Failure {
  const message = "the data of this server is being exchanged; try again in a moment";
  return new Failure("unavailable", "exchanging", message, { retryAfter: 1 });
}

/**
 * @code plugin-user-unknown The user that plugins are to run as is not known to the system.
 * @remedy Make the user, or name another one in plugin_user.
 */
export function pluginUserUnknown(name: string): Failure {
  const message = `plugin_user: there is no user ${name} on this machine`;
  return new Failure("upstream", "plugin-user-unknown", message);
}

/**
 * @code server-stopping The server is about to stop.
 * @remedy Try again when it has started.
 */
export function serverStopping(): Failure {
  return new Failure("unavailable", "server-stopping", "the server is about to stop");
}
