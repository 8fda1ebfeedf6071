// What the account holds, as a test looks at it: without secrets, in an order that does not change.

import { type Account, roleArn, type User, userArn } from "./account.ts";

export type State = ReturnType<typeof stateOf>;

export function stateOf(account: Account) {
  return {
    users: byName(account.users.values()).map(showUser),
    groups: byName(account.groups.values()).map(({ name, attached, inline }) => ({
      name,
      attached: [...attached],
      inline: Object.fromEntries(inline),
    })),
    roles: byName(account.roles.values()).map((role) => ({
      name: role.name,
      arn: roleArn(role),
      maxSession: role.maxSession,
    })),
    policies: [...account.policies.keys()].sort(),
    virtualMfaDevices: [...account.virtualMfa].sort(),
    sessions: [...account.sessions.values()].map((session) => ({
      accessKeyId: session.key.id,
      kind: session.kind,
      name: session.name,
      arn: session.arn,
      expiresAt: new Date(session.expiresAt).toISOString(),
      policy: session.policy,
      policyArns: session.policyArns,
      tags: session.tags,
    })),
  };
}

function byName<T extends { readonly name: string }>(items: Iterable<T>): T[] {
  return [...items].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function showUser(user: User) {
  const { extras } = user;
  return {
    name: user.name,
    id: user.id,
    arn: userArn(user),
    path: user.path,
    createdAt: new Date(user.createdAt).toISOString(),
    tags: Object.fromEntries(user.tags),
    boundary: user.boundary,
    keys: user.keys.map(({ id, status, createdAt }) => ({
      id,
      status,
      createdAt: new Date(createdAt).toISOString(),
    })),
    attached: [...user.attached],
    inline: Object.fromEntries(user.inline),
    groups: [...user.groups].sort(),
    loginProfile: extras.loginProfile !== null,
    mfaDevices: [...extras.mfaDevices.keys()],
    certificates: [...extras.certificates.keys()],
    sshKeys: [...extras.sshKeys.keys()],
    serviceCredentials: [...extras.serviceCredentials.keys()],
  };
}
