// Every way in which a target refuses what a configuration says.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code snapshot-endpoint-contradicts An endpoint begins with https:// and TLS is switched off.
 * @remedy Leave the field that switches it off away, or write the endpoint with http://.
 */
export function endpointContradicts(field: string, flag: string): Failure {
  const message = `${field} begins with https:// and ${flag} is true: they contradict each other`;
  return new Failure("invalid", "snapshot-endpoint-contradicts", message);
}

/**
 * @code snapshot-directory-refused The directory of local snapshots is not one that the server writes to.
 * @remedy Give an existing directory below one of snapshot_roots, owned by the server's user, mode 0700.
 */
export function directoryRefused(why: string): Failure {
  return new Failure("invalid", "snapshot-directory-refused", `path_prefix ${why}`);
}

/**
 * @code snapshot-service-account-invalid The service account key is not one.
 * @remedy Give the JSON file that the provider made for the service account, as it is.
 */
export function serviceAccountInvalid(why: string): Failure {
  const message = `cloudc_service_account_key must be the JSON of a service account: ${why}`;
  return new Failure("invalid", "snapshot-service-account-invalid", message);
}

/**
 * @code snapshot-credentials-needed Credentials of the server would go to a host that a configuration names.
 * @remedy Give credentials for it in the configuration, or name its host in outbound_allow of the server's file.
 */
export function credentialsNeeded(fields: string, endpoint: string): Failure {
  const message =
    `${fields} must be given: those of the server's environment and files go by https to the provider's own hosts, ` +
    `or to a host that outbound_allow names by itself, and ${endpoint} leads elsewhere`;
  return new Failure("invalid", "snapshot-credentials-needed", message);
}
