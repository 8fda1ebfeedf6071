// Endpoints for what secrets hold: versions, their deletion and their structure.

import { showDuration } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import {
  cas,
  path,
  secretSettings,
  showVersion,
  version,
  versionOutput,
  versions,
} from "./fields.ts";
import type { Kv } from "../kv.ts";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import * as failures from "../failures.ts";

const endpoint = engineEndpoints<Kv>();

const MAX_DEPTH = 100;

export const dataApi = [
  endpoint({
    name: "kvReadConfig",
    method: "GET",
    path: "/config",
    summary: "Read what the mount says of all its secrets.",
    access: access.capability,
    input: {},
    output: out.object({
      max_versions: out.integer("How many versions are kept; 0 for 10."),
      cas_required: out.boolean("Whether every write must give cas."),
      delete_version_after: out.string("New versions are deleted after this time; 0s: never."),
      recycle_window: out.string("How long the recycle bin shows what was deleted."),
    }),
    handler: ({ versioned: { settings } }) => ({
      max_versions: settings.maxVersions,
      cas_required: settings.casRequired,
      delete_version_after: showDuration(settings.deleteVersionAfter),
      recycle_window: showDuration(settings.recycleWindow),
    }),
  }),
  endpoint({
    name: "kvWriteConfig",
    method: "POST",
    path: "/config",
    summary: "Change what the mount says of all its secrets.",
    access: access.capability,
    belongs: "mount",
    input: {
      ...secretSettings,
      recycleWindow: wire
        .body("recycle_window")
        .duration("How long the recycle bin shows what was deleted; 0s for no bin.")
        .optional(),
    },
    output: out.nothing,
    handler: async ({ versioned }, input) => {
      const change = Object.entries(input).filter(([, value]) => value !== undefined);
      await versioned.configure(Object.fromEntries(change));
      return undefined;
    },
  }),
  endpoint({
    name: "kvRead",
    method: "GET",
    path: "/data/:path+",
    summary: "Read a version of a secret.",
    description:
      "A version that is deleted or destroyed is answered with 404, its metadata, and null as data.",
    access: access.capability,
    fromSnapshot: true,
    input: { path, version },
    output: out.object({
      data: out.nullable(out.anyObject("What was written.")),
      metadata: versionOutput,
    }),
    handler: async ({ versioned }, input) => {
      const found = await versioned.read(input.path, input.version);
      if (found === null) throw failures.notFound();
      const view = { data: found.data, metadata: showVersion(found) };
      return found.data === null ? reply(view, { status: 404 }) : view;
    },
  }),
  endpoint({
    name: "kvWrite",
    method: "POST",
    path: "/data/:path+",
    summary: "Write a new version of a secret.",
    access: access.capability,
    belongs: "mount",
    input: { path, cas, data: wire.body("data").object("What is to be kept.") },
    output: versionOutput,
    exists: ({ versioned }, params) => versioned.has(params["path"] ?? ""),
    recovers: async ({ held, now }, params) => {
      const at = params["path"] ?? "";
      const data = (await held.versioned.read(at, 0))?.data ?? null;
      if (data === null) return null; // nothing, or deleted then as well
      const expected = await now.versioned.requiredCas(at);
      return { data, ...(expected === null ? {} : { options: { cas: expected } }) };
    },
    handler: async ({ versioned }, { path: at, data, cas: expected }, context) => {
      const check = (exists: boolean) => context.confirmExists(exists);
      return showVersion(await versioned.write(at, data, expected, check));
    },
  }),
  endpoint({
    name: "kvPatch",
    method: "PATCH",
    path: "/data/:path+",
    summary: "Write a new version that is the newest one with some changes.",
    access: access.capability,
    belongs: "mount",
    input: {
      path,
      cas,
      data: wire.body("data").object("A merge patch: null removes a member."),
    },
    output: versionOutput,
    handler: async ({ versioned }, input) =>
      showVersion(await versioned.patch(input.path, input.data, input.cas)),
  }),
  endpoint({
    name: "kvDelete",
    method: "DELETE",
    path: "/data/:path+",
    summary: "Delete the newest version; undelete restores it.",
    access: access.capability,
    belongs: "mount",
    input: { path },
    output: out.nothing,
    handler: ({ versioned }, input) => done(versioned.delete(input.path, null)),
  }),
  endpoint({
    name: "kvDeleteVersions",
    method: "POST",
    path: "/delete/:path+",
    summary: "Delete versions; undelete restores them.",
    access: access.capability,
    belongs: "mount",
    input: { path, versions },
    output: out.nothing,
    handler: ({ versioned }, input) => done(versioned.delete(input.path, input.versions)),
  }),
  endpoint({
    name: "kvUndelete",
    method: "POST",
    path: "/undelete/:path+",
    summary: "Restore deleted versions.",
    access: access.capability,
    belongs: "mount",
    input: { path, versions },
    output: out.nothing,
    handler: ({ versioned }, input) => done(versioned.undelete(input.path, input.versions)),
  }),
  endpoint({
    name: "kvDestroy",
    method: "POST",
    path: "/destroy/:path+",
    summary: "Remove the data of versions for good.",
    access: access.capability,
    belongs: "mount",
    input: { path, versions },
    output: out.nothing,
    handler: ({ versioned }, input) => done(versioned.destroy(input.path, input.versions)),
  }),
  endpoint({
    name: "kvSubkeys",
    method: "GET",
    path: "/subkeys/:path+",
    summary: "Read the structure of a version, with null in place of every value.",
    access: access.capability,
    fromSnapshot: true,
    input: {
      path,
      version,
      depth: wire
        .query("depth")
        .integer("How many levels; 0 for all.", { min: 0, max: MAX_DEPTH })
        .default(0),
    },
    output: out.object({
      subkeys: out.nullable(out.anyObject("Names; null in place of values.")),
      metadata: versionOutput,
    }),
    handler: async ({ versioned }, input) => {
      const found = await versioned.read(input.path, input.version);
      if (found === null) throw failures.notFound();
      const metadata = showVersion(found);
      if (found.data === null) return reply({ subkeys: null, metadata }, { status: 404 });
      return { subkeys: subkeysOf(found.data, input.depth), metadata };
    },
  }),
];

async function done(work: Promise<void>): Promise<undefined> {
  await work;
  return undefined;
}

// --- subkeys ---

// The structure of a document without what it says: null in place of every value.

/** `depth` 0 goes all the way down; below the last level objects are values as well. */
export function subkeysOf(data: JsonObject, depth: number): JsonObject {
  const names: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(data)) {
    const deeper = isObject(value) && depth !== 1 && Object.keys(value).length > 0;
    names[name] = deeper ? subkeysOf(value, depth === 0 ? 0 : depth - 1) : null;
  }
  return names;
}
