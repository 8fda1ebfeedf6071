// `holdfast kv list`

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { Client } from "@holdfast/client/client";
import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { detailedListOf, listing, listOf } from "../kv-listing.ts";
import { findKv, MOUNT_FLAG, type KvPlace } from "../kv-place.ts";
import { recordOf } from "../kv-versions.ts";
import { shortTime } from "../relative-time.ts";
import type { View } from "../terminal/output.ts";
import { UsageError } from "../usage-error.ts";

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
  },
  args: {
    path: argument.optional("Path below which to list, beginning with its mount", { words: "kv" }),
  },
  async run({ client, out, clock }, { path = "", mount, after, limit, ...how }) {
    const { recursive, detailed, deleted } = how;
    if (Number(recursive) + Number(detailed) + Number(deleted) > 1) {
      throw new UsageError("-recursive, -detailed and -deleted exclude each other");
    }
    const place = await findKv(client, path, mount);
    if (recursive || detailed || deleted) place.needVersions();
    const read = deleted
      ? recycled(client, place)
      : detailed
        ? detailedListOf(client, place)
        : listOf(client, place, recursive);
    const listed = await listing(read, { after, limit });
    const inside = (key: string) => !deleted || key.startsWith(within(place));
    const keys = listed.keys.filter(inside);
    const { info } = listed;
    if (keys.length === 0) {
      out.hint(`${deleted ? "Nothing deleted" : "No secrets"} found below ${place.shown}.`);
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
