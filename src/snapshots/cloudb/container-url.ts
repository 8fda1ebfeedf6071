// Where a container is called: below the host of its account, or below an endpoint.

import type { StreamingOutbound } from "@holdfast/plugin-sdk/outbound";
import { CLOUDB_DOMAINS, type CloudBSettings } from "../targets/settings.ts";

/** Without a slash at the end. Throws a Failure that names the field. */
export function containerUrl(
  { container, environment, endpoint }: CloudBSettings,
  account: string,
  outbound: Pick<StreamingOutbound, "endpoint">,
): string {
  // The key goes over it with every request, so http is for this machine alone.
  const base =
    endpoint === ""
      ? `https://${account}.blob.${CLOUDB_DOMAINS.get(environment.toLowerCase()) ?? ""}`
      : outbound.endpoint("cloudb_endpoint", endpoint, { plain: "loopback" }).href;
  return `${base.replace(/\/+$/, "")}/${container}`;
}
