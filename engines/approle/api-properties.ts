// The properties of a role one by one: existing clients read, set and clear each at a path of its own.

import { access } from "@holdfast/shared/endpoint/access";
import { type Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { AppRole } from "./approle.ts";
import { roleFields, roleNameField, showRole } from "./fields.ts";
import type { RoleChange } from "./role.ts";
import { mustExist } from "./roles.ts";

const endpoint = engineEndpoints<AppRole>();

type Property = Exclude<keyof typeof roleFields, "localSecretIds" | "roleId">;
type RoleMember = keyof ReturnType<typeof showRole>;

interface Row {
  /** Last segment of its path. */
  readonly at: string;
  readonly property: Property;
  readonly member: RoleMember;
  /** What clearing it gives. */
  readonly cleared: RoleChange;
}

const rows: readonly Row[] = [
  { at: "policies", property: "policies", member: "token_policies", cleared: { policies: [] } },
  { at: "token-ttl", property: "ttl", member: "token_ttl", cleared: { ttl: 0n } },
  { at: "token-max-ttl", property: "maxTtl", member: "token_max_ttl", cleared: { maxTtl: 0n } },
  { at: "token-num-uses", property: "uses", member: "token_num_uses", cleared: { uses: 0 } },
  { at: "period", property: "period", member: "token_period", cleared: { period: 0n } },
  {
    at: "token-bound-cidrs",
    property: "boundTo",
    member: "token_bound_cidrs",
    cleared: { boundTo: [] },
  },
  {
    at: "bind-secret-id",
    property: "bindSecretId",
    member: "bind_secret_id",
    cleared: { bindSecretId: true },
  },
  {
    at: "secret-id-ttl",
    property: "secretIdTtl",
    member: "secret_id_ttl",
    cleared: { secretIdTtl: 0n },
  },
  {
    at: "secret-id-num-uses",
    property: "secretIdUses",
    member: "secret_id_num_uses",
    cleared: { secretIdUses: 0 },
  },
  {
    at: "secret-id-bound-cidrs",
    property: "secretIdRanges",
    member: "secret_id_bound_cidrs",
    cleared: { secretIdRanges: [] },
  },
];

export const approlePropertiesApi: readonly Endpoint<AppRole>[] = rows.flatMap(
  ({ at, property, member, cleared }) => {
    const path = `/role/:role_name/${at}`;
    const field = roleFields[property];
    const named = property[0]?.toUpperCase() + property.slice(1);
    return [
      endpoint({
        name: `approleRead${named}`,
        method: "GET",
        path,
        summary: `Tell ${member} of a role.`,
        access: access.capability,
        input: { name: roleNameField },
        output: out.anyObject(`${member}: ${field.help}`),
        handler: async ({ roles }, { name }) => {
          const value: JsonValue = showRole(await roles.read(name))[member];
          return { [member]: value };
        },
      }),
      endpoint({
        name: `approleWrite${named}`,
        method: "POST",
        path,
        summary: `Change ${member} of a role.`,
        access: access.capability,
        belongs: "mount",
        input: { name: roleNameField, [property]: field },
        output: out.nothing,
        handler: async ({ roles }, { name, ...change }) => {
          await roles.write(String(name), change, mustExist);
          return undefined;
        },
      }),
      endpoint({
        name: `approleClear${named}`,
        method: "DELETE",
        path,
        summary: `Set ${member} of a role back to what a new role has.`,
        access: access.capability,
        belongs: "mount",
        input: { name: roleNameField },
        output: out.nothing,
        handler: async ({ roles }, { name }) => {
          await roles.write(name, cleared, mustExist);
          return undefined;
        },
      }),
    ];
  },
);
