// A mount of cloud A: what its parts have in common, and the parts. Endpoints are in api-*.ts.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { KeyedMutex } from "../cloud/keyed-mutex.ts";
import { Clients } from "./provider/clients.ts";
import { halfPairs } from "./provider/credential-source.ts";
import { Credentials } from "./roles/creds.ts";
import { LeaseConfig } from "./roles/lease-config.ts";
import type { CloudAProvider } from "./provider/provider.ts";
import { Roles } from "./roles/roles.ts";
import { RootConfig } from "./keys/root-config.ts";
import { RootRotation } from "./keys/root-rotation.ts";
import { StaticRoles } from "./keys/static-roles.ts";
import { Users } from "./roles/users.ts";
import { showRootRotated } from "../cloud/metrics.ts";

export class CloudA {
  readonly given: EngineNeeds;
  /** By "user/<IAM user>" for those that hold keys we rotate, by "role/<name>" for writes of roles. */
  readonly locks = new KeyedMutex();
  readonly rootConfig: RootConfig;
  readonly leaseConfig: LeaseConfig;
  readonly rotation: RootRotation;
  readonly roles: Roles;
  readonly staticRoles: StaticRoles;
  readonly users: Users;
  readonly credentials: Credentials;
  readonly clients: Clients;

  constructor(given: EngineNeeds) {
    this.given = given;
    this.rootConfig = new RootConfig(given);
    this.leaseConfig = new LeaseConfig(given);
    this.clients = new Clients(given, this.rootConfig);
    this.rotation = new RootRotation(this);
    this.roles = new Roles(this);
    this.staticRoles = new StaticRoles(this);
    this.users = new Users(this);
    this.credentials = new Credentials(this);
  }

  /** Calls to the provider with the root credentials of now, until the signal ends them. Refuses with an
   *  "invalid" Failure where there are none. */
  provider(
    signal: AbortSignal,
    options: { readonly patient?: boolean } = {},
  ): Promise<CloudAProvider> {
    return this.clients.provider(signal, options);
  }

  async open(): Promise<void> {
    const root = await this.rootConfig.read();
    showRootRotated(this.given.metrics, root?.rootKeyCreated ?? null);
    for (const what of halfPairs(this.given.environment)) this.given.log.warn(what);
    await this.staticRoles.open();
  }

  close(): void {
    this.staticRoles.close();
    this.clients.close();
  }
}
