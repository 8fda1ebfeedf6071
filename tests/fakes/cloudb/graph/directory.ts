// The directory of the fake of cloud B: applications, their principals, groups, users, and what was
// deleted but can be restored. It knows no HTTP; refusals are those of Graph.

import { randomBytes, randomUUID } from "node:crypto";
import type { Application, DeletedItem, Group, Password, Principal, User } from "../model.ts";
import { notFound } from "../refusal.ts";

export interface ApplicationOptions {
  readonly displayName: string;
  readonly signInAudience?: string;
  readonly tags?: readonly string[];
  readonly owner?: string;
}

export interface PasswordOptions {
  readonly displayName: string | null;
  readonly start: number;
  readonly end: number;
}

export class Directory {
  readonly applications = new Map<string, Application>();
  readonly principals = new Map<string, Principal>();
  readonly groups = new Map<string, Group>();
  readonly users = new Map<string, User>();
  readonly deleted = new Map<string, DeletedItem>();
  /** Every secret that was ever given out: what must not turn up elsewhere. */
  readonly secrets = new Set<string>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  createApplication(options: ApplicationOptions): Application {
    const { displayName, signInAudience = "AzureADMyOrg", tags = [], owner } = options;
    const application: Application = {
      id: randomUUID(),
      appId: randomUUID(),
      displayName,
      signInAudience,
      tags,
      created: this.#now(),
      owners: new Set(owner === undefined ? [] : [owner]),
      federated: [],
      passwords: [],
    };
    this.applications.set(application.id, application);
    return application;
  }

  applicationOf(appId: string): Application | null {
    return this.applications.values().find((application) => application.appId === appId) ?? null;
  }

  createPrincipal(application: Application): Principal {
    const { appId, displayName } = application;
    const principal = { id: randomUUID(), appId, displayName, created: this.#now(), passwords: [] };
    this.principals.set(principal.id, principal);
    return principal;
  }

  principalOf(appId: string): Principal | null {
    return this.principals.values().find((principal) => principal.appId === appId) ?? null;
  }

  createGroup(displayName: string, id: string = randomUUID()): Group {
    const group = { id, displayName, members: new Set<string>() };
    this.groups.set(group.id, group);
    return group;
  }

  createUser(displayName: string): User {
    const user = { id: randomUUID(), displayName };
    this.users.set(user.id, user);
    return user;
  }

  addPassword(holder: Application | Principal, options: PasswordOptions): Password {
    const secretText = `${randomBytes(3).toString("base64url").slice(0, 3)}8Q~${randomBytes(26).toString("base64url")}`;
    const created = this.#now();
    const hint = secretText.slice(0, 3);
    const password = { ...options, keyId: randomUUID(), hint, secretText, created };
    holder.passwords = [...holder.passwords, password];
    this.secrets.add(secretText);
    return password;
  }

  /** Its principal goes with it; assignments of roles stay behind. */
  deleteApplication(id: string): void {
    const object = this.applications.get(id);
    if (object === undefined) throw notFound(id);
    this.applications.delete(id);
    this.deleted.set(id, { kind: "application", deleted: this.#now(), object });
    const principal = this.principalOf(object.appId);
    if (principal !== null) this.deletePrincipal(principal.id);
  }

  deletePrincipal(id: string): void {
    const object = this.principals.get(id);
    if (object === undefined) throw notFound(id);
    this.principals.delete(id);
    this.deleted.set(id, { kind: "servicePrincipal", deleted: this.#now(), object });
    for (const group of this.groups.values()) group.members.delete(id);
  }

  /** Any object that can be a member of a group. */
  deleteMember(id: string): void {
    if (this.principals.has(id)) return this.deletePrincipal(id);
    if (!this.users.delete(id) && !this.groups.delete(id)) throw notFound(id);
    for (const group of this.groups.values()) group.members.delete(id);
  }

  restore(id: string): DeletedItem {
    const item = this.deleted.get(id);
    if (item === undefined) throw notFound(id);
    this.deleted.delete(id);
    if (item.kind === "application") this.applications.set(id, item.object);
    else this.principals.set(id, item.object);
    return item;
  }
}
