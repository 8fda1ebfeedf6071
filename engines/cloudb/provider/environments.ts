// The clouds of the provider by the names that operators write, and where each is called.
// Nothing that a caller writes becomes part of a host: only one of these, or what
// the server's own configuration says.

import { isObject } from "@holdfast/shared/json/json";
import { withoutLastSlashes } from "@holdfast/shared/text/slashes";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import * as failures from "../failures.ts";
import { textIn } from "./provider-answer.ts";

/** Each without a slash at the end, as in scopes and in references to objects. */
export interface Endpoints {
  /** Where tokens are had. */
  readonly authority: string;
  readonly graph: string;
  readonly arm: string;
}

type Bases = readonly [authority: string, graph: string, arm: string];

const PUBLIC: Bases = [
  "https://login.microsoftonline.com",
  "https://graph.microsoft.com",
  "https://management.azure.com",
];
const US_GOVERNMENT: Bases = [
  "https://login.microsoftonline.us",
  "https://graph.microsoft.us",
  "https://management.usgovcloudapi.net",
];
const CHINA: Bases = [
  "https://login.chinacloudapi.cn",
  "https://microsoftgraph.chinacloudapi.cn",
  "https://management.chinacloudapi.cn",
];

/** In lower case: the case of letters does not matter. */
const BY_NAME: ReadonlyMap<string, Bases> = new Map([
  ["", PUBLIC],
  ["cloudbpubliccloud", PUBLIC],
  ["azurepubliccloud", PUBLIC],
  ["cloudbusgovernmentcloud", US_GOVERNMENT],
  ["azureusgovernmentcloud", US_GOVERNMENT],
  ["cloudbchinacloud", CHINA],
  ["azurechinacloud", CHINA],
]);

const NAMES: ReadonlyMap<Bases, string> = new Map([
  [PUBLIC, "CloudBPublicCloud"],
  [US_GOVERNMENT, "CloudBUSGovernmentCloud"],
  [CHINA, "CloudBChinaCloud"],
]);

/** The one name of a cloud; what is none as it is. */
export function environmentName(name: string): string {
  const bases = BY_NAME.get(name.toLowerCase());
  return bases === undefined ? name : (NAMES.get(bases) ?? name);
}

export function isEnvironment(name: string): boolean {
  return BY_NAME.has(name.toLowerCase());
}

/** Those of the server's configuration win over all. Throws for a name that nobody knows. */
export function endpointsFor(
  environment: string,
  { outbound, settings }: Pick<EngineNeeds, "outbound" | "settings">,
): Endpoints {
  const named = BY_NAME.get(environment.toLowerCase());
  if (named === undefined) throw failures.environmentUnknown();
  const { endpoints: own } = settings;
  const [authority, graph, arm] = isObject(own)
    ? [textIn(own, "authority"), textIn(own, "graph"), textIn(own, "arm")]
    : named;
  const read = (field: string, text: string) =>
    withoutLastSlashes(
      outbound.endpoint(`cloudb_endpoints.${field}`, text, { plain: isLoopback(text) }).href,
    );
  return {
    authority: read("authority", authority),
    graph: read("graph", graph),
    arm: read("arm", arm),
  };
}

/** Plain http is for this machine alone. */
export function isLoopback(url: string | URL): boolean {
  return /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?(\/|$)/.test(String(url));
}
