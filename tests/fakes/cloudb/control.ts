// What a test may do to the fake of cloud B, and what it may look at: settings, faults, time, objects made
// or removed by hand, the state, and the log of calls. control-endpoint.ts offers the same over HTTP.

import { randomUUID } from "node:crypto";
import type { FaultOptions } from "./faults.ts";
import type {
  Application,
  FederatedCredential,
  Group,
  Password,
  Principal,
  User,
} from "./model.ts";
import type { RoleAssignment, RoleDefinition } from "./model.ts";
import { Refusal } from "./refusal.ts";
import type { Settings } from "./settings.ts";
import type { Call, Tenant } from "./tenant.ts";

type PasswordView = Omit<Password, "secretText">;

/** Everything there is, without secrets. */
export interface FakeState {
  readonly applications: readonly (Omit<Application, "passwords" | "owners"> & {
    readonly passwords: readonly PasswordView[];
  })[];
  readonly servicePrincipals: readonly (Omit<Principal, "passwords"> & {
    readonly passwords: readonly PasswordView[];
  })[];
  readonly groups: readonly (Omit<Group, "members"> & { readonly members: readonly string[] })[];
  readonly users: readonly User[];
  readonly deletedItems: readonly {
    readonly id: string;
    readonly kind: string;
    readonly displayName: string;
  }[];
  readonly roleAssignments: readonly RoleAssignment[];
  readonly roleDefinitions: readonly RoleDefinition[];
}

export interface MadeApplication {
  readonly id: string;
  readonly appId: string;
  readonly servicePrincipalId: string;
  /** In the order in which they were asked for. */
  readonly passwords: readonly { readonly keyId: string; readonly secretText: string }[];
}

export interface Control {
  readonly tenant: Tenant;
  /** Replaces the members given. */
  set(settings: Partial<Settings>): void;
  fault(options: FaultOptions): void;
  clearFaults(): void;
  /** Moves the fake's clock on, whatever it is. */
  pass(seconds: number): void;
  state(): FakeState;
  /** One line for every object, password, membership and assignment that is there: to compare two states. */
  inventory(): readonly string[];
  calls(): readonly Call[];
  /** Their actions, in order. */
  actions(): readonly string[];
  clearCalls(): void;
  /** Every secret that it has ever given out or been started with. */
  secrets(): readonly string[];
  /** Makes every access token worthless. */
  expireTokens(): void;
  /** Of an application, by its client id. */
  permit(clientId: string, permissions: readonly string[]): void;
  makeApplication(displayName: string, passwords?: number): MadeApplication;
  makeGroup(displayName: string): string;
  makeUser(displayName: string): string;
  /** Gives the id at its scope. Default: at the subscription. */
  makeRole(roleName: string, scope?: string): string;
  /** Of every subscription. */
  makeResourceGroup(name: string): void;
  makeManagementGroup(name: string): void;
  federate(clientId: string, credential: FederatedCredential): void;
  /** By hand, as an operator in the provider's own pages would. */
  remove(id: string): void;
  /** Resolves to the numbers of the calls that are held, once there are some after the one given (0). */
  held(after?: number): Promise<readonly number[]>;
  release(): void;
  /** Connections break, and none is made: for as long as a process that uses it dies. */
  cut(off: boolean): void;
}

export function controlOf(tenant: Tenant): Control {
  const { directory, subscriptions, faults, held } = tenant;
  const control: Control = {
    tenant,
    set: (settings) => {
      tenant.settings = { ...tenant.settings, ...settings };
    },
    fault: (options) => faults.add(options),
    clearFaults: () => faults.clear(),
    pass: (seconds) => {
      tenant.offset += seconds * 1000;
    },
    state: () => stateOf(tenant),
    inventory: () => inventoryOf(tenant),
    calls: () => tenant.calls,
    actions: () => tenant.calls.map(({ action }) => action),
    clearCalls: () => {
      tenant.calls = [];
    },
    secrets: () => [...directory.secrets],
    expireTokens: () => tenant.tokens.revokeAll(),
    permit: (clientId, permissions) => {
      tenant.permissions.set(clientId, new Set(permissions));
    },
    makeApplication: (displayName, passwords = 0) => {
      const application = directory.createApplication({ displayName });
      const { id, appId } = application;
      const end = tenant.now() + 365 * 86_400_000;
      const made = Array.from({ length: passwords }, (_, i) => {
        const options = { displayName: `password ${i + 1}`, start: tenant.now(), end };
        const { keyId, secretText } = directory.addPassword(application, options);
        return { keyId, secretText };
      });
      const { id: servicePrincipalId } = directory.createPrincipal(application);
      return { id, appId, servicePrincipalId, passwords: made };
    },
    makeGroup: (displayName) => directory.createGroup(displayName).id,
    makeUser: (displayName) => directory.createUser(displayName).id,
    makeRole: (roleName, scope = `/subscriptions/${tenant.subscriptionId}`) => {
      const name = randomUUID();
      subscriptions.definitions.push({ name, roleName, scope });
      return `${scope}/providers/Microsoft.Authorization/roleDefinitions/${name}`;
    },
    makeResourceGroup: (name) => void subscriptions.resourceGroups.add(name.toLowerCase()),
    makeManagementGroup: (name) => void subscriptions.managementGroups.add(name.toLowerCase()),
    federate: (clientId, credential) => {
      const application = directory.applicationOf(clientId);
      if (application === null) throw new Refusal(400, "Fake", "no such application");
      application.federated.push(credential);
    },
    remove: (id) => {
      if (directory.applications.has(id)) return directory.deleteApplication(id);
      if (subscriptions.assignments.delete(id.toLowerCase()) || directory.deleted.delete(id))
        return;
      directory.deleteMember(id);
    },
    held: (after = 0) => held.some(after),
    release: () => held.release(),
    cut: (off) => {
      tenant.cut = off;
      if (off) for (const socket of tenant.sockets) socket.destroy();
    },
  };
  return control;
}

function showPasswords(passwords: readonly Password[]): PasswordView[] {
  return passwords.map(({ secretText: _secretText, ...visible }) => visible);
}

function stateOf({ directory, subscriptions }: Tenant): FakeState {
  return {
    applications: [...directory.applications.values()].map(
      ({ owners: _owners, passwords, ...rest }) => {
        return { ...rest, passwords: showPasswords(passwords) };
      },
    ),
    servicePrincipals: [...directory.principals.values()].map(({ passwords, ...rest }) => {
      return { ...rest, passwords: showPasswords(passwords) };
    }),
    groups: [...directory.groups.values()].map(({ members, ...rest }) => {
      return { ...rest, members: [...members] };
    }),
    users: [...directory.users.values()],
    deletedItems: [...directory.deleted.values()].map(({ kind, object }) => {
      return { id: object.id, kind, displayName: object.displayName };
    }),
    roleAssignments: [...subscriptions.assignments.values()],
    roleDefinitions: subscriptions.definitions,
  };
}

function inventoryOf(tenant: Tenant): readonly string[] {
  const state = stateOf(tenant);
  const passwords = [...state.applications, ...state.servicePrincipals].flatMap((holder) =>
    holder.passwords.map(({ keyId }) => `password ${keyId} of ${holder.id}`),
  );
  return [
    ...state.applications.map(({ id, displayName }) => `application ${id} ${displayName}`),
    ...state.servicePrincipals.map(({ id, displayName }) => `principal ${id} ${displayName}`),
    ...passwords,
    ...state.groups.flatMap(({ id, members }) => members.map((one) => `member ${one} of ${id}`)),
    ...state.users.map(({ id }) => `user ${id}`),
    ...state.deletedItems.map(
      ({ id, kind, displayName }) => `deleted ${kind} ${id} ${displayName}`,
    ),
    ...state.roleAssignments.map(({ id }) => `assignment ${id}`),
  ].toSorted();
}
