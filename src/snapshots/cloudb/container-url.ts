// Where a container is called: below the host of its account, or below an endpoint.

import type { StreamingOutbound } from "@holdfast/plugin-sdk/outbound";
import type { CloudBSettings } from "../targets/settings.ts";

/** In lower case: the case of letters does not matter. The empty one is the usual. */
const DOMAINS: ReadonlyMap<string, string> = new Map([
  ["", "core.windows.net"],
  ["cloudbpubliccloud", "core.windows.net"],
  ["azurepubliccloud", "core.windows.net"],
  ["cloudbusgovernmentcloud", "core.usgovcloudapi.net"],
  ["azureusgovernmentcloud", "core.usgovcloudapi.net"],
  ["cloudbchinacloud", "core.chinacloudapi.cn"],
  ["azurechinacloud", "core.chinacloudapi.cn"],
]);

export const ENVIRONMENTS = ["CloudBPublicCloud", "CloudBUSGovernmentCloud", "CloudBChinaCloud"];

export function isEnvironment(name: string): boolean {
  return DOMAINS.has(name.toLowerCase());
}

/** Without a slash at the end. Throws a Failure that names the field. */
export function containerUrl(
  { container, environment, endpoint }: CloudBSettings,
  account: string,
  outbound: Pick<StreamingOutbound, "endpoint">,
): string {
  // The key goes over it with every request, so http is for this machine alone.
  const base =
    endpoint === ""
      ? `https://${account}.blob.${DOMAINS.get(environment.toLowerCase()) ?? ""}`
      : outbound.endpoint("cloudb_endpoint", endpoint, { plain: "loopback" }).href;
  return `${base.replace(/\/+$/, "")}/${container}`;
}
