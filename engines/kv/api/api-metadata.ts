// Endpoints for what is known of secrets without their data, and for lists.

import type { JsonObject } from "@holdfast/shared/json/json";
import { Stretches } from "@holdfast/shared/sliced";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { more, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { metadataPatch, wholeMetadata } from "../custom-metadata.ts";
import * as failures from "../failures.ts";
import {
  folder,
  listing,
  MAX_PAGE,
  path,
  secretOutput,
  secretSettings,
  settingsPatch,
  showSecret,
} from "./fields.ts";
import type { Kv } from "../kv.ts";
import { namesIn, type NamesPage } from "../names.ts";
import { SECRETS } from "../rows.ts";
import { folderRights, may } from "../secret-path.ts";
import { walk } from "../places/walk.ts";

const endpoint = engineEndpoints<Kv>();

/** Looked at for one answer, which may show fewer: the metadata of one may have forty kilobytes. */
const MAX_DETAILED = 1000;

const scan = wire
  .query("scan")
  .boolean(
    "List folders within as well, as far as the caller may scan them: that is a capability of its own.",
  )
  .default(false);

const detailed = pageFields(MAX_DETAILED);

const DETAILED =
  "Needs list on the same folder of metadata/ as well. Metadata is shown of those secrets that the " +
  "caller may read there.";

export const metadataApi = [
  endpoint({
    name: "kvReadMetadata",
    method: "GET",
    path: "/metadata/:path+",
    summary: "Read what is known of a secret and its versions.",
    access: access.capability,
    fromSnapshot: true,
    input: { path },
    output: secretOutput,
    handler: async ({ versioned }, input) => {
      const secret = await versioned.secret(input.path);
      if (secret === null) throw failures.notFound();
      return showSecret(secret);
    },
  }),
  endpoint({
    name: "kvWriteMetadata",
    method: "POST",
    path: "/metadata/:path+",
    summary: "Change settings and notes of a secret; makes one without versions if there is none.",
    access: access.capability,
    belongs: "mount",
    input: { path, ...secretSettings, customMetadata: wholeMetadata },
    output: out.nothing,
    exists: async ({ versioned }, params) =>
      (await versioned.secret(params["path"] ?? "")) !== null,
    recovers: async ({ held }, params) => {
      const secret = await held.versioned.secret(params["path"] ?? "");
      if (secret === null) return null;
      const { max_versions, cas_required, delete_version_after, custom_metadata } =
        showSecret(secret);
      return {
        max_versions,
        cas_required,
        delete_version_after,
        custom_metadata: custom_metadata ?? {},
      };
    },
    handler: async ({ versioned }, { path: at, ...change }, context) => {
      await versioned.describe(at, change, (exists) => context.confirmExists(exists));
      return undefined;
    },
  }),
  endpoint({
    name: "kvPatchMetadata",
    method: "PATCH",
    path: "/metadata/:path+",
    summary: "Change some settings and notes of a secret.",
    access: access.capability,
    belongs: "mount",
    input: { path, ...settingsPatch, customMetadata: metadataPatch },
    output: out.nothing,
    handler: async ({ versioned }, { path: at, ...change }) => {
      await versioned.describe(at, change, (exists) => {
        if (!exists) throw failures.notFound();
      });
      return undefined;
    },
  }),
  endpoint({
    name: "kvDeleteMetadata",
    method: "DELETE",
    path: "/metadata/:path+",
    summary: "Remove a secret with all its versions, for good.",
    access: access.capability,
    belongs: "mount",
    input: { path },
    output: out.nothing,
    handler: async ({ versioned }, input) => {
      await versioned.remove(input.path);
      return undefined;
    },
  }),
  endpoint({
    name: "kvList",
    method: "LIST",
    path: "/metadata",
    summary: "List secrets and folders at the top of the mount.",
    access: access.capability,
    fromSnapshot: true,
    input: { ...listing, scan },
    output: out.keys("Names; folders end in a slash. With scan, paths of secrets."),
    handler: (kv, input, context) => list(kv, "", input, context),
  }),
  endpoint({
    name: "kvListBelow",
    method: "LIST",
    path: "/metadata/:path+",
    summary: "List secrets and folders in a folder.",
    access: access.capability,
    fromSnapshot: true,
    input: { path: folder, ...listing, scan },
    output: out.keys("Names; folders end in a slash. With scan, paths from this folder on."),
    handler: (kv, { path: at, ...input }, context) => list(kv, `${at}/`, input, context),
  }),
  endpoint({
    name: "kvListDetailed",
    method: "LIST",
    path: "/detailed-metadata",
    summary: "List secrets at the top of the mount with their metadata.",
    description: DETAILED,
    access: access.capability,
    fromSnapshot: true,
    input: detailed,
    output: out.keys("Names, and the metadata of those that the caller may read."),
    handler: (kv, page, context) => listDetailed(kv, "", page, context),
  }),
  endpoint({
    name: "kvListDetailedBelow",
    method: "LIST",
    path: "/detailed-metadata/:path+",
    summary: "List secrets in a folder with their metadata.",
    description: DETAILED,
    access: access.capability,
    fromSnapshot: true,
    input: { path: folder, ...detailed },
    output: out.keys("Names, and the metadata of those that the caller may read."),
    handler: (kv, { path: at, ...page }, context) => listDetailed(kv, `${at}/`, page, context),
  }),
];

async function list(
  kv: Kv,
  at: string,
  page: NamesPage & { readonly scan: boolean },
  context: EngineRequest,
) {
  const world = { storage: kv.storage, pace: context.pace };
  if (!page.scan) {
    const { names, next } = await namesIn(world, SECRETS + at, page);
    return reply({ keys: names }, more(next));
  }
  const rights = folderRights(context, "scan");
  const { paths, next } = await walk(world, {
    root: SECRETS,
    folder: at,
    // The folder itself is what the request was let in for.
    mayList: (inner) => (inner === at ? Promise.resolve(true) : rights(inner)),
    after: page.after === undefined ? undefined : at + page.after,
    limit: page.limit,
    signal: context.signal,
  });
  const keys = paths.map((one) => one.slice(at.length));
  return reply({ keys }, more(next === null ? null : next.slice(at.length)));
}

/** Its names are those of the list of the folder, so that whoever may not have that one has no other. */
async function listDetailed(kv: Kv, at: string, page: NamesPage, context: EngineRequest) {
  if (!(await folderRights(context)(at))) throw failures.denied();
  const { names, next } = await namesIn(
    { storage: kv.storage, pace: context.pace },
    SECRETS + at,
    page,
  );
  const stretches = new Stretches(context.pace);
  const keys: string[] = [];
  const info: [string, JsonObject][] = [];
  const answer = (following: string | null) =>
    reply({ keys, key_info: Object.fromEntries(info) }, more(following));
  let characters = 0;
  for (const name of names) {
    if (context.signal.aborted) throw failures.callerGone();
    if (stretches.over) await stretches.next();
    const view = await metadataOf(kv, at + name, context);
    characters += name.length + (view === null ? 0 : JSON.stringify(view).length);
    const last = keys.at(-1);
    if (characters > MAX_PAGE && last !== undefined) return answer(last);
    keys.push(name);
    if (view !== null) info.push([name, view]);
  }
  return answer(next);
}

/** Null for folders, and for what the caller may not read: to list names is one right, to read of them
 *  another. */
async function metadataOf(
  kv: Kv,
  path: string,
  context: EngineRequest,
): Promise<JsonObject | null> {
  if (path.endsWith("/") || !(await may(context, "read", "metadata", path))) return null;
  const secret = await kv.versioned.secret(path);
  return secret === null ? null : showSecret(secret);
}
