// The endpoints of approle for secret ids. A new one is delivered wrapped by asking for that with the
// usual header.

import { rangeForm } from "@holdfast/plugin-sdk/login-terms";
import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { namesPage } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { inSeconds } from "@holdfast/plugin-sdk/login-terms";
import type { AppRole } from "./approle.ts";
import { listing, MAX_USES, roleNameField } from "./fields.ts";
import type { SecretId } from "./secret-id.ts";
import type { MadeSecretId } from "./secret-ids.ts";

const endpoint = engineEndpoints<AppRole>();

const name = roleNameField;
const secretId = wire.body("secret_id").secret("The secret id.", { max: 1024 });
const accessor = wire.body("secret_id_accessor").string("Its accessor.", { max: 64 });

const terms = {
  metadata: wire
    .body("metadata")
    .jsonOrText(
      "An object of strings, or the JSON text of one: noted on tokens. Policies build on it only " +
        "where it was written with sudo on this path.",
    )
    .optionalUnlessEmpty(),
  ranges: wire
    .body("cidr_list")
    .list("Addresses and ranges from which it is good, within those of the role.", {
      max: 256,
      show: rangeForm,
    })
    .optionalUnlessEmpty(),
  tokenRanges: wire
    .body("token_bound_cidrs")
    .list("Where its tokens are good, within what the role says.", { max: 256, show: rangeForm })
    .optionalUnlessEmpty(),
  uses: wire
    .body("num_uses")
    .integer("How many logins it is good for; 0: any number.", { min: 0, max: MAX_USES })
    .optional(),
  ttl: wire.body("ttl").duration("How long it is good; 0: without end.").optional(),
};

const made = out.object({
  secret_id: out.secret("The secret id. Shown once."),
  secret_id_accessor: out.string("Identifies it, without being a credential."),
  secret_id_ttl: out.integer("Seconds that it is good; 0: without end."),
  secret_id_num_uses: out.integer("How many logins it is good for; 0: any number."),
});

function showCreated({ secret, record }: MadeSecretId) {
  return {
    secret_id: secret.reveal(),
    secret_id_accessor: record.accessor,
    secret_id_ttl: inSeconds(record.ttl),
    secret_id_num_uses: record.usesLeft ?? 0,
  };
}

const facts = out.object({
  secret_id_accessor: out.string("Identifies it, without being a credential."),
  secret_id_ttl: out.integer("Seconds that it was made for; 0: without end."),
  secret_id_num_uses: out.integer("How many logins are left; 0: any number."),
  creation_time: out.time("When it was made."),
  last_updated_time: out.time("When it was made, or a use was taken last."),
  expiration_time: out.nullable(out.time("When it ends; null: never.")),
  metadata: out.mapOf(out.string("Text."), "Noted on tokens."),
  cidr_list: out.list(out.string("Address or range."), "Where it is good; empty: as the role."),
  token_bound_cidrs: out.list(out.string("Address or range."), "Where its tokens are good."),
});

function showSecretId(record: SecretId) {
  return {
    secret_id_accessor: record.accessor,
    secret_id_ttl: inSeconds(record.ttl),
    secret_id_num_uses: record.usesLeft ?? 0,
    creation_time: showTime(record.created),
    last_updated_time: showTime(record.updated),
    expiration_time: record.expires === null ? null : showTime(record.expires),
    metadata: record.metadata,
    cidr_list: record.ranges,
    token_bound_cidrs: record.tokenRanges,
  };
}

const plain = [
  endpoint({
    name: "approleMakeSecretId",
    method: "POST",
    path: "/role/:role_name/secret-id",
    summary: "Make a secret id.",
    access: access.capability,
    belongs: "mount",
    input: { name, ...terms },
    output: made,
    handler: async ({ roles, secretIds }, { name: role, ...input }, context) => {
      const vouched = await context.isPrivileged();
      return showCreated(await secretIds.make(await roles.read(role), { ...input, vouched }));
    },
  }),
  endpoint({
    name: "approleChooseSecretId",
    method: "POST",
    path: "/role/:role_name/custom-secret-id",
    summary: "Register a secret id that was made elsewhere.",
    access: access.capability,
    belongs: "mount",
    input: { name, secretId, ...terms },
    output: made,
    handler: async ({ roles, secretIds }, { name: role, secretId: chosen, ...input }, context) => {
      const vouched = await context.isPrivileged();
      return showCreated(
        await secretIds.make(await roles.read(role), { ...input, vouched }, chosen),
      );
    },
  }),
  endpoint({
    name: "approleSecretIds",
    method: "LIST",
    path: "/role/:role_name/secret-id",
    summary: "List the accessors of a role's secret ids.",
    access: access.capability,
    input: { name, ...listing },
    output: out.keys("Accessors in their order."),
    handler: async ({ roles, secretIds }, { name, ...page }) => {
      const role = await roles.read(name);
      return namesPage(page, (read) => secretIds.accessors(role, read));
    },
  }),
  endpoint({
    name: "approleLookUpSecretId",
    method: "POST",
    path: "/role/:role_name/secret-id/lookup",
    summary: "Tell about a secret id.",
    access: access.capability,
    belongs: "local",
    input: { name, secretId },
    output: facts,
    handler: async ({ roles, secretIds }, input) =>
      showSecretId(await secretIds.bySecret(await roles.read(input.name), input.secretId)),
  }),
  endpoint({
    name: "approleLookUpAccessor",
    method: "POST",
    path: "/role/:role_name/secret-id-accessor/lookup",
    summary: "Tell about a secret id by its accessor.",
    access: access.capability,
    belongs: "local",
    input: { name, accessor },
    output: facts,
    handler: async ({ roles, secretIds }, input) =>
      showSecretId(await secretIds.byAccessor(await roles.read(input.name), input.accessor)),
  }),
];

/** Existing clients do it in either way. */
const ending = (["POST", "DELETE"] as const).flatMap((method) => [
  endpoint({
    name: method === "POST" ? "approleDestroySecretId" : "approleDeleteSecretId",
    method,
    path: "/role/:role_name/secret-id/destroy",
    summary: "End a secret id.",
    access: access.capability,
    belongs: "mount",
    input: { name, secretId },
    output: out.nothing,
    handler: async ({ roles, secretIds }, input) => {
      await secretIds.endSecret(await roles.read(input.name), input.secretId);
      return undefined;
    },
  }),
  endpoint({
    name: method === "POST" ? "approleDestroyAccessor" : "approleDeleteAccessor",
    method,
    path: "/role/:role_name/secret-id-accessor/destroy",
    summary: "End a secret id by its accessor.",
    access: access.capability,
    belongs: "mount",
    input: { name, accessor },
    output: out.nothing,
    handler: async ({ roles, secretIds }, input) => {
      await secretIds.endAccessor(await roles.read(input.name), input.accessor);
      return undefined;
    },
  }),
]);

export const secretIdsApi = [...plain, ...ending];
