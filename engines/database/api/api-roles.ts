// The endpoints of roles and of what they give, below their mount.

import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { SECOND } from "@holdfast/shared/text/duration";
import { CREDENTIAL_TYPES } from "@holdfast/plugin-sdk/database";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import * as fields from "../../cloud/fields.ts";
import type { DatabaseEngine } from "../engine.ts";
import { notFound } from "../failures.ts";
import type { Role } from "../roles/role.ts";
import { checkName, listed, listing, nameOf, settings, statements } from "./fields.ts";

const endpoint = engineEndpoints<DatabaseEngine>();
const name = nameOf("role");
const statement = out.string("Statement.");

function showRole(role: Role) {
  return {
    db_name: role.dbName,
    creation_statements: role.creationStatements,
    revocation_statements: role.revocationStatements,
    rollback_statements: role.rollbackStatements,
    renew_statements: role.renewStatements,
    default_ttl: role.defaultTtl,
    max_ttl: role.maxTtl,
    credential_type: role.credentialType,
    credential_config: role.credentialConfig,
  };
}

export const rolesApi = [
  endpoint({
    name: "databaseRoles",
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
    name: "databaseReadRole",
    method: "GET",
    path: "/roles/:name",
    summary: "Tell about a role.",
    access: access.capability,
    fromSnapshot: true,
    input: { name },
    output: out.object({
      db_name: out.string("Its connection."),
      creation_statements: out.list(statement, "By which a user is made."),
      revocation_statements: out.list(statement, "By which it is ended; empty: the plugin's own."),
      rollback_statements: out.list(statement, "Run where making one failed half-way."),
      renew_statements: out.list(
        statement,
        "By which its end is put off; empty: the plugin's own.",
      ),
      default_ttl: out.integer("Seconds; 0: as the mount says."),
      max_ttl: out.integer("Seconds; 0: as the mount says."),
      credential_type: out.oneOf(CREDENTIAL_TYPES, "What a user proves itself with."),
      credential_config: out.mapOf(out.string("Value."), "How that is made."),
    }),
    handler: async ({ roles }, { name: called }) => {
      const role = await roles.find(checkName(called));
      if (role === null) throw notFound();
      return showRole(role);
    },
  }),
  endpoint({
    name: "databaseWriteRole",
    method: "POST",
    path: "/roles/:name",
    summary: "Make a role, or change one.",
    description: "What is left out stays as it is; an empty value clears.",
    access: access.capability,
    belongs: "mount",
    input: {
      name,
      dbName: fields.trimmed("db_name", "Connection that it uses.", 512).optional(),
      creationStatements: statements(
        "creation_statements",
        "By which a user is made; {{name}}, {{password}} and {{expiration}} stand for its own.",
      ).optional(),
      revocationStatements: statements(
        "revocation_statements",
        "By which a user is ended; empty: the plugin's own.",
      ).optional(),
      rollbackStatements: statements(
        "rollback_statements",
        "What is run where making a user has failed half-way.",
      ).optional(),
      renewStatements: statements(
        "renew_statements",
        "By which the end of a user is put off; empty: the plugin's own.",
      ).optional(),
      defaultTtl: fields
        .seconds("default_ttl", "How long leases are; 0: as the mount says.")
        .optional(),
      maxTtl: fields.seconds("max_ttl", "How long at most; 0: as the mount says.").optional(),
      credentialType: wire
        .body("credential_type")
        .oneOf(CREDENTIAL_TYPES, "What a user proves itself with.")
        .optional(),
      credentialConfig: settings(
        "credential_config",
        "Of rsa_private_key: key_bits and format.",
      ).optional(),
    },
    recovers: async ({ held: { roles } }, { name: called = "" }) => {
      const role = await roles.find(checkName(called));
      return role === null ? null : showRole(role);
    },
    output: out.nothing,
    handler: async ({ roles }, { name: called, ...change }, request) => {
      const warnings = await roles.write(checkName(called), change, request);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "databaseDeleteRole",
    method: "DELETE",
    path: "/roles/:name",
    summary: "Delete a role. What it has given lives on until its leases end.",
    access: access.capability,
    belongs: "mount",
    input: { name },
    output: out.nothing,
    handler: async ({ roles }, { name: called }, request) => {
      const warnings = await roles.delete(checkName(called), request);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "databaseReadCreds",
    method: "GET",
    path: "/creds/:name",
    summary: "Make a user of the database for a role.",
    access: access.capability,
    belongs: "local", // leases are; what the mount shares is read
    runs: "active",
    issues: true,
    input: { name },
    output: out.object({
      username: out.string("Name of the user."),
      password: out.optional(out.secret("Its password.")),
      rsa_private_key: out.optional(out.secret("Its private key, as PEM.")),
    }),
    handler: async ({ users }, { name: called }, request) => {
      request.allow(160n * SECOND);
      return await users.issue(checkName(called), request.caller);
    },
  }),
];
