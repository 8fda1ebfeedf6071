// The fields that the endpoints of this method share, by their wire names.

import { rangeForm } from "@holdfast/plugin-sdk/login-terms";
import { out } from "@holdfast/shared/endpoint/output";
import type { InputOf } from "@holdfast/shared/endpoint/field";
import { pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import {
  inSeconds,
  loginFields,
  loginNameField,
  loginOutputs,
  showTerms,
} from "@holdfast/plugin-sdk/login-terms";
import { outOfScope } from "./failures.ts";
import type { Role, RoleChange } from "./role.ts";

export const MAX_LISTED = 1000;
export const MAX_USES = 2 ** 31 - 1;

export const roleNameField = loginNameField(
  "role_name",
  "Name of the role; the case of letters is the same.",
);

export const listing = pageFields(MAX_LISTED, "Only what comes after this.");

export const roleFields = {
  ...loginFields,
  roleId: wire
    .body("role_id")
    .string("What the role presents to log in; a random one by itself.", { max: 512 })
    .optional(),
  bindSecretId: wire
    .body("bind_secret_id")
    .boolean("Whether a login needs a secret id. A new role needs one.")
    .optional(),
  secretIdTtl: wire
    .body("secret_id_ttl")
    .duration("How long its secret ids are good; 0: without end.")
    .optional(),
  secretIdUses: wire
    .body("secret_id_num_uses")
    .integer("How many logins a secret id is good for; 0: any number.", { min: 0, max: MAX_USES })
    .optional(),
  secretIdRanges: wire
    .body("secret_id_bound_cidrs", { aliases: ["bound_cidr_list"] })
    .list("Addresses and ranges from which one may log in.", { max: 256, show: rangeForm })
    .optional(),
  localSecretIds: wire.body("local_secret_ids").boolean("Must be false.").optional(),
};

export function roleChange(input: InputOf<typeof roleFields>): RoleChange {
  const { localSecretIds, kind: _, ...change } = input;
  if (localSecretIds === true) throw outOfScope();
  return change;
}

export const roleOutput = out.object({
  ...loginOutputs,
  bind_secret_id: out.boolean("Whether a login needs a secret id."),
  secret_id_ttl: out.integer("Seconds that its secret ids are good; 0: without end."),
  secret_id_num_uses: out.integer("How many logins a secret id is good for; 0: any number."),
  secret_id_bound_cidrs: out.list(out.string("Address or range."), "Where one may log in from."),
  local_secret_ids: out.boolean("Always false."),
});

export function showRole(role: Role) {
  return {
    ...showTerms(role.terms),
    bind_secret_id: role.bindSecretId,
    secret_id_ttl: inSeconds(role.secretIdTtl),
    secret_id_num_uses: role.secretIdUses,
    secret_id_bound_cidrs: role.secretIdRanges,
    local_secret_ids: false,
  };
}
