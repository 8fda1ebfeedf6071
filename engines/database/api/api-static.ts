// The endpoints of static roles and of their passwords, below their mount.

import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { SECOND, secondsLeft } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import * as fields from "../../cloud/fields.ts";
import { scheduleFields, scheduleOutput } from "../../cloud/rotation-fields.ts";
import type { DatabaseEngine } from "../engine.ts";
import type { StaticState } from "../statics/static-roles.ts";
import { checkName, listed, listing, nameOf, statements } from "./fields.ts";

const endpoint = engineEndpoints<DatabaseEngine>();
const name = nameOf("static role");
const LONGEST = 150n * SECOND;

const lastRotation = out.nullable(out.time("When the password was made; null: not here."));
const termsOutput = {
  rotation_period: out.integer("Seconds between two rotations; 0: there is a schedule."),
  ...scheduleOutput,
  last_rotation: lastRotation,
  last_vault_rotation: lastRotation,
};

function showTerms({ role, creds: { rotatedAt } }: StaticState) {
  const last = rotatedAt === null ? null : showTime(rotatedAt);
  return {
    rotation_period: role.rotationPeriod,
    rotation_schedule: role.rotationSchedule,
    rotation_window: role.rotationWindow,
    last_rotation: last,
    last_vault_rotation: last,
  };
}

function warningsOf({ creds: { lastError, nextPassword } }: StaticState): string[] {
  return [
    ...(nextPassword === null
      ? []
      : ["a rotation was interrupted: the database may have the next password already"]),
    ...(lastError === "" ? [] : [`the last rotation failed: ${lastError}`]),
  ];
}

export const staticApi = [
  endpoint({
    name: "databaseStaticRoles",
    method: "LIST",
    path: "/static-roles",
    summary: "List the names of all static roles.",
    access: access.capability,
    input: listing,
    output: out.keys("Names in their order."),
    handler: async ({ staticRoles }, page) => ({
      keys: await listed(page, (part) => staticRoles.names(part)),
    }),
  }),
  endpoint({
    name: "databaseReadStaticRole",
    method: "GET",
    path: "/static-roles/:name",
    summary: "Tell about a static role.",
    access: access.capability,
    input: { name },
    output: out.object({
      db_name: out.string("Its connection."),
      username: out.string("The user whose password is rotated."),
      rotation_statements: out.list(out.string("Statement."), "Empty: the plugin's own."),
      self_managed: out.boolean("Whether the user changes its password itself."),
      ...termsOutput,
      next_rotation: out.time("When the next is to be made, or tried again."),
      last_error: out.string("Why the last try failed; empty: it did not."),
      credential_type: out.oneOf(["password"], "What is rotated."),
    }),
    handler: async ({ staticRoles }, { name: called }) => {
      const state = await staticRoles.read(checkName(called));
      const { role, creds } = state;
      return reply(
        {
          db_name: role.dbName,
          username: role.username,
          rotation_statements: role.rotationStatements,
          self_managed: role.isSelfManaged,
          ...showTerms(state),
          next_rotation: showTime(creds.retryAt ?? creds.expiration),
          last_error: creds.lastError,
          credential_type: "password" as const,
        },
        { warnings: warningsOf(state) },
      );
    },
  }),
  endpoint({
    name: "databaseWriteStaticRole",
    method: "POST",
    path: "/static-roles/:name",
    summary: "Adopt a user of the database and make its password, or change when it is rotated.",
    description: "The user is there already. A new period or schedule counts from now.",
    access: access.capability,
    belongs: "mount",
    input: {
      name,
      dbName: fields.trimmed("db_name", "Connection that it uses.", 512).optional(),
      username: fields.text("username", "An existing user.", "body", 512).optional(),
      rotationPeriod: fields
        .seconds("rotation_period", "Time between two rotations; at least 5 seconds.")
        .optional(),
      ...scheduleFields,
      rotationStatements: statements(
        "rotation_statements",
        "By which the new password is set; empty: the plugin's own.",
      ).optional(),
      skipImportRotation: fields
        .toggle("skip_import_rotation", "Whether a new role is not rotated at once.")
        .default(false),
      selfManagedPassword: fields
        .secretText(
          "self_managed_password",
          "The user's present password, with which it changes its password itself.",
          4096,
        )
        .optional(),
    },
    output: out.nothing,
    handler: async ({ staticRoles }, input, request) => {
      request.allow(LONGEST);
      const { name: called, skipImportRotation: skip, selfManagedPassword, ...change } = input;
      const own = { selfManagedPassword: selfManagedPassword?.reveal() };
      await staticRoles.write(checkName(called), { ...change, ...own }, { skip, request });
      return undefined;
    },
  }),
  endpoint({
    name: "databaseDeleteStaticRole",
    method: "DELETE",
    path: "/static-roles/:name",
    summary: "Delete a static role. The user stays as it is.",
    access: access.capability,
    belongs: "mount",
    input: { name },
    output: out.nothing,
    handler: async ({ staticRoles }, { name: called }, request) => {
      await staticRoles.delete(checkName(called), request);
      return undefined;
    },
  }),
  endpoint({
    name: "databaseRotateStaticRole",
    method: "POST",
    path: "/rotate-role/:name",
    summary: "Make a new password for a static role now.",
    access: access.capability,
    belongs: "mount",
    input: { name },
    output: out.nothing,
    handler: async ({ staticRoles }, { name: called }, request) => {
      request.allow(LONGEST);
      await staticRoles.rotate(checkName(called), request);
      return undefined;
    },
  }),
  endpoint({
    name: "databaseReadStaticCreds",
    method: "GET",
    path: "/static-creds/:name",
    summary: "Give the present password of a static role. It has no lease.",
    access: access.capability,
    input: { name },
    output: out.object({
      username: out.string("The user."),
      password: out.secret("Its password."),
      ttl: out.integer("Seconds until it is to be replaced."),
      ...termsOutput,
    }),
    handler: async ({ staticRoles, needs: { clock } }, { name: called }) => {
      const state = await staticRoles.issue(checkName(called));
      const { role, creds } = state;
      const data = {
        username: role.username,
        password: creds.password,
        ttl: Math.max(0, secondsLeft(creds.expiration - clock.now())),
        ...showTerms(state),
      };
      return reply(data, { warnings: warningsOf(state) });
    },
  }),
];
