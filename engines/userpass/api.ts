// The endpoints of userpass, below its mount: as existing clients know them.

import { access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { namesPage, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import {
  loginFields,
  loginNameField,
  loginOutputs,
  showTerms,
} from "@holdfast/plugin-sdk/login-terms";
import type { Userpass } from "./userpass.ts";

const endpoint = engineEndpoints<Userpass>();

const MAX_LISTED = 1000;
const MAX_PASSWORD = 1024;

const username = loginNameField("username", "Name of the user; the case of letters is the same.");
const password = wire.body("password").secret("The password.", {
  max: MAX_PASSWORD,
  form: (text) => text.normalize("NFC"), // the same from every keyboard
});

export const userpassApi = [
  endpoint({
    name: "userpassLogin",
    method: "POST",
    path: "/login/:username",
    summary: "Log in with a name and a password.",
    access: access.open,
    belongs: ({ global }) => (global ? "shared" : "local"),
    login: true,
    input: { username, password },
    output: inAuth,
    handler: async (room, input, request) => {
      const { address } = request.remote;
      const offer = { password: input.password, address, request };
      return reply(undefined, { login: await room.login(input.username, offer) });
    },
  }),
  endpoint({
    name: "userpassUsers",
    method: "LIST",
    path: "/users",
    summary: "List the names of all users.",
    access: access.capability,
    input: pageFields(MAX_LISTED),
    output: out.keys("Names in their order."),
    handler: (room, page) => namesPage(page, (read) => room.names(read)),
  }),
  endpoint({
    name: "userpassReadUser",
    method: "GET",
    path: "/users/:username",
    summary: "Tell what a user's tokens will be like.",
    access: access.capability,
    input: { username },
    output: out.object(loginOutputs),
    handler: async (room, input) => showTerms((await room.read(input.username)).terms),
  }),
  endpoint({
    name: "userpassWriteUser",
    method: "POST",
    path: "/users/:username",
    summary: "Make a user, or change one.",
    description: "What is left out stays as it is. A new user needs a password.",
    access: access.capability,
    belongs: "mount",
    input: { username, password: password.optional(), ...loginFields },
    output: out.nothing,
    exists: (room, { username: name = "" }) => room.has(name),
    handler: async (room, { username: name, ...change }, context) => {
      await room.write(name, change, context);
      return undefined;
    },
  }),
  endpoint({
    name: "userpassDeleteUser",
    method: "DELETE",
    path: "/users/:username",
    summary: "Delete a user. Tokens that came of logins live on until they end.",
    access: access.capability,
    belongs: "mount",
    input: { username },
    output: out.nothing,
    handler: async (room, input) => {
      await room.delete(input.username);
      return undefined;
    },
  }),
  endpoint({
    name: "userpassSetPassword",
    method: "POST",
    path: "/users/:username/password",
    summary: "Give a user another password. Ends a lock for failed logins.",
    access: access.capability,
    belongs: "mount",
    input: { username, password },
    output: out.nothing,
    handler: async (room, input, request) => {
      await room.change(input.username, { password: input.password }, request);
      return undefined;
    },
  }),
  endpoint({
    name: "userpassSetPolicies",
    method: "POST",
    path: "/users/:username/policies",
    summary: "Say which policies a user's tokens will have.",
    access: access.capability,
    belongs: "mount",
    input: {
      username,
      policies: loginFields.policies,
    },
    output: out.nothing,
    handler: async (room, { username: name, policies }, request) => {
      await room.change(name, { policies }, request);
      return undefined;
    },
  }),
];
