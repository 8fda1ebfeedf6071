// A mount of cloud B: what its parts have in common, and the parts. Endpoints are in api-*.ts.

import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { KeyedMutex } from "../cloud/keyed-mutex.ts";
import { Config } from "./rotation/config.ts";
import { Connections } from "./provider/connection.ts";
import { Issuing } from "./roles/issuing.ts";
import { Lookups } from "./provider/lookups.ts";
import { Passwords } from "./roles/passwords.ts";
import { Patience, type PatienceOptions } from "./provider/patience.ts";
import { Persistence } from "./roles/persistence.ts";
import { Principals } from "./roles/principals.ts";
import { Removal } from "./roles/removal.ts";
import { RoleLeases } from "./roles/role-leases.ts";
import { Roles } from "./roles/roles.ts";
import { RootRotation } from "./rotation/rotation.ts";
import { RotationCleanup } from "./rotation/rotation-cleanup.ts";

export class CloudB {
  readonly given: EngineNeeds;
  /** By "rotate-root", "role/<name>" for changes of roles, "application/<object id>" for passwords. */
  readonly locks = new KeyedMutex();
  readonly config: Config;
  readonly connections: Connections;
  readonly rotation: RootRotation;
  readonly rotationCleanup: RotationCleanup;
  readonly lookups: Lookups;
  readonly principals: Principals;
  readonly passwords: Passwords;
  readonly persistence: Persistence;
  readonly removal: Removal;
  readonly roles: Roles;
  readonly roleLeases: RoleLeases;
  readonly issuing: Issuing;
  readonly #closing = new AbortController();

  constructor(given: EngineNeeds) {
    this.given = given;
    this.config = new Config(given);
    this.connections = new Connections(given, this.config);
    this.rotation = new RootRotation(this);
    this.rotationCleanup = new RotationCleanup(this);
    this.lookups = new Lookups(this);
    this.principals = new Principals(this);
    this.passwords = new Passwords(this);
    this.removal = new Removal(this);
    this.persistence = new Persistence(this);
    this.roles = new Roles(this);
    this.roleLeases = new RoleLeases(given);
    this.issuing = new Issuing(this);
  }

  /** Time for one piece of work, which also ends when the engine closes. Whoever takes it says when it is
   *  done with it. */
  patience(within: Nanos, options: Partial<Omit<PatienceOptions, "within">> = {}): Patience {
    const stop = [this.#closing.signal, ...(options.stop ?? [])];
    return new Patience(this.given, { ...options, within, stop });
  }

  /** What still runs is cut off; its write-ahead records tell what it has made. */
  close(): void {
    this.#closing.abort();
    this.connections.drop();
  }
}
