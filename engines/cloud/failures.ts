// Every way this room refuses.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code provider-refused The cloud refused a request as wrong.
 * @remedy Read what it says in the text; correct the role or the configuration.
 */
export function providerRefused(message: string): Failure {
  return new Failure("invalid", "provider-refused", message);
}

/**
 * @code provider-forbidden The cloud does not allow the credentials of the mount to do this.
 * @remedy Give them the permissions that docs/operations/cloud-engines.md lists.
 */
export function providerForbidden(message: string): Failure {
  return new Failure("invalid", "provider-forbidden", message);
}

/**
 * @code provider-unreachable The cloud could not be reached.
 * @remedy Check the network, proxies and the address of the endpoint; it is tried again where that
 *   is safe.
 */
export function providerUnreachable(message: string): Failure {
  return new Failure("upstream", "provider-unreachable", message);
}

/**
 * @code provider-failed The cloud failed, or its answer did not arrive whole.
 * @remedy Try again; read what it says in the text.
 */
export function providerFailed(message: string): Failure {
  return new Failure("upstream", "provider-failed", message);
}

/**
 * @code leases-uncounted A region that shares the mount has not said how many leases it has given by the role.
 * @remedy Wait until the region is reached again, or give force=true: what it has given lives on there until it ends.
 */
export function leasesUncounted(count: number): Failure {
  const who =
    count === 1
      ? "a region that shares this mount is"
      : `${count} regions that share this mount are`;
  const message = `${who} not reached, and may have leases of the role; nothing was changed: try again, or give force=true`;
  return new Failure("unavailable", "leases-uncounted", message);
}

export function fieldInvalid(message: string): Failure {
  return new Failure("invalid", "field-invalid", message);
}
