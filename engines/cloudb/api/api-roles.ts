// The endpoints of roles.

import { GRANT_MEMBERS, GROUP_MEMBERS, showElements } from "./role-input.ts";
import { MINUTE } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { CloudB } from "../engine.ts";
import { seconds } from "../../cloud/fields.ts";
import { items, nameField, text, toggle } from "./fields.ts";
import { audienceName, type Role } from "../roles/role.ts";
import { showGrants } from "../roles/roles.ts";
import { isCompatible } from "../../cloud/settings.ts";

const endpoint = engineEndpoints<CloudB>();

const roleFields = {
  grants: wire
    .body("cloudb_roles", { aliases: ["azure_roles"] })
    .jsonOrText(
      "Roles of the provider: a JSON array, or its text, of objects with role_id or role_name, and scope.",
      { show: showElements, caseless: true, members: GRANT_MEMBERS },
    )
    .optional(),
  groups: wire
    .body("cloudb_groups", { aliases: ["azure_groups"] })
    .jsonOrText("Groups: a JSON array, or its text, of objects with object_id or group_name.", {
      show: showElements,
      caseless: true,
      members: GROUP_MEMBERS,
    })
    .optional(),
  applicationObjectId: text(
    "application_object_id",
    "An application that is there already: credentials are passwords on it. Empty: none.",
    { form: (id) => id.trim(), show: (id) => id.toLowerCase() },
  ).optional(),
  persistApp: toggle(
    "persist_app",
    "Whether one application is kept for the whole life of the role.",
  ).optional(),
  ttl: seconds("ttl", "How long credentials last; 0: as the mount says.").optional(),
  maxTtl: seconds("max_ttl", "How long with renewals; 0: as the mount says.").optional(),
  explicitMaxTtl: seconds(
    "explicit_max_ttl",
    "How long lease and password last at most; 0: 10 years.",
  ).optional(),
  permanentlyDelete: toggle(
    "permanently_delete",
    "Whether what was made cannot be restored once it is deleted.",
  ).optional(),
  signInAudience: text("sign_in_audience", "Who may sign in to applications that are made.", {
    show: audienceName,
  }).optional(),
  tags: items("tags", "Tags of applications that are made.").optional(),
};

const grant = out.object({
  role_name: out.string("Name of the role."),
  role_id: out.string("Its id."),
  scope: out.string("Where it holds."),
});
const group = out.object({
  group_name: out.string("Name of the group."),
  object_id: out.string("Its id."),
});

const roleOutput = out.object({
  cloudb_roles: out.list(grant, "Roles of the provider that credentials have."),
  cloudb_groups: out.list(group, "Groups that they are members of."),
  azure_roles: out.optional(out.list(grant, "The same as cloudb_roles.")),
  azure_groups: out.optional(out.list(group, "The same as cloudb_groups.")),
  application_object_id: out.string("The application whose passwords are given; empty: none."),
  managed_application: out.optional(out.boolean("Whether that is one that this role keeps.")),
  persist_app: out.boolean("Whether one application is kept for the life of the role."),
  ttl: out.integer("Seconds that credentials last; 0: as the mount says."),
  max_ttl: out.integer("Seconds with renewals; 0: as the mount says."),
  explicit_max_ttl: out.integer("Seconds that lease and password last at most; 0: 10 years."),
  permanently_delete: out.boolean("Whether what is deleted cannot be restored."),
  sign_in_audience: out.string("Who may sign in; empty: as the provider says."),
  tags: out.list(out.string("Tag."), "Tags of applications."),
});

export const rolesApi = [
  endpoint({
    name: "cloudbRoles",
    method: "LIST",
    path: "/roles",
    summary: "List the names of all roles.",
    access: access.capability,
    fromSnapshot: true,
    input: {},
    output: out.keys("Names in their order."),
    handler: async ({ roleStore }) => ({ keys: await roleStore.names() }),
  }),
  endpoint({
    name: "cloudbReadRole",
    method: "GET",
    path: "/roles/:name",
    summary: "Tell about a role.",
    access: access.capability,
    fromSnapshot: true,
    input: { name: nameField },
    output: roleOutput,
    handler: async ({ roleStore, needs }, { name }) =>
      showRole(await roleStore.read(name), isCompatible(needs.settings)),
  }),
  endpoint({
    name: "cloudbWriteRole",
    method: "POST",
    path: "/roles/:name",
    summary: "Make a role, or change one.",
    description: "What is left out stays as it is; what it names must exist at the provider.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: nameField,
      ...roleFields,
      force: toggle(
        "force",
        "Whether persist_app is switched off also where a region that shares the mount is not reached, and may have leases of the role.",
      ).default(false),
    },
    output: out.nothing,
    exists: ({ roleStore }, { name = "" }) => roleStore.has(name),
    recovers: async ({ held: { roleStore } }, { name = "" }) => {
      if (!(await roleStore.has(name))) return null;
      const role = await roleStore.read(name);
      const { managed_application: _, ...fields } = showRole(role, false);
      // One that the role kept is not taken up again: where it is gone another is made.
      return { ...fields, application_object_id: role.applicationObjectId };
    },
    handler: async ({ roles }, { name, force, ...change }, context) => {
      context.allow(3n * MINUTE);
      const warnings = await roles.write(name, { change, force }, context);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "cloudbDeleteRole",
    method: "DELETE",
    path: "/roles/:name",
    summary: "Delete a role, and the application that it keeps. Leases stay unless told otherwise.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: nameField,
      revokeLeases: toggle(
        "revoke_leases",
        "Whether the leases of the role are revoked too.",
        "query",
      ).default(false),
      force: toggle(
        "force",
        "Also where a region that shares the mount is not reached, and may have leases of the role.",
        "query",
      ).default(false),
    },
    output: out.nothing,
    handler: async ({ roles }, { name, revokeLeases, force }, context) => {
      context.allow(3n * MINUTE);
      const warnings = await roles.delete(name, { revokeLeases, force }, context);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
];

function showRole(role: Role, compat: boolean): OutputOf<typeof roleOutput> {
  const { managed } = role;
  const grants = showGrants(role);
  const groups = role.groups.map(({ groupName: group_name, objectId: object_id }) => ({
    group_name,
    object_id,
  }));
  return {
    cloudb_roles: grants,
    cloudb_groups: groups,
    ...(compat ? { azure_roles: grants, azure_groups: groups } : {}),
    application_object_id: managed?.appObjectId ?? role.applicationObjectId,
    ...(managed === null ? {} : { managed_application: true }),
    persist_app: role.persistApp,
    ttl: role.ttl,
    max_ttl: role.maxTtl,
    explicit_max_ttl: role.explicitMaxTtl,
    permanently_delete: role.permanentlyDelete,
    sign_in_audience: role.signInAudience,
    tags: role.tags,
  };
}
