// Endpoints that every mount has whose engine makes something outside: what of it could not be removed.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as failures from "../failures.ts";
import type { Orphans } from "../undo/orphans.ts";

const endpoint = endpointsOf<Orphans>();
const KEYS = "Ids of the records; kind, object, created_at and last_error of each.";

export const orphansApi = [
  endpoint({
    name: "readOrphans",
    method: "GET",
    path: "/orphans",
    summary: "List what was made outside and could not be removed for a day.",
    description: "It is still tried, every six hours.",
    access: access.sudo,
    input: {},
    output: out.keys(KEYS),
    handler: (orphans, _, { mount }) => {
      const found = orphans.list(mount);
      if (found.keys.length === 0) throw failures.orphanUnknown(); // as an empty list
      return found;
    },
  }),
  endpoint({
    name: "listOrphans",
    method: "LIST",
    path: "/orphans",
    summary: "List what was made outside and could not be removed for a day.",
    access: access.sudo,
    input: {},
    output: out.keys(KEYS),
    handler: (orphans, _, { mount }) => orphans.list(mount),
  }),
  endpoint({
    name: "deleteOrphan",
    method: "DELETE",
    path: "/orphans/:id",
    summary: "Give up such a record: nobody tries any more to remove what it tells of.",
    access: access.sudo,
    belongs: "local", // what an engine notes before it acts is
    input: { id: wire.path("id").string("Id of the record.") },
    output: out.nothing,
    handler: async (orphans, { id }, { mount }) => {
      await orphans.forget(mount, id);
      return undefined;
    },
  }),
];
