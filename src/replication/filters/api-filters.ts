// The endpoints by which a primary of performance replication withholds mounts and namespaces from a secondary, and both see what that is.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { filterSecondaryUnknown, filterUnknown } from "./failures.ts";
import { MODES, type Withheld } from "./filter.ts";
import { MAX_PATHS, normalPath } from "./filter-paths.ts";
import type { Replication } from "../replication.ts";

const endpoint = endpointsOf<Replication>();

const PRIMARY = "/sys/replication/performance/primary";

const id = wire
  .path("id")
  .string("Of the secondary: its own, as its token has it, or that of its cluster", { max: 64 });

const withheld = out.object({
  dynamic_filtered_mounts: out.list(out.string("Path from root"), "Mounts that are not sent"),
  dynamic_filtered_namespaces: out.list(
    out.string("Path from root"),
    "Namespaces that are not sent",
  ),
});

const ALLOWS =
  "mode was not said, and is allow: what is named is sent, and nothing else; with deny it is what is withheld";

function pathsIn({ mounts, namespaces }: Withheld) {
  return {
    dynamic_filtered_mounts: [...mounts.values()].toSorted(),
    dynamic_filtered_namespaces: [...namespaces.values()].toSorted(),
  };
}

export const filtersApi = [
  endpoint({
    name: "writePathsFilter",
    method: "POST",
    path: `${PRIMARY}/paths-filter/:id`,
    summary: "Say which mounts and namespaces a secondary is sent",
    description:
      "From when this is answered nothing is sent that the filter withholds. What the secondary has of it goes there, with what was given by these " +
      "mounts; what is not withheld any more comes back. A filter may be made before the secondary is there.",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    input: {
      id,
      mode: wire
        .param("mode")
        .oneOf(MODES, "allow: only these are sent; deny: these are not; allow unless said")
        .optional(),
      paths: wire
        .param("paths")
        .list("Mounts and namespaces, from root: kv/, auth/people/, team-a/kv/, team-a/", {
          max: MAX_PATHS,
          form: normalPath,
        })
        .default([]),
    },
    output: out.nothing,
    handler: async (replication, input) => {
      const { filters } = await replication.primary();
      const { mode = "allow" } = input;
      const unsaid = input.mode === undefined ? [ALLOWS] : [];
      const found = await filters.put(input.id, mode, input.paths);
      return reply(undefined, { warnings: [...unsaid, ...found] });
    },
  }),

  endpoint({
    name: "readPathsFilter",
    method: "GET",
    path: `${PRIMARY}/paths-filter/:id`,
    summary: "Show the filter of a secondary",
    access: access.capability,
    rootOnly: true,
    input: { id },
    output: out.object({
      id: out.string("As it was asked for"),
      mode: out.string("allow or deny"),
      paths: out.list(out.string("Path from root"), "As they were when the filter was made"),
    }),
    handler: async (replication, input) => {
      const { filters } = await replication.primary();
      const found = await filters.read(input.id);
      if (found === null) throw filterUnknown();
      const { mode, paths } = found.filter;
      return reply(
        { id: input.id, mode, paths: paths.map(({ path }) => path) },
        { warnings: found.warnings },
      );
    },
  }),

  endpoint({
    name: "deletePathsFilter",
    method: "DELETE",
    path: `${PRIMARY}/paths-filter/:id`,
    summary: "Send a secondary everything that is shared",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    input: { id },
    output: out.nothing,
    handler: async (replication, input) => {
      const { filters } = await replication.primary();
      await filters.remove(input.id);
      return undefined;
    },
  }),

  endpoint({
    name: "readPrimaryDynamicFilter",
    method: "GET",
    path: `${PRIMARY}/dynamic-filter/:id`,
    summary: "Show what is withheld from a secondary just now",
    description: "Mounts and namespaces that were made since the filter are among them.",
    access: access.capability,
    rootOnly: true,
    input: { id },
    output: withheld,
    handler: async (replication, input) => {
      const { filters } = await replication.primary();
      const found = await filters.withheld(input.id);
      if (found === null) throw filterSecondaryUnknown();
      return pathsIn(found);
    },
  }),

  endpoint({
    name: "readSecondaryDynamicFilter",
    method: "GET",
    path: "/sys/replication/performance/secondary/dynamic-filter/:id",
    summary: "Show what is withheld from this secondary, as its primary has told it",
    access: access.capability,
    rootOnly: true,
    input: { id },
    output: withheld,
    handler: async (replication, input) => pathsIn(replication.withheldHere(input.id)),
  }),
];
