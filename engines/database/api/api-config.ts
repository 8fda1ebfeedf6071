// The endpoints of connections, below their mount.

import { access } from "@holdfast/shared/endpoint/access";
import type { InputOf } from "@holdfast/shared/endpoint/field";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import * as fields from "../../cloud/fields.ts";
import { type ConnectionChange, openDetails } from "../connections/connection.ts";
import { ENDED_WITHIN } from "../connections/deletion.ts";
import type { DatabaseEngine } from "../engine.ts";
import { notFound } from "../failures.ts";
import { checkName, listed, listing, nameOf, statements } from "./fields.ts";

const endpoint = engineEndpoints<DatabaseEngine>();

const MAX_TEMPLATE = 100_000;
const name = nameOf("connection");

const ROTATES = {
  rootRotationStatements: statements(
    "root_rotation_statements",
    "By which rotate-root sets the new password; empty: the plugin's own.",
    ["root_credentials_rotate_statements"],
  ).optional(),
};

const writeFields = {
  name,
  all: wire.whole("fields", "Whatever else the plugin takes: kept, and handed on to it as it is."),
  pluginName: fields.trimmed("plugin_name", "Database plugin of the catalog.", 128).optional(),
  pluginVersion: fields
    .trimmed(
      "plugin_version",
      "Its version; empty: whichever the catalog says. Refused while one is pinned.",
      128,
    )
    .optional(),
  verifyConnection: fields
    .toggle("verify_connection", "Whether the database is logged in to now.")
    .default(true),
  allowedRoles: fields
    .items(
      "allowed_roles",
      "Roles that may use it; * for all, and at the end of a name for all that begin so.",
    )
    .optional(),
  ...ROTATES,
  passwordPolicy: wire
    .body("password_policy")
    .unsupported("Must be empty.", "there are no password policies here")
    .optional(),
  usernameTemplate: fields
    .text(
      "username_template",
      "Template of user names, with .DisplayName and .RoleName; empty: the built-in one.",
      "body",
      MAX_TEMPLATE,
    )
    .optional(),
  connectionUrl: fields
    .text(
      "connection_url",
      "Where the database is, with {{username}} and {{password}} in their places.",
      "body",
      8192,
    )
    .optional(),
  username: fields.text("username", "Whom the connection logs in as.", "body", 512).optional(),
  password: fields.secretText("password", "Its password. Never shown again.", 4096).optional(),
};

/** Of what was sent, what the plugin alone knows. */
function changeOf(input: InputOf<typeof writeFields>): ConnectionChange {
  const { all, connectionUrl, username, password } = input;
  const rest = Object.entries(all).filter(
    ([key, value]) => value !== null && value !== undefined && key !== name.name,
  );
  const details: JsonObject = {
    ...Object.fromEntries(rest),
    ...(connectionUrl === undefined ? {} : { connection_url: connectionUrl }),
    ...(username === undefined ? {} : { username }),
  };
  const { pluginName, pluginVersion, allowedRoles, rootRotationStatements, usernameTemplate } =
    input;
  return {
    pluginName,
    pluginVersion,
    allowedRoles,
    rootRotationStatements,
    usernameTemplate,
    password: password?.reveal(),
    details,
  };
}

export const configApi = [
  endpoint({
    name: "databaseConnections",
    method: "LIST",
    path: "/config",
    summary: "List the names of all connections.",
    access: access.capability,
    input: listing,
    output: out.keys("Names in their order."),
    handler: async ({ connections }, page) => ({
      keys: await listed(page, (part) => connections.names(part)),
    }),
  }),
  endpoint({
    name: "databaseReadConnection",
    method: "GET",
    path: "/config/:name",
    whileDisabling: true,
    summary: "Tell about a connection, without any secret.",
    access: access.capability,
    input: { name },
    output: out.object({
      plugin_name: out.string("Plugin of the catalog."),
      plugin_version: out.string("That was asked for; empty: whichever the catalog says."),
      allowed_roles: out.list(out.string("Name, or beginning of names."), "Who may use it."),
      root_credentials_rotate_statements: out.list(out.string("Statement."), "As written."),
      password_policy: out.string("Empty: there are none here."),
      connection_details: out.anyObject("What the plugin is handed, but for secrets."),
    }),
    handler: async ({ connections, configuration }, { name: called }) => {
      const found = await connections.find(checkName(called));
      if (found === null) throw notFound();
      const answer = {
        plugin_name: found.plugin,
        plugin_version: found.pluginVersion,
        allowed_roles: found.allowedRoles,
        root_credentials_rotate_statements: found.rootRotationStatements,
        password_policy: "",
        connection_details: openDetails(found),
      };
      return reply(answer, { warnings: configuration.warningsOn(found) });
    },
  }),
  endpoint({
    name: "databaseWriteConnection",
    method: "POST",
    path: "/config/:name",
    whileDisabling: true,
    summary: "Make a connection by a plugin, or change one.",
    description:
      "What is left out stays as it is, but for the password: whatever may have it sent elsewhere or in another way is " +
      "changed with the password alone. It is opened before anything is kept: where that fails nothing has changed.",
    access: access.capability,
    belongs: "mount",
    input: writeFields,
    output: out.nothing,
    handler: async (room, input, request) => {
      const { verifyConnection: verify } = input;
      const how = { verify, request };
      const warnings = await room.configuration.write(checkName(input.name), changeOf(input), how);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "databaseDeleteConnection",
    method: "DELETE",
    path: "/config/:name",
    summary: "Delete a connection that nothing uses.",
    description:
      "With force=true its leases are ended and its roles deleted first; where a lease does not end it stays.",
    access: access.capability,
    belongs: "mount",
    input: {
      name,
      force: fields.flag("force", "Whether what uses it is ended first.").default(false),
    },
    output: out.nothing,
    handler: async (room, { name: called, force }, request) => {
      request.allow(ENDED_WITHIN + 30n * SECOND);
      const warnings = await room.deleteConnection(checkName(called), { force, request });
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "databaseResetConnection",
    method: "POST",
    path: "/reset/:name",
    summary: "Open a connection anew, and close the one before.",
    access: access.capability,
    belongs: "local",
    input: { name },
    output: out.nothing,
    handler: async (room, { name: called }, request) => {
      await room.configuration.reset(checkName(called), request);
      return undefined;
    },
  }),
  endpoint({
    name: "databaseReloadPlugin",
    method: "POST",
    path: "/reload/:plugin",
    summary: "Open all connections of a plugin anew.",
    access: access.capability,
    belongs: "local",
    input: { plugin: wire.path("plugin").string("Name of the plugin.") },
    output: out.object({
      connections: out.list(out.string("Name."), "Those that were opened anew."),
      count: out.integer("How many."),
    }),
    handler: async (room, { plugin }, request) => {
      const { connections, warnings } = await room.configuration.reload(plugin, request);
      return reply({ connections, count: connections.length }, { warnings });
    },
  }),
  endpoint({
    name: "databaseRotateRoot",
    method: "POST",
    path: "/rotate-root/:name",
    summary: "Make a new password for the user of a connection. Nobody is shown it.",
    access: access.capability,
    belongs: "mount",
    input: { name },
    output: out.nothing,
    handler: async ({ rotation }, { name: called }, request) => {
      request.allow(150n * SECOND);
      await rotation.rotate(checkName(called), request);
      return undefined;
    },
  }),
];
