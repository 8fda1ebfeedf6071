// The endpoints of approle, below its mount: login and roles. Secret ids and single properties of roles
// have files of their own.

import { access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { namesPage } from "@holdfast/shared/endpoint/page";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { AppRole } from "./approle.ts";
import { mustExist } from "./roles.ts";
import { listing, roleChange, roleFields, roleNameField, roleOutput, showRole } from "./fields.ts";

const endpoint = engineEndpoints<AppRole>();

export const approleApi = [
  endpoint({
    name: "approleLogin",
    method: "POST",
    path: "/login",
    summary: "Log in with a role id and a secret id.",
    access: access.open,
    belongs: (room, input) => room.belongs(input),
    login: true,
    input: {
      roleId: wire.body("role_id").string("The role id.", { max: 512 }),
      secretId: wire
        .body("secret_id")
        .secret("The secret id, unless the role needs none.", { max: 1024 })
        .optional(),
    },
    output: inAuth,
    handler: async (room, { roleId, secretId }, { remote: { address } }) =>
      reply(undefined, { login: await room.login({ roleId, secretId, address }) }),
  }),
  endpoint({
    name: "approleRoles",
    method: "LIST",
    path: "/role",
    summary: "List the names of all roles.",
    access: access.capability,
    fromSnapshot: true,
    input: listing,
    output: out.keys("Names in their order."),
    handler: ({ roles }, page) => namesPage(page, (read) => roles.names(read)),
  }),
  endpoint({
    name: "approleReadRole",
    method: "GET",
    path: "/role/:role_name",
    summary: "Tell about a role.",
    access: access.capability,
    fromSnapshot: true,
    input: { name: roleNameField },
    output: roleOutput,
    handler: async ({ roles }, { name }) => showRole(await roles.read(name)),
  }),
  endpoint({
    name: "approleWriteRole",
    method: "POST",
    path: "/role/:role_name",
    summary: "Make a role, or change one.",
    description: "What is left out stays as it is.",
    access: access.capability,
    belongs: "mount",
    input: { name: roleNameField, ...roleFields },
    output: out.nothing,
    exists: ({ roles }, { role_name: name = "" }) => roles.has(name),
    recovers: async ({ held: { roles } }, { role_name: name = "" }) => {
      if (!(await roles.has(name))) return null;
      const role = await roles.read(name);
      return { ...showRole(role), role_id: role.roleId };
    },
    handler: async ({ roles }, { name, ...change }, context) => {
      await roles.write(name, roleChange(change), (exists) => context.confirmExists(exists));
      return undefined;
    },
  }),
  endpoint({
    name: "approleDeleteRole",
    method: "DELETE",
    path: "/role/:role_name",
    summary: "Delete a role and its secret ids. Tokens that came of logins live on until they end.",
    access: access.capability,
    belongs: "mount",
    input: { name: roleNameField },
    output: out.nothing,
    handler: async ({ roles }, { name }) => {
      await roles.delete(name);
      return undefined;
    },
  }),
  endpoint({
    name: "approleReadRoleId",
    method: "GET",
    path: "/role/:role_name/role-id",
    summary: "Tell the role id of a role.",
    access: access.capability,
    fromSnapshot: true,
    input: { name: roleNameField },
    output: out.object({ role_id: out.string("What the role presents to log in. Not a secret.") }),
    handler: async ({ roles }, { name }) => ({ role_id: (await roles.read(name)).roleId }),
  }),
  endpoint({
    name: "approleWriteRoleId",
    method: "POST",
    path: "/role/:role_name/role-id",
    summary: "Give a role another role id.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: roleNameField,
      roleId: wire.body("role_id").string("The new role id.", { max: 512 }),
    },
    output: out.nothing,
    handler: async ({ roles }, { name, roleId }) => {
      await roles.write(name, { roleId }, mustExist);
      return undefined;
    },
  }),
  endpoint({
    name: "approleTidy",
    method: "POST",
    path: "/tidy/secret-id",
    summary: "Clear away secret ids that have expired or whose role is gone.",
    description: "They count for nothing anyhow, and are cleared away by themselves every minute.",
    access: access.capability,
    belongs: "mount",
    input: {},
    output: out.nothing,
    handler: async ({ secretIds }, _, { signal }) => {
      await secretIds.tidy(signal);
      return undefined;
    },
  }),
];
