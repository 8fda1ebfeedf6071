// What this mount calls the provider with: made from the whole configuration as it is now, and kept only
// as long as that stays the same (T-I02), half an hour at most.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { RequestIds } from "../../cloud/request-ids.ts";
import { Arm } from "./arm.ts";
import type { Config, Effective } from "../rotation/config.ts";
import { type Endpoints, endpointsFor } from "./environments.ts";
import * as failures from "../failures.ts";
import { Graph } from "./graph.ts";
import { Groups } from "./groups.ts";
import { Http } from "./http.ts";
import { Service } from "./bearer-calls.ts";
import { type Credentials, requestToken, type TokenParts, Tokens } from "./token.ts";

export interface Connection {
  readonly effective: Effective;
  readonly endpoints: Endpoints;
  readonly graph: Graph;
  readonly groups: Groups;
  readonly arm: Arm;
  /** Ids of what is changed from here on under this signal. */
  noting(signal: AbortSignal): RequestIds;
  /** Asks for a fresh token with another secret: throws unless the provider takes it. */
  prove(clientId: string, secret: string, signal: AbortSignal): Promise<void>;
}

interface Kept {
  readonly fingerprint: string;
  readonly until: Nanos;
  readonly connection: Connection;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LIFE: Nanos = 30n * MINUTE;

export class Connections {
  readonly #needs: EngineNeeds;
  readonly #config: Config;
  readonly #http: Http;
  #kept: Kept | null = null;
  #made = 0;

  constructor(needs: EngineNeeds, config: Config) {
    this.#needs = needs;
    this.#config = config;
    this.#http = new Http(needs);
  }

  async current(): Promise<Connection> {
    const effective = await this.#config.effective();
    if (effective === null) throw failures.notConfigured();
    const fingerprint = JSON.stringify(effective);
    const now = this.#needs.clock.elapsed();
    if (this.#kept?.fingerprint === fingerprint && this.#kept.until > now) {
      return this.#kept.connection;
    }
    const connection = this.#connect(effective);
    this.#kept = { fingerprint, until: now + LIFE, connection };
    return connection;
  }

  /** For what was made earlier: refuses where the configuration is surely of another tenant, in which
   *  "not there" would mean nothing. Names of tenants other than ids cannot be told apart. */
  async in(tenantId: string): Promise<Connection> {
    const connection = await this.current();
    const now = connection.effective.tenantId;
    const known = ID.test(tenantId) && ID.test(now);
    if (known && tenantId.toLowerCase() !== now.toLowerCase()) throw failures.otherTenant(tenantId);
    return connection;
  }

  drop(): void {
    this.#kept = null;
  }

  #connect(effective: Effective): Connection {
    const needs = this.#needs;
    const http = this.#http;
    const endpoints = endpointsFor(effective.environment, needs);
    const { tenantId } = effective;
    const identity = `${tenantId}/${effective.clientId}/${++this.#made}`;
    const parts: TokenParts = {
      needs,
      http,
      endpoints,
      tenantId,
      credentials: credentialsOf(effective),
      identity,
    };
    const tokens = new Tokens(parts);
    const common = { http, tokens, identity, secrets: [effective.clientSecret] };
    const directory = new Service({ ...common, base: endpoints.graph });
    return {
      effective,
      endpoints,
      graph: new Graph(directory),
      groups: new Groups(directory),
      arm: new Arm(new Service({ ...common, base: endpoints.arm })),
      noting: (signal) => http.noting(signal),
      prove: async (clientId, secret, signal) => {
        const credentials: Credentials = { kind: "secret", clientId, secret };
        const other = { ...parts, credentials, identity: `${identity}/prove` };
        await requestToken(other, endpoints.graph, signal);
      },
    };
  }
}

/** The first that there is. */
function credentialsOf(effective: Effective): Credentials {
  const { clientId, clientSecret, audience, identityTtl } = effective;
  if (clientSecret !== "") return { kind: "secret", clientId, secret: clientSecret };
  if (audience !== "") return { kind: "identity", clientId, audience, seconds: identityTtl };
  return { kind: "machine", clientId };
}
