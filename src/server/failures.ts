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
