// Endpoints that reach over several secrets: copy, move, search, bulk deletion and the recycle bin. Each
// asks the caller's policies about every secret that it touches or tells of.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Stretches } from "@holdfast/shared/sliced";
import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { more, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { deleteAll, MAX_DELETED } from "../places/bulk-deletion.ts";
import * as failures from "../failures.ts";
import { listing } from "./fields.ts";
import { relocateFolder } from "../places/folder-relocation.ts";
import { MAX_COPIED } from "../places/judged-source.ts";
import type { Kv } from "../kv.ts";
import { openingsFor, relocate } from "../places/relocation.ts";
import { MAX_LOOKED_AT, search, withoutCase } from "../places/search.ts";
import { folderPath, folderRights, may, secretPath } from "../secret-path.ts";

const endpoint = engineEndpoints<Kv>();

const MAX_FOUND = 1000;

const places = {
  from: wire
    .body("from")
    .string("Path of the secret, or of the folder with recursive.", { form: withoutSlashes }),
  to: wire.body("to").string("Where it goes.", { form: withoutSlashes }),
  recursive: wire.body("recursive").boolean("Everything in a folder.").default(false),
  cas: wire
    .body("cas")
    .integer("Current version of the secret at the target, which is replaced. Default: none.", {
      min: 0,
    })
    .optional(),
  after: wire
    .body("after")
    .string("With recursive: the `next` of the answer before.", { max: 1024 })
    .optional(),
};

interface Places {
  readonly from: string;
  readonly to: string;
  readonly recursive: boolean;
  readonly cas: number | undefined;
  readonly after: string | undefined;
}

const rest = {
  taken: out.integer("Secrets left alone because there is one at the target."),
  refused: out.integer(
    "Secrets left alone because the caller has no right to them, or to write there what they hold, or " +
      "because they are too large.",
  ),
  next: out.optional(out.string("There are more: go on with this as `after`.")),
};

export const placesApi = [
  endpoint({
    name: "kvCopy",
    method: "POST",
    path: "/copy",
    summary: "Copy a secret with its versions, or a folder of them.",
    description:
      "Needs read on each source and create on each target; read on its metadata too where the caller may " +
      "read that of the target, and for a secret without versions. Deleted versions go along only for " +
      "callers that may undelete them at the source, or that could not at the target. Every version that " +
      "goes along is judged at the source as the read that shows it, and at the target as a write of it: " +
      `one that is refused refuses the secret. They have at most ${MAX_COPIED >> 20} MiB together.`,
    access: access.capability,
    belongs: "mount",
    input: places,
    output: out.object({ copied: out.integer("Secrets that were copied."), ...rest }),
    handler: async (kv, input, context) => {
      const { done, warnings, ...others } = await relocated(kv, "copy", input, context);
      return reply({ copied: done, ...others }, { warnings });
    },
  }),
  endpoint({
    name: "kvMove",
    method: "POST",
    path: "/move",
    summary: "Move a secret with its versions, or a folder of them.",
    description:
      "Needs delete on each source and create on each target, and the right to read each version at the " +
      "source unless the caller has no right at all to read at the target. Answers to writes show notes " +
      "and numbers of versions: where the caller may write at the target, it must see them at the source. " +
      "Every version is judged at " +
      "the target as a write of it would be.",
    access: access.capability,
    belongs: "mount",
    input: places,
    output: out.object({ moved: out.integer("Secrets that were moved."), ...rest }),
    handler: async (kv, input, context) => {
      const { done, warnings, ...others } = await relocated(kv, "move", input, context);
      return reply({ moved: done, ...others }, { warnings });
    },
  }),
  endpoint({
    name: "kvSearch",
    method: "GET",
    path: "/search",
    summary: "Find secrets by their path or custom metadata, among those the caller may read.",
    description:
      `One answer looks at up to ${MAX_LOOKED_AT} secrets and may find nothing among them; as ` +
      "long as it has a `next` there are more to look at.",
    access: access.capability,
    runs: "active", // a cursor is good where it was made
    input: {
      words: wire
        .query("q")
        .string("Text that is looked for, in either case.", { max: 256, form: withoutCase }),
      under: wire
        .query("under")
        .string("Only in this folder.", { form: withoutSlashes })
        .default(""),
      ...pageFields(MAX_FOUND, "The `next` of the answer before."),
    },
    output: out.object({
      keys: out.list(out.string("Path."), "Paths of what was found."),
      next: out.optional(out.string("There are more: go on with this as `after`.")),
    }),
    handler: async (kv, { words, under, limit, after }, context) => {
      const { paths, next } = await search(
        { ...kv, pace: context.pace },
        {
          words,
          folder: folderPath("under", under, context),
          limit,
          cursor: after,
          mayRead: (way, path) => may(context, "read", way, path),
          signal: context.signal,
        },
      );
      return { keys: paths, ...(next === null ? {} : { next }) };
    },
  }),
  endpoint({
    name: "kvBulkDelete",
    method: "POST",
    path: "/bulk-delete",
    summary: "Delete the newest versions of many secrets; undelete restores them.",
    description:
      "Needs delete on each secret: where one is missing, nothing is deleted at all. Secrets that " +
      "are not there, or are deleted already, are counted as absent.",
    access: access.capability,
    belongs: "mount",
    input: {
      paths: wire
        .body("paths")
        .list("Paths of the secrets.", { max: MAX_DELETED, form: withoutSlashes }),
    },
    output: out.object({
      deleted: out.integer("Secrets whose newest version was deleted."),
      absent: out.integer("Secrets with nothing to delete."),
    }),
    handler: async (kv, input, context) => {
      const paths = [...new Set(input.paths.map((path) => secretPath("paths", path, context)))];
      const stretches = new Stretches(context.pace);
      // All before any: a list with one foreign path is refused whole (T-D08).
      for (const path of paths) {
        if (stretches.over) await stretches.next();
        if (!(await may(context, "delete", "data", path))) throw failures.denied();
      }
      const deleted = await deleteAll(kv, paths, context.signal);
      return { deleted, absent: paths.length - deleted };
    },
  }),
  endpoint({
    name: "kvRecycle",
    method: "LIST",
    path: "/recycle",
    summary: "List deleted secrets that can be restored, in folders the caller may list.",
    description:
      "Shows what was deleted within the recycle_window of the mount; undelete restores it. After " +
      "that it is no longer shown, but stays as it is.",
    access: access.capability,
    input: listing,
    output: out.keys("Paths, and for each the deleted version and when it leaves the bin."),
    handler: async (kv, page, context) => {
      const { signal, pace } = context;
      const mayList = folderRights(context);
      const { found, next } = await kv.bin.list({ ...page, folder: "", mayList, signal }, pace);
      const info = found.map(({ path, version, deleted, until }): [string, JsonObject] => [
        path,
        { version, deletion_time: showTime(deleted), shown_until: showTime(until) },
      ]);
      const keys = found.map(({ path }) => path);
      return reply({ keys, key_info: Object.fromEntries(info) }, more(next));
    },
  }),
];

async function relocated(kv: Kv, kind: "copy" | "move", input: Places, context: EngineRequest) {
  const from = secretPath("from", input.from, context);
  const to = secretPath("to", input.to, context);
  const { storage, clock } = kv;
  const { pace } = context;
  const newId = () => kv.versioned.newId();
  const maxBytes = kind === "copy" ? MAX_COPIED : Infinity; // a move leaves them where they are
  const world = { storage, clock, pace, newId, maxBytes };
  if (!input.recursive) {
    if (from === to) throw failures.sameSecret();
    const move = { kind, from, to, cas: input.cas };
    const openings = await openingsFor(context, move);
    if (openings === null) throw failures.denied();
    if ((await relocate(world, context, move, openings)) === null) throw failures.notFound();
    return { done: 1, taken: 0, refused: 0, warnings: [] };
  }
  if (input.cas !== undefined) throw failures.casOnFolder();
  const folders = [`${from}/`, `${to}/`] as const;
  if (folders[0].startsWith(folders[1]) || folders[1].startsWith(folders[0])) {
    throw failures.nested();
  }
  const folder = { kind, from: folders[0], to: folders[1], after: input.after };
  const { next, ...counts } = await relocateFolder(world, context, folder);
  return { ...counts, ...(next === null ? {} : { next }) };
}
