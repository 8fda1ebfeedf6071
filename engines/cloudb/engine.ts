// A mount of cloud B: its parts, each with what it uses of the others. Endpoints are in api/.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { RotationConcerns } from "../cloud/rotation-concerns.ts";
import { KeyedMutex } from "../cloud/keyed-mutex.ts";
import { Connections } from "./provider/connection.ts";
import { Lookups } from "./provider/lookups.ts";
import { type Patiently, withPatience } from "./provider/patience.ts";
import { Issuing } from "./roles/issuing.ts";
import { Passwords } from "./roles/passwords.ts";
import { Persistence } from "./roles/persistence.ts";
import { Principals } from "./roles/principals.ts";
import { Removal } from "./roles/removal.ts";
import { RoleStore } from "./roles/role-store.ts";
import { Roles } from "./roles/roles.ts";
import { Config } from "./rotation/config.ts";
import { RootRotation } from "./rotation/rotation.ts";
import { RotationCleanup } from "./rotation/rotation-cleanup.ts";

export class CloudB {
  readonly needs: EngineNeeds;
  readonly config: Config;
  readonly connections: Connections;
  readonly rotation: RootRotation;
  readonly rotationCleanup: RotationCleanup;
  readonly removal: Removal;
  readonly roleStore: RoleStore;
  readonly roles: Roles;
  readonly issuing: Issuing;
  readonly concerns: RotationConcerns;
  readonly #closing = new AbortController();

  constructor(needs: EngineNeeds) {
    // By "rotate-root", "role/<name>" for changes of roles, "application/<object id>" for passwords.
    const locks = new KeyedMutex();
    const patiently: Patiently = (within, work, options = {}) => {
      const stop = [this.#closing.signal, ...(options.stop ?? [])];
      return withPatience(needs, { ...options, within, stop }, work);
    };
    const config = new Config(needs);
    const connections = new Connections(needs, config);
    const common = { needs, locks, connections, patiently };

    const roleStore = new RoleStore(needs.storage);
    const principals = new Principals(needs, patiently);
    const passwords = new Passwords(common);
    const persistence = new Persistence({ ...common, roleStore, principals });
    const lookups = new Lookups(connections);

    this.needs = needs;
    this.config = config;
    this.connections = connections;
    this.roleStore = roleStore;
    this.roles = new Roles({ ...common, roleStore, lookups, persistence });
    this.removal = new Removal({ ...common, roleStore, persistence });
    this.issuing = new Issuing({ ...common, roleStore, passwords, principals });
    this.rotationCleanup = new RotationCleanup({ needs, config, connections });
    this.concerns = new RotationConcerns(needs.clock);
    const { rotationCleanup: cleanup, concerns } = this;
    this.rotation = new RootRotation({ ...common, config, cleanup, concerns });
  }

  /** What could not be revoked with the account of before perhaps can with this one. */
  configuredElsewhere(): void {
    this.connections.drop();
    const { leases, log } = this.needs;
    leases
      .retryStuck()
      .catch(() =>
        log.error("leases that are stuck could not be looked at for a new configuration"),
      );
  }

  /** What still runs is cut off; its write-ahead records tell what it has made. */
  close(): void {
    this.#closing.abort();
    this.connections.drop();
  }
}
