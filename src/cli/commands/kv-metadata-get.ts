// `holdfast kv metadata get`

import type { Instant } from "@holdfast/shared/world";
import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { conditionOf } from "../kv-versions.ts";
import { longTime, shortTime } from "../relative-time.ts";
import type { View } from "../terminal/output.ts";

export const kvMetadataGet = command({
  name: "kv metadata get",
  summary: "Show the versions of a secret, its settings and notes, without its data",
  examples: [
    "holdfast kv metadata get secret/app",
    "holdfast kv metadata get -field current_version secret/app",
  ],
  flags: MOUNT_FLAG,
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount }) {
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const { body, data } = await kv.readMetadata(client, place.mount, place.secret);
    await out.show(body, viewOf(data, clock.now()), data);
  },
});

const TIMES = ["created_time", "updated_time"];

function viewOf({ versions, ...facts }: kv.ReadMetadataAnswer, now: Instant): View {
  const pairs = Object.entries(facts).map(([name, value]) => {
    return [name, TIMES.includes(name) ? longTime(value, now) : value] as const;
  });
  // Newest first: that is the one that is asked about.
  const rows = Object.entries(versions)
    .toSorted(([a], [b]) => Number(b) - Number(a))
    .map(([version, one]) => [version, shortTime(one.created_time, now), conditionOf(one, now)]);
  return { parts: [{ pairs }, { columns: ["Version", "Created", "State"], rows }] };
}
