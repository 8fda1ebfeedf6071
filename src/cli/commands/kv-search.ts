// `holdfast kv search`

import type { Client } from "@holdfast/client/client";
import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, MOUNT_FLAG, type KvPlace } from "../kv-place.ts";

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
    if (found.length === 0) out.hint(`Nothing found below ${place.shown}.`);
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
    context.progress(`searching ${place.shown}`);
  }
}
