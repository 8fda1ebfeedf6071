// `holdfast kv patch`

import type { JsonObject } from "@holdfast/shared/json/json";
import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { CAS_FLAG, showWritten } from "../kv-versions.ts";
import { UsageError } from "../usage-error.ts";

export const kvPatch = command({
  name: "kv patch",
  summary: "Change some members of a secret and keep the others",
  description:
    "Makes a new version of the newest one, on the server and in one step; it needs the capability " +
    "patch, and not read. Values are given as for put; null in JSON, or -remove, takes a member away.",
  examples: [
    "holdfast kv patch secret/app password=@password.txt",
    "holdfast kv patch -remove user secret/app",
    "holdfast kv patch secret/app - < change.json",
  ],
  flags: {
    ...MOUNT_FLAG,
    ...CAS_FLAG,
    remove: flag.string("Take this member away", "NAME").repeated(),
  },
  args: {
    path: argument.required(KEY_HELP, { words: "kv" }),
    data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input"),
  },
  async run({ client, out, files, prompt, clock }, { path, mount, cas, remove, data: given }) {
    const changed = (await readData(given, { files, prompt, out }, { lists: false })) ?? {};
    const data: JsonObject = {
      ...changed,
      ...Object.fromEntries(remove.map((name) => [name, null])),
    };
    if (Object.keys(data).length === 0) {
      throw new UsageError("there is nothing to change", "give name=value, - for JSON, or -remove");
    }
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const answer = await kv.patch(client, place.mount, {
      ...place.secret,
      data,
      ...(cas === undefined ? {} : { options: { cas } }),
    });
    await showWritten(out, place, answer, clock.now());
  },
});
