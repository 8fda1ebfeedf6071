// The clients of a mount, kept as long as nothing changes that they depend on: the whole configuration and
// the environment's credentials (T-I02). They are never shared between mounts.

import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { RequestIds } from "../../cloud/request-ids.ts";
import { accountOf, OwnAccount } from "./account.ts";
import {
  type CredentialSource,
  credentialSource,
  type RootCredentials,
  variablesOf,
} from "./credential-source.ts";
import type { CloudAProvider, NewAccessKey } from "./provider.ts";
import { ProviderCalls } from "./provider-calls.ts";
import { effectiveRegion } from "./region.ts";
import { EMPTY, type RootConfig, type StoredRoot } from "../keys/root-config.ts";
import { type SdkClients, sdkClients } from "./sdk.ts";
import { Binding, type BoundCalls, IamCalls, StsCalls } from "./sdk-calls.ts";
import { policyCalls } from "./sdk-policies.ts";
import { sessionCalls, webIdentity } from "./sdk-sessions.ts";
import { userExtraCalls } from "./sdk-user-extras.ts";
import { userCalls } from "./sdk-users.ts";

interface Kept {
  /** What it was made for. */
  readonly made: string;
  readonly clients: Promise<SdkClients>;
  readonly source: CredentialSource;
  readonly calls: ProviderCalls;
  /** For jobs. */
  readonly patient: ProviderCalls;
  readonly account: OwnAccount;
  /** Of the root configuration; empty: the credentials come from elsewhere. */
  readonly key: string;
}

/** The root key that rotate-root has replaced, and by which. */
interface Replacement {
  readonly from: string;
  readonly to: string;
}

export class Clients {
  readonly #needs: EngineNeeds;
  readonly #rootConfig: RootConfig;
  #kept: Kept | null = null;
  #keyMade: Nanos | null = null;
  #replaced: Replacement | null = null;
  #counted = 0; // so that two generations never share a connection

  constructor(needs: EngineNeeds, rootConfig: RootConfig) {
    this.#needs = needs;
    this.#rootConfig = rootConfig;
  }

  /** `patient`: throttling is waited out for longer, for jobs that nobody waits for. `ids`: of what is changed. */
  async provider(
    signal: AbortSignal,
    { patient = false, ids }: { readonly patient?: boolean; readonly ids?: RequestIds } = {},
  ): Promise<CloudAProvider> {
    const kept = await this.#current();
    const calls = (one: Kept) => (patient ? one.patient : one.calls);
    const renew = async () => {
      const renewed = await this.#renewed(kept);
      return renewed && { clients: await renewed.clients, calls: calls(renewed), signal, ids };
    };
    return provided({ ...kept, calls: calls(kept) }, { signal, ids }, renew);
  }

  async #current(): Promise<Kept> {
    // Read each time: another node may have changed it.
    const root = await this.#rootConfig.read();
    const { environment } = this.#needs;
    const region = effectiveRegion(root?.region ?? "", environment);
    const made = JSON.stringify([root, region, variablesOf(environment)]);
    if (this.#kept?.made !== made) {
      this.drop();
      this.#kept = this.#make(root, made, this.#keyMade);
    }
    return this.#kept;
  }

  /** For a call under way whose key was rotated and is gone: with the one in its place. A key that somebody
   *  has written instead may be of another account, in which such a call would go on where it did not begin. */
  async #renewed({ key }: Kept): Promise<Kept | null> {
    const root = await this.#rootConfig.read();
    const replaced = this.#replaced;
    if (replaced === null || key !== replaced.from || root?.accessKey !== replaced.to) return null;
    return this.#current();
  }

  /** Calls with this configuration, whatever is stored; nothing is kept. A fresh key is not waited for. */
  providerOf(root: StoredRoot, signal: AbortSignal): Promise<CloudAProvider> {
    return provided(this.#make(root, "", null), { signal });
  }

  /** Calls with a key that was made for somebody else, to see whether it works. */
  providerWith(
    key: NewAccessKey,
    root: StoredRoot | null,
    signal: AbortSignal,
  ): Promise<CloudAProvider> {
    const pair = { accessKey: key.id, secretKey: key.secret, maxRetries: 0 };
    return this.providerOf({ ...(root ?? EMPTY), ...pair }, signal);
  }

  /** The root key is a new one: not everybody at the provider may know it yet. */
  rotated(replaced: Replacement): void {
    this.drop();
    this.#replaced = replaced;
    this.#keyMade = this.#needs.clock.elapsed();
  }

  /** Another cluster has written which key it is: perhaps one that it has just made. */
  changed(): void {
    this.drop();
    this.#keyMade = this.#needs.clock.elapsed();
  }

  /** The next call is made by new clients. What is under way ends by itself. */
  drop(): void {
    const kept = this.#kept;
    this.#kept = null;
    kept?.clients.then(
      ({ iam, sts }) => [iam, ...sts].forEach((client) => client.destroy()),
      () => {}, // they were never made
    );
  }

  close(): void {
    this.drop();
  }

  #make(root: StoredRoot | null, made: string, keyMade: Nanos | null): Kept {
    const needs = this.#needs;
    const secrets = new Set<string>(root === null || root.secretKey === "" ? [] : [root.secretKey]);
    const rules = { maxRetries: root?.maxRetries ?? -1, keyMade };
    const calls = new ProviderCalls(needs, rules);
    const patient = new ProviderCalls(needs, { ...rules, patient: true });
    const identity = `${++this.#counted} ${root?.accessKey ?? ""}`;
    const parts = { root, needs, identity, secrets: () => [...secrets] };
    const found = credentialSource({
      root,
      needs,
      exchange: async (token) => {
        if (root !== null) this.#rootConfig.checkIdentityEndpoints(root);
        secrets.add(token);
        return webIdentity({ parts, calls, token });
      },
    });
    const source = async () => remembered(await found(), secrets);
    const clients = sdkClients({ ...parts, credentials: source });
    clients.catch(() => {}); // told to whoever awaits it; nobody may, where there are no credentials
    const account = new OwnAccount();
    return { made, source, calls, patient, clients, account, key: root?.accessKey ?? "" };
  }
}

/** The SDK keeps what has no end for ever, and judges ends by a clock of its own: each source keeps its
 *  own, and is asked each time. */
const NEVER_CACHED = new Date(0);
const MAX_SECRETS = 16; // session credentials are replaced every hour or so; old ones have ended

function remembered(credentials: RootCredentials, secrets: Set<string>): RootCredentials {
  const { secretAccessKey, sessionToken } = credentials;
  for (const secret of [secretAccessKey, sessionToken])
    if (secret !== undefined) secrets.add(secret);
  for (const oldest of secrets) if (secrets.size > MAX_SECRETS) secrets.delete(oldest);
  return { ...credentials, expiration: NEVER_CACHED };
}

async function provided(
  { source, clients, calls, account }: Kept,
  bound: Pick<BoundCalls, "signal" | "ids">,
  renewed: () => Promise<BoundCalls | null> = async () => null,
): Promise<CloudAProvider> {
  const { sessionToken, accessKeyId } = await source();
  const binding = new Binding({ clients: await clients, calls, ...bound }, renewed);
  return sdkProvider(binding, { temporary: sessionToken !== undefined, accessKeyId, account });
}

/** CloudAProvider by the provider's own clients, put together from its parts. */
async function sdkProvider(
  bound: Binding,
  facts: Pick<CloudAProvider, "temporary" | "accessKeyId"> & { readonly account: OwnAccount },
): Promise<CloudAProvider> {
  const iam = new IamCalls(bound, await import("@aws-sdk/client-iam"));
  const sts = new StsCalls(bound, await import("@aws-sdk/client-sts"));
  const { account, ...rest } = facts;
  const sessions = sessionCalls(sts);
  return {
    ...userCalls(iam, ({ arn }) => account.learn(accountOf(arn))),
    ...policyCalls(iam),
    ...userExtraCalls(iam),
    ...sessions,
    account: async () => {
      if (account.id === null) account.learn((await sessions.callerIdentity()).account);
      return account.id ?? "";
    },
    knownAccount: () => account.id,
    ...rest,
  };
}
