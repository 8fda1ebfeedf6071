// What the account holds: users with all that hangs on them, groups, roles, policies, keys, sessions.
// Only the looking-up is here, late as it may be; the actions change it.

import { randomBytes, randomInt } from "node:crypto";
import type { Settings } from "../settings.ts";
import { noSuchEntity } from "../wire.ts";

export const ACCOUNT = "123456789012";

export interface AccessKey {
  readonly id: string;
  readonly secret: string;
  readonly createdAt: number;
  /** What was there before the test is known to all. */
  isKnown: boolean;
  status: "Active" | "Inactive";
  lastUsedAt: number | null;
  uses: number;
}

/** What may hang on a user besides keys, policies and groups: name or id → what is shown of it. */
export interface Extras {
  loginProfile: { readonly createdAt: number } | null;
  readonly mfaDevices: Map<string, number>;
  readonly certificates: Map<string, { readonly body: string; readonly at: number }>;
  readonly sshKeys: Map<string, { readonly at: number }>;
  readonly serviceCredentials: Map<
    string,
    { readonly service: string; readonly name: string; readonly at: number }
  >;
}

export interface User {
  readonly name: string;
  readonly id: string;
  readonly path: string;
  readonly createdAt: number;
  isKnown: boolean;
  readonly tags: Map<string, string>;
  boundary: string | null;
  readonly keys: AccessKey[];
  readonly attached: Set<string>;
  readonly inline: Map<string, string>;
  readonly groups: Set<string>;
  readonly extras: Extras;
  /** Patterns such as "iam:*" that are allowed whatever its policies say. */
  allow: readonly string[];
  deny: readonly string[];
}

export interface Group {
  readonly name: string;
  readonly id: string;
  readonly createdAt: number;
  readonly attached: Set<string>;
  readonly inline: Map<string, string>;
}

export interface Role {
  readonly name: string;
  readonly id: string;
  readonly path: string;
  readonly createdAt: number;
  readonly trust: string;
  readonly maxSession: number;
  allow: readonly string[];
}

export interface Session {
  readonly kind: "role" | "federation" | "session" | "web";
  readonly key: AccessKey;
  readonly token: string;
  readonly name: string;
  readonly arn: string;
  readonly userId: string;
  readonly expiresAt: number;
  /** What it was narrowed to, for a test to look at. */
  readonly policy: string | null;
  readonly policyArns: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly allow: readonly string[];
}

interface Ghost<T> {
  readonly value: T;
  readonly until: number;
}

export class Account {
  readonly settings: Settings;
  readonly users = new Map<string, User>();
  readonly groups = new Map<string, Group>();
  readonly roles = new Map<string, Role>();
  /** Those of the account, by ARN. */
  readonly policies = new Map<string, { readonly document: string; readonly createdAt: number }>();
  readonly virtualMfa = new Set<string>();
  readonly sessions = new Map<string, Session>();
  /** Every secret that was ever given out. */
  readonly secrets: string[] = [];
  readonly #ghostUsers = new Map<string, Ghost<User>>();
  readonly #ghostKeys = new Map<string, Ghost<{ user: User; key: AccessKey }>>();

  constructor(settings: Settings) {
    this.settings = settings;
  }

  now(): number {
    return this.settings.now();
  }

  /** A user as an action sees it: not yet, when it is too new. Readers may see one that is gone. */
  user(name: string, action: string): User {
    const found = this.users.get(name);
    if (found !== undefined && this.#isVisible(found, action, "newUsers")) return found;
    if (found === undefined && /^(Get|List)/.test(action)) {
      const ghost = this.#ghostUsers.get(name);
      if (ghost !== undefined && ghost.until > this.now()) return ghost.value;
    }
    throw noSuchEntity(`The user with name ${name} cannot be found.`);
  }

  visibleUsers(action: string): readonly User[] {
    const now = this.now();
    const live = [...this.users.values()].filter((user) =>
      this.#isVisible(user, action, "newUsers"),
    );
    const late = [...this.#ghostUsers.values()].filter(
      ({ value, until }) => until > now && !this.users.has(value.name),
    );
    return [...live, ...late.map(({ value }) => value)];
  }

  visibleKeys(user: User, action: string): readonly AccessKey[] {
    return user.keys.filter((key) => this.#isVisible(key, action, "newKeys"));
  }

  group(name: string): Group {
    const found = this.groups.get(name);
    if (found === undefined) throw noSuchEntity(`The group with name ${name} cannot be found.`);
    return found;
  }

  role(name: string): Role {
    const found = this.roles.get(name);
    if (found === undefined) throw noSuchEntity(`The role with name ${name} cannot be found.`);
    return found;
  }

  removeUser(user: User): void {
    this.users.delete(user.name);
    const until = this.now() + this.settings.visibility.deletions * 1000;
    this.#ghostUsers.set(user.name, { value: user, until });
  }

  removeKey(user: User, key: AccessKey): void {
    user.keys.splice(user.keys.indexOf(key), 1);
    const until = this.now() + this.settings.visibility.deletions * 1000;
    this.#ghostKeys.set(key.id, { value: { user, key }, until });
  }

  /** Whose key this is in a signature; null: not known, or not yet. */
  keyOwner(id: string): { readonly user: User; readonly key: AccessKey } | null {
    const ghost = this.#ghostKeys.get(id);
    if (ghost !== undefined && ghost.until > this.now()) return ghost.value;
    for (const user of this.users.values()) {
      const key = user.keys.find((candidate) => candidate.id === id);
      if (key !== undefined) return this.#isAccepted(key) ? { user, key } : null;
    }
    return null;
  }

  newUser(name: string, path = "/"): User {
    const user: User = {
      name,
      id: newId("AIDA"),
      path,
      createdAt: this.now(),
      isKnown: false,
      tags: new Map(),
      boundary: null,
      keys: [],
      attached: new Set(),
      inline: new Map(),
      groups: new Set(),
      extras: {
        loginProfile: null,
        mfaDevices: new Map(),
        certificates: new Map(),
        sshKeys: new Map(),
        serviceCredentials: new Map(),
      },
      allow: [],
      deny: [],
    };
    this.users.set(name, user);
    return user;
  }

  newKey(prefix: "AKIA" | "ASIA"): AccessKey {
    const secret = randomBytes(30).toString("base64");
    this.secrets.push(secret);
    return {
      id: newId(prefix),
      secret,
      createdAt: this.now(),
      isKnown: false,
      status: "Active",
      lastUsedAt: null,
      uses: 0,
    };
  }

  #isVisible(made: User | AccessKey, action: string, kind: "newUsers" | "newKeys"): boolean {
    const { visibility } = this.settings;
    const late = visibility.actions[action] ?? visibility[kind];
    return made.isKnown || this.now() >= made.createdAt + late * 1000;
  }

  #isAccepted(key: AccessKey): boolean {
    if (key.isKnown) return true;
    const { authentication, flapping } = this.settings.visibility;
    const since = this.now() - key.createdAt - authentication * 1000;
    if (since < 0) return false;
    return since >= flapping * 1000 || key.uses++ % 2 === 0;
  }
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export function newId(prefix: string): string {
  let id = prefix;
  while (id.length < prefix.length + 16) id += LETTERS[randomInt(LETTERS.length)] ?? "";
  return id;
}

export function userArn(user: User): string {
  return `arn:aws:iam::${ACCOUNT}:user${user.path}${user.name}`;
}

export function roleArn(role: Role): string {
  return `arn:aws:iam::${ACCOUNT}:role${role.path}${role.name}`;
}

export function groupArn(group: Group): string {
  return `arn:aws:iam::${ACCOUNT}:group/${group.name}`;
}
