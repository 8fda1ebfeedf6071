// A mount of cloud A: what its parts have in common, and the parts. Endpoints are in api-*.ts.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { RotationConcerns } from "../cloud/rotation-concerns.ts";
import { KeyedMutex } from "../cloud/keyed-mutex.ts";
import { Clients } from "./provider/clients.ts";
import { halfPairs } from "./provider/credential-source.ts";
import { Credentials } from "./roles/creds.ts";
import { LeaseConfig } from "./roles/lease-config.ts";
import { Roles } from "./roles/roles.ts";
import { RootConfig } from "./keys/root-config.ts";
import { ROOT_PLACE, RootRotation } from "./keys/root-rotation.ts";
import { StaticRoles } from "./keys/static-roles.ts";
import { Users } from "./roles/users.ts";
import { showRootRotated } from "../cloud/metrics.ts";

export class CloudA {
  readonly needs: EngineNeeds;
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
  readonly concerns: RotationConcerns;

  constructor(needs: EngineNeeds) {
    this.needs = needs;
    const { locks } = this;
    const rootConfig = new RootConfig(needs);
    const clients = new Clients(needs, rootConfig);
    const concerns = new RotationConcerns(needs.clock);
    const keys = { needs, locks, rootConfig, clients, concerns };
    this.rootConfig = rootConfig;
    this.leaseConfig = new LeaseConfig(needs);
    this.clients = clients;
    this.concerns = concerns;
    this.rotation = new RootRotation(keys);
    this.staticRoles = new StaticRoles(keys);
    this.roles = new Roles(needs);
    this.users = new Users(needs, clients);
    const { leaseConfig, roles, users } = this;
    const parts = { needs, clients, rootConfig, leaseConfig, roles, users };
    this.credentials = new Credentials(parts);
  }

  async open(): Promise<void> {
    await this.#knowRoot();
    for (const what of halfPairs(this.needs.environment)) this.needs.log.warn(what);
    await this.staticRoles.open();
  }

  async #knowRoot(): Promise<void> {
    const root = await this.rootConfig.read();
    showRootRotated(this.needs.metrics, root?.rootKeyCreated ?? null);
    if (root !== null) this.concerns.knowRoot(ROOT_PLACE, root.standing);
  }

  /** What could not be revoked with the key of before perhaps can with this one. */
  configuredElsewhere(): void {
    this.clients.changed();
    const { leases, log } = this.needs;
    Promise.all([this.#knowRoot(), leases.retryStuck()]).catch(() =>
      log.error("the root configuration that another cluster has written could not be read"),
    );
  }

  close(): void {
    this.staticRoles.close();
    this.concerns.clear();
    this.clients.close();
  }
}
