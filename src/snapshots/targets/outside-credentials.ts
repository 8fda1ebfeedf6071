// Credentials of the server's environment and files are the operator's: they go to the provider's own hosts, and to
// those that the server's own file names. Who writes a configuration names no other host for them.

import { credentialsNeeded } from "./failures.ts";
import { CLOUDB_DOMAINS, type TargetSettings } from "./settings.ts";

export interface CredentialRules {
  /** Names and addresses of hosts in the server's own file. */
  readonly namedHosts: readonly string[];
}

const CLOUDA_HOST =
  /^s3(?:-fips)?(?:\.dualstack)?(?:\.[a-z]{2,8}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2})?\.amazonaws\.com(?:\.cn)?$/;
const CLOUDC_HOST = /^storage\.googleapis\.com$/;
const DOMAINS = [...new Set(CLOUDB_DOMAINS.values())].map((one) => one.replaceAll(".", "\\."));
const CLOUDB_HOST = new RegExp(`^[a-z0-9]{3,24}\\.blob\\.(?:${DOMAINS.join("|")})$`);

/** Throws a Failure where credentials that the settings leave out would go to a host that is not theirs. */
export function checkOutsideCredentials(
  settings: TargetSettings,
  { namedHosts }: CredentialRules,
): void {
  const needed = outsideOf(settings);
  if (needed === null) return;
  const { fields, endpoint, field, plain, own } = needed;
  if (endpoint === "" && !plain) return;
  const url = endpoint === "" ? null : urlOf(endpoint);
  if (url !== null) {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (namedHosts.some((named) => named.toLowerCase() === host)) return;
    if (own.test(host) && !plain && url.protocol === "https:") return;
  }
  throw credentialsNeeded(fields, field);
}

/** Which fields are left out, and where what stands for them would go; null where nothing is left out. */
function outsideOf(settings: TargetSettings) {
  switch (settings.storageType) {
    case "local":
      return null;
    case "clouda-store": {
      if (settings.accessKeyId !== "") return null;
      const fields = "clouda_access_key_id and clouda_secret_access_key";
      const { endpoint, disableTls: plain } = settings;
      return { fields, endpoint, field: "clouda_store_endpoint", plain, own: CLOUDA_HOST };
    }
    case "cloudb-blob": {
      if (settings.accountKey !== "") return null;
      const { endpoint } = settings;
      const fields = "cloudb_account_key";
      return { fields, endpoint, field: "cloudb_endpoint", plain: false, own: CLOUDB_HOST };
    }
    case "cloudc-store": {
      if (settings.serviceAccountKey !== "") return null;
      const { endpoint, disableTls: plain } = settings;
      const fields = "cloudc_service_account_key";
      return { fields, endpoint, field: "cloudc_endpoint", plain, own: CLOUDC_HOST };
    }
  }
}

/** Null for what is none, which whoever opens the target refuses in words. */
function urlOf(endpoint: string): URL | null {
  const text = /^[a-z]+:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`;
  return URL.canParse(text) ? new URL(text) : null;
}
