// The endpoints of roles, below their mount.

import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import * as fields from "../../cloud/fields.ts";
import {
  countedElsewhere,
  leftEverywhere,
  revokedEverywhere,
  uncounted,
} from "../../cloud/leases-elsewhere.ts";
import type { CloudA } from "../engine.ts";
import { notFound } from "../failures.ts";
import { checkName, listed, listing, nameField } from "./fields.ts";
import { bothLegacy, legacyMixed } from "../roles/role-failures.ts";
import { legacyFields, roleFields, roleOutput, showRole, withPresentNames } from "./role-fields.ts";

const endpoint = engineEndpoints<CloudA>();

export const rolesApi = [
  endpoint({
    name: "cloudaRoles",
    method: "LIST",
    path: "/roles",
    summary: "List the names of all roles.",
    access: access.capability,
    fromSnapshot: true,
    input: listing,
    output: out.keys("Names in their order."),
    handler: async ({ roles }, page) => ({
      keys: await listed(page, (part) => roles.names(part)),
    }),
  }),
  endpoint({
    name: "cloudaReadRole",
    method: "GET",
    path: "/roles/:name",
    summary: "Tell about a role.",
    access: access.capability,
    fromSnapshot: true,
    input: { name: nameField },
    output: roleOutput,
    handler: async ({ roles }, { name }) => {
      const role = await roles.find(checkName(name));
      if (role === null) throw notFound();
      return showRole(role);
    },
  }),
  endpoint({
    name: "cloudaWriteRole",
    method: "POST",
    path: "/roles/:name",
    summary: "Make a role, or change one.",
    description: "What is left out stays as it is; an empty value clears.",
    access: access.capability,
    belongs: "mount",
    input: { name: nameField, ...roleFields, ...legacyFields },
    implied: withPresentNames,
    recovers: async ({ held: { roles } }, { name = "" }) => {
      const role = await roles.find(checkName(name));
      if (role === null) return null;
      const { invalid_data: _, ...fields } = showRole(role);
      return fields;
    },
    output: out.nothing,
    handler: async ({ roles }, { name, policy = "", arn = "", ...change }) => {
      checkName(name);
      if (policy !== "" && arn !== "") throw bothLegacy();
      const legacy = policy === "" ? arn : policy;
      if (legacy === "") return reply(undefined, { warnings: await roles.write(name, change) });
      for (const [key, field] of Object.entries(roleFields)) {
        if (change[key as keyof typeof change] !== undefined) throw legacyMixed(field.name);
      }
      return reply(undefined, { warnings: await roles.writeLegacy(name, legacy) });
    },
  }),
  endpoint({
    name: "cloudaDeleteRole",
    method: "DELETE",
    path: "/roles/:name",
    summary: "Delete a role. What it has given lives on until its leases end.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: nameField,
      revokeLeases: fields
        .flag("revoke_leases", "Whether what it has given is revoked as well.")
        .default(false),
      force: fields
        .flag(
          "force",
          "Also where a region that shares the mount is not reached, and may have leases of the role.",
        )
        .default(false),
    },
    output: out.nothing,
    handler: async ({ roles, needs: { leases } }, { name, revokeLeases, force }) => {
      const role = checkName(name);
      const places = [`creds/${role}`, `sts/${role}`];
      await countedElsewhere(leases, places, { force });
      await roles.delete(role);
      const { count, silent } = await leftEverywhere(leases, places);
      const warnings = revokeLeases ? await revokedEverywhere(leases, places) : uncounted(silent);
      if (count > 0) {
        warnings.unshift(
          revokeLeases
            ? `${count} leases of the role are being revoked`
            : `${count} leases of the role live on until they end; revoke_leases=true revokes them`,
        );
      }
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
];
