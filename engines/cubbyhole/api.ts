// The paths of cubbyhole/: what a token keeps for itself alone.

import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Cubbyhole } from "./cubbyhole.ts";
import { absent } from "./failures.ts";

const endpoint = engineEndpoints<Cubbyhole>();

const path = wire.path("path").string("Name of the entry.");
const names = out.keys("Names, folders with a slash.");

export const cubbyholeApi = [
  endpoint({
    name: "listCubbyhole",
    method: "LIST",
    path: "/",
    summary: "List what the token's own cubbyhole holds.",
    access: access.capability,
    input: {},
    output: names,
    handler: (cubbyhole, _, request) => ({ keys: cubbyhole.list(request, "") }),
  }),
  endpoint({
    name: "listCubbyholeFolder",
    method: "LIST",
    path: "/:path+",
    summary: "List a folder of the token's own cubbyhole.",
    access: access.capability,
    input: { path: wire.path("path").string("Name of the folder.") },
    output: names,
    handler: (cubbyhole, { path: folder }, request) => ({ keys: cubbyhole.list(request, folder) }),
  }),
  endpoint({
    name: "readCubbyhole",
    method: "GET",
    path: "/:path+",
    summary: "Read an entry of the token's own cubbyhole.",
    access: access.capability,
    input: { path },
    output: out.anyObject("As it was written."),
    handler: (cubbyhole, { path: name }, request) => {
      const found = cubbyhole.read(request, name);
      if (found === null) throw absent();
      return found;
    },
  }),
  endpoint({
    name: "writeCubbyhole",
    method: "POST",
    path: "/:path+",
    summary: "Write an entry of the token's own cubbyhole, in place of what is there.",
    access: access.capability,
    belongs: "local",
    exists: (cubbyhole, { path: name = "" }, request) => cubbyhole.read(request, name) !== null,
    input: { path, data: wire.whole("data", "Any object.") },
    output: out.nothing,
    handler: async (cubbyhole, { path: name, data }, request) => {
      await cubbyhole.replace(request, name, data);
      return undefined;
    },
  }),
  endpoint({
    name: "deleteCubbyhole",
    method: "DELETE",
    path: "/:path+",
    summary: "Delete an entry of the token's own cubbyhole.",
    access: access.capability,
    belongs: "local",
    input: { path },
    output: out.nothing,
    handler: async (cubbyhole, { path: name }, request) => {
      await cubbyhole.delete(request, name);
      return undefined;
    },
  }),
];
