// The provider's own clients, loaded when first one is needed: they cost a quarter of a second and 25 MB.
// They sign and encode; sending, trying again and reading errors are ours (sdk-handler.ts,
// provider-calls.ts).

import type { IAMClient } from "@aws-sdk/client-iam";
import type { STSClient } from "@aws-sdk/client-sts";
import type { Clock } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { CredentialSource } from "./credential-source.ts";
import { effectiveRegion } from "./region.ts";
import type { StoredRoot } from "../keys/root-config.ts";
import { SdkHandler } from "./sdk-handler.ts";

export interface SdkClients {
  readonly iam: IAMClient;
  /** In the order in which they are tried. */
  readonly sts: readonly STSClient[];
}

export interface SdkParts {
  readonly root: StoredRoot | null;
  readonly needs: EngineNeeds;
  /** Null: nothing is signed. */
  readonly credentials: CredentialSource | null;
  readonly identity: string;
  readonly secrets: () => readonly string[];
}

export async function sdkClients(parts: SdkParts): Promise<SdkClients> {
  const { root, needs } = parts;
  const { IAMClient: Iam } = await import("@aws-sdk/client-iam");
  const { STSClient: Sts } = await import("@aws-sdk/client-sts");
  const region = effectiveRegion(root?.region ?? "", needs.environment);
  const stsRegion = root === null || root.stsRegion === "" ? region : root.stsRegion;
  const stsPlaces = [
    { region: stsRegion, endpoint: root?.stsEndpoint ?? "" },
    ...(root?.stsFallbackEndpoints ?? []).map((endpoint, at) => {
      const other = root?.stsFallbackRegions[at] ?? "";
      return { region: other === "" ? stsRegion : other, endpoint };
    }),
  ];
  const iam = new Iam(settings("iam", { region, endpoint: root?.iamEndpoint ?? "" }, parts));
  const sts = stsPlaces.map((place) => new Sts(settings("sts", place, parts)));
  for (const client of [iam, ...sts]) signByClock(client, needs.clock);
  return { iam, sts };
}

interface CallPlace {
  readonly region: string;
  /** Empty: the provider's, by region. */
  readonly endpoint: string;
}

/** Everything that the SDK would otherwise look for in files and in the environment is said here. */
function settings(service: string, { region, endpoint }: CallPlace, parts: SdkParts) {
  const { needs, credentials, identity, secrets } = parts;
  const plain = endpoint.startsWith("http:");
  return {
    region,
    ...(endpoint === "" ? {} : { endpoint }),
    ...(credentials === null ? {} : { credentials }),
    ignoreConfiguredEndpointUrls: true,
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    defaultsMode: "standard" as const,
    retryMode: "standard",
    maxAttempts: 1,
    authSchemePreference: [],
    disableClockSkewCorrection: true,
    customUserAgent: "holdfast",
    requestHandler: new SdkHandler({
      outbound: needs.outbound,
      service,
      plain,
      identity: `${service} ${identity}`,
      secrets,
    }),
  };
}

interface Signs {
  sign(request: unknown, options?: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Signatures carry a time: ours, as everywhere. */
function signByClock(client: IAMClient | STSClient, clock: Clock): void {
  const config = client.config as unknown as { signer: (scheme?: unknown) => Promise<Signs> };
  const { signer } = config;
  config.signer = async (scheme) => {
    const usual = await signer(scheme);
    return {
      sign: (request, options) => {
        const signingDate = new Date(Number(clock.now() / 1_000_000n));
        return usual.sign(request, { ...options, signingDate });
      },
    };
  };
}
