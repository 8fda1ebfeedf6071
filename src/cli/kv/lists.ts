// `holdfast kv list` and `search`: which secrets there are, page by page.

import { MORE } from "@holdfast/shared/endpoint/page";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import type { Answer, CallOptions, Client } from "@holdfast/client/client";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { findKv, MOUNT_FLAG, type KvPlace } from "./place.ts";
import { readingClient, SNAPSHOT_FLAG } from "../snapshot-flag.ts";
import type { View } from "../terminal/output.ts";
import { shortTime } from "../terminal/relative-time.ts";
import { recordOf } from "./versions.ts";

interface Listing {
  readonly after?: string | undefined;
  /** As many as there are, where nothing is said. */
  readonly limit?: number | undefined;
}

interface Listed {
  readonly keys: readonly string[];
  readonly info: JsonObject;
}

export async function listing(read: ReadList, { after: first, limit }: Listing): Promise<Listed> {
  const keys: string[] = [];
  const info: Record<string, JsonValue | undefined> = {};
  let after = first;
  for (;;) {
    const { data, next } = await readPage(read, { after, limit });
    keys.push(...data.keys);
    Object.assign(info, data.key_info);
    if (limit !== undefined || next === undefined) return { keys, info };
    after = next;
  }
}

/** The list that is meant: one function of the client, at one place. */
type ReadList = (page: Listing, options: CallOptions) => Promise<Answer<kv.ListAnswer>>;

/** Names below a place, of either version. */
export function listOf(client: Client, place: KvPlace, scan = false): ReadList {
  const { mount, key, secret } = place;
  return (page, options) => {
    if (place.version === 1) {
      return key === ""
        ? kv1.list(client, mount, page, options)
        : kv1.listBelow(client, mount, { ...secret, ...page }, options);
    }
    const query = scan ? { ...page, scan } : page;
    return key === ""
      ? kv.list(client, mount, query, options)
      : kv.listBelow(client, mount, { ...secret, ...query }, options);
  };
}

/** The same with what is known of each; of version 2. */
function detailedListOf(client: Client, { mount, key, secret }: KvPlace): ReadList {
  return (page, options) =>
    key === ""
      ? kv.listDetailed(client, mount, page, options)
      : kv.listDetailedBelow(client, mount, { ...secret, ...page }, options);
}

interface Page {
  readonly data: kv.ListAnswer;
  readonly next: string | undefined;
}

/** Nothing in it for an empty list, which the API answers as "not found" without a text. */
async function readPage(read: ReadList, page: Listing): Promise<Page> {
  try {
    const answer = await read(page, page.limit === undefined ? { untold: MORE } : {});
    const next = answer.warnings.map((one) => MORE.exec(one)?.[1]).find((one) => one !== undefined);
    return { data: answer.data, next };
  } catch (error) {
    const empty = error instanceof ApiError && error.status === 404 && error.errors.length === 0;
    if (empty) return { data: { keys: [] }, next: undefined };
    throw error;
  }
}

export const kvList = command({
  name: "kv list",
  summary: "List secrets below a path",
  description:
    "Folders end in a slash. -recursive goes into them (which takes the capability scan), -detailed adds versions and times, -deleted " +
    "shows what lies in the recycle bin of the mount and until when `kv undelete` restores it.",
  examples: [
    "holdfast kv list secret",
    "holdfast kv list -recursive secret/shop",
    "holdfast kv list -detailed secret/shop",
    "holdfast kv list -deleted secret",
  ],
  flags: {
    ...MOUNT_FLAG,
    recursive: flag.switch("All secrets below, not only the next level"),
    detailed: flag.switch("With versions and times"),
    deleted: flag.switch("What was deleted and can be restored"),
    after: flag.string("Only those after this one", "KEY"),
    limit: flag.integer("How many at most", { min: 1 }),
    ...SNAPSHOT_FLAG,
  },
  args: {
    path: argument.optional("Path below which to list, beginning with its mount", { words: "kv" }),
  },
  async run({ client, out, clock }, { path = "", mount, after, limit, snapshotId, ...how }) {
    const { recursive, detailed, deleted } = how;
    if (deleted && snapshotId !== undefined) {
      throw new UsageError("-deleted shows the bin of now; leave out -snapshot-id");
    }
    if (Number(recursive) + Number(detailed) + Number(deleted) > 1) {
      throw new UsageError("-recursive, -detailed and -deleted exclude each other");
    }
    const place = await findKv(client, path, mount);
    if (recursive || detailed || deleted) place.needVersions();
    const reader = readingClient(client, snapshotId);
    const read = deleted
      ? recycled(client, place)
      : detailed
        ? detailedListOf(reader, place)
        : listOf(reader, place, recursive);
    const listed = await listing(read, { after, limit });
    const inside = (key: string) => !deleted || key.startsWith(within(place));
    const keys = listed.keys.filter(inside);
    const { info } = listed;
    if (keys.length === 0) {
      out.hint(`${deleted ? "Nothing deleted" : "No secrets"} found below ${place.label}.`);
      if (!out.forPeople) await out.show([], { text: "" });
      return 3;
    }
    const view =
      detailed || deleted ? detailedView(keys, info, clock.now(), deleted) : plainView(keys);
    const all = [...keys];
    await out.show(detailed || deleted ? { keys: all, key_info: info } : all, view, { keys: all });
    return 0;
  },
});

/** The bin is one for the whole mount. */
function recycled(client: Client, { mount }: KvPlace): Parameters<typeof listing>[0] {
  return (page, options) => kv.recycle(client, mount, page, options);
}

function within({ key }: KvPlace): string {
  return key === "" ? "" : `${key}/`;
}

function plainView(keys: readonly string[]): View {
  return { columns: ["Keys"], rows: keys.map((key) => [key]) };
}

function detailedView(
  keys: readonly string[],
  info: JsonObject,
  now: Instant,
  deleted: boolean,
): View {
  const rows = keys.map((key) => {
    const one = recordOf(info[key]);
    return deleted
      ? [
          key,
          one["version"],
          shortTime(one["deletion_time"], now),
          shortTime(one["shown_until"], now),
        ]
      : [key, one["current_version"], shortTime(one["updated_time"], now), one["custom_metadata"]];
  });
  const columns = deleted
    ? ["Key", "Version", "Deleted", "Leaves The Bin"]
    : ["Key", "Version", "Changed", "Custom Metadata"];
  return { columns, rows, whole: ["Key"] };
}

export const kvSearch = command({
  name: "kv search",
  summary: "Find secrets by their names and notes",
  description:
    "Finds what the present token may read, and nothing else; data is not searched. The server looks " +
    "at a bounded number of keys per request, so that a large mount takes several.",
  examples: [
    "holdfast kv search prices secret",
    "holdfast kv search anna secret/shop",
    "holdfast kv search -limit 10 prices secret",
  ],
  flags: { ...MOUNT_FLAG, limit: flag.integer("How many at most", { min: 1 }) },
  args: {
    text: argument.required("What names or notes hold"),
    path: argument.optional("Path below which to search, beginning with its mount"),
  },
  async run(context, { text, path = "", mount, limit }) {
    const { client, out } = context;
    const place = (await findKv(client, path, mount)).needVersions();
    const found: string[] = [];
    for await (const key of matches(context, client, place, text)) {
      found.push(`${place.mount}${key}`);
      if (found.length === limit) break;
    }
    context.quiet();
    if (found.length === 0) out.hint(`Nothing found below ${place.label}.`);
    if (found.length > 0 || !out.forPeople) {
      await out.show(found, { columns: ["Path"], rows: found.map((one) => [one]) });
    }
    return found.length === 0 ? 3 : 0;
  },
});

/** Follows the cursor to the end, or as far as anybody listens. */
async function* matches(
  context: Context,
  client: Client,
  place: KvPlace,
  text: string,
): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const under = place.key === "" ? undefined : place.key;
    const { data } = await kv.search(client, place.mount, { q: text, under, after });
    yield* data.keys;
    const { next } = data;
    if (next === undefined || next === "") return;
    after = next;
    context.progress(`searching ${place.label}`);
  }
}
