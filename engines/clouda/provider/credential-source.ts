// Whose credentials the provider is called with: the first source (config/root, environment, files, the
// machine's role) that has any. What ends by itself is fetched anew in time.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EnvironmentVariables } from "@holdfast/plugin-sdk/engine-services";
import { noCredentials } from "../failures.ts";
import type { SessionCredentials } from "./provider.ts";
import { type StoredRoot, DEFAULT_TOKEN_TTL } from "../keys/root-config.ts";

export type SourceKind = "config" | "identity_token" | "environment" | "chain";

/** As the SDK takes them. */
export interface RootCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export type CredentialSource = () => Promise<RootCredentials>;

/** Two names each: ours, then the provider's own. */
const VARIABLES = [
  ["CLOUDA_ACCESS_KEY", "CLOUDA_SECRET_KEY", "CLOUDA_SESSION_TOKEN"],
  ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
] as const;
const FILES = ["AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"] as const;

/** What is used, without looking at files or at the machine. */
export function sourceOf(root: StoredRoot | null, environment: EnvironmentVariables): SourceKind {
  if (root !== null && root.accessKey !== "") return "config";
  if (root !== null && root.identityTokenAudience !== "") return "identity_token";
  return fromEnvironment(environment) === null ? "chain" : "environment";
}

/** Everything that the choice depends on: equal texts, equal credentials. */
export function variablesOf(environment: EnvironmentVariables): readonly (string | null)[] {
  return [...VARIABLES.flat(), ...FILES].map(environment);
}

export interface SourceParts {
  readonly root: StoredRoot | null;
  readonly needs: EngineNeeds;
  /** Exchanges an identity token for credentials of `roleArn`. */
  readonly exchange: (token: string) => Promise<SessionCredentials>;
}

export function credentialSource({ root, needs, exchange }: SourceParts): CredentialSource {
  const kind = sourceOf(root, needs.environment);
  if (kind === "config" && root !== null) {
    const { accessKey: accessKeyId, secretKey: secretAccessKey } = root;
    return async () => ({ accessKeyId, secretAccessKey });
  }
  if (kind === "identity_token" && root !== null) return fromIdentity(root, needs, exchange);
  const found = fromEnvironment(needs.environment);
  return found === null ? fromChain(needs.environment) : async () => found;
}

/** A pair of which one half is missing is passed over, which whoever has set it should know. */
export function halfPairs(environment: EnvironmentVariables): string[] {
  return VARIABLES.flatMap(([id, secret]) => {
    const [hasId, hasSecret] = [environment(id) !== null, environment(secret) !== null];
    if (hasId === hasSecret) return [];
    const [set, missing] = hasId ? [id, secret] : [secret, id];
    return [`${set} is set in the environment of the server and ${missing} is not: it is not used`];
  });
}

function fromEnvironment(environment: EnvironmentVariables): RootCredentials | null {
  for (const [id, secret, token] of VARIABLES) {
    const accessKeyId = environment(id);
    const secretAccessKey = environment(secret);
    if (accessKeyId === null || secretAccessKey === null) continue;
    const sessionToken = environment(token);
    const session = sessionToken === null ? {} : { sessionToken };
    return { accessKeyId, secretAccessKey, ...session };
  }
  return null;
}

const RENEWED_BEFORE = 5n * MINUTE;

function fromIdentity(
  root: StoredRoot,
  { identity, clock }: EngineNeeds,
  exchange: SourceParts["exchange"],
): CredentialSource {
  let held: { readonly credentials: Promise<SessionCredentials>; until: bigint } | null = null;
  const fetched = async () => {
    const seconds = root.identityTokenTtl === 0 ? DEFAULT_TOKEN_TTL : root.identityTokenTtl;
    return exchange(await identity.token(root.identityTokenAudience, BigInt(seconds) * SECOND));
  };
  return async () => {
    if (held === null || clock.now() >= held.until) {
      const asking = { credentials: fetched(), until: clock.now() + MINUTE };
      held = asking; // whoever comes meanwhile waits for the same answer
      asking.credentials.then(
        ({ expires }) => (asking.until = expires - RENEWED_BEFORE),
        () => (held = held === asking ? null : held),
      );
    }
    const { accessKeyId, secretAccessKey, sessionToken } = await held.credentials;
    return { accessKeyId, secretAccessKey, sessionToken };
  };
}

/** Files, web identity, container and machine, in the order of the provider's own library, which reads the
 *  files and calls the machine's metadata addresses itself. */
function fromChain(environment: EnvironmentVariables): CredentialSource {
  let chain: Promise<CredentialSource> | null = null;
  const load = async (): Promise<CredentialSource> => {
    const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
    const [profile, filepath, configFilepath] = FILES.map(environment);
    return defaultProvider({
      ...(profile === null || profile === undefined ? {} : { profile }),
      ...(filepath === null || filepath === undefined ? {} : { filepath }),
      ...(configFilepath === null || configFilepath === undefined ? {} : { configFilepath }),
    });
  };
  return async () => {
    chain ??= load();
    const find = await chain;
    try {
      return await find();
    } catch {
      throw noCredentials("; none of them has any"); // its text may quote a file
    }
  };
}
