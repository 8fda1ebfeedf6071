// `holdfast snapshot load`, `loaded` and `unload`: snapshots beside the data, to read and to recover single things from.

import { ApiError } from "@holdfast/client/api-error";
import * as snapshots from "@holdfast/client/api/snapshots";
import type { Client } from "@holdfast/client/client";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { HOUR } from "@holdfast/shared/text/duration";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { shortTime } from "../terminal/relative-time.ts";
import { chunksOf, withArchive } from "./archive-file.ts";

/** The last rows are written shortly after the last byte; a slow disk gets its time. */
const LOADING = HOUR;

export const snapshotLoad = command({
  name: "snapshot load",
  summary: "Load a snapshot beside the data, to get single things back from it",
  description:
    "Nothing of the server changes. It must be a snapshot of this cluster and of today's root key. From then on -snapshot-id " +
    "of `read`, `list`, `kv get`, `kv list`, `policy read` and `policy list` answers from it, and `recover` and `kv recover` " +
    "write back what it held, with the rights of today. Two at most, each for 72 hours. The id goes to standard output " +
    "with -field snapshot_id. Needs `update` and `sudo` on sys/storage/raft/snapshot-load.",
  examples: [
    "holdfast snapshot load backup.snap",
    "id=$(holdfast snapshot load -field snapshot_id backup.snap)",
  ],
  flags: {},
  args: { file: argument.required("The snapshot") },
  run: (context, { file: path }) =>
    withArchive(context, path, async (file) => {
      const { out, clock } = context;
      const body = {
        chunks: chunksOf(context, file, "sending"),
        length: file.size,
        contentType: "application/gzip",
      };
      const { data } = await snapshots.loadSnapshot(context.client.inRoot(), body, {
        held: LOADING,
      });
      const { snapshot_id: id, index, entries, created, expires_at: expires } = data;
      const now = clock.now();
      const pairs: [string, JsonValue][] = [
        ["Id", id],
        ["Taken", shortTime(created, now)],
        ["Index", index],
        ["Entries", entries],
        ["Unloaded", shortTime(expires, now)],
      ];
      await out.show(data, { pairs }, data);
      out.hint(`Next: \`holdfast kv get -snapshot-id ${id} PATH\` reads from it.`);
      out.hint(`\`holdfast snapshot unload ${id}\` when you are done.`);
    }),
});

export const snapshotLoaded = command({
  name: "snapshot loaded",
  summary: "List the snapshots that are loaded beside the data",
  description: "None: exit code 3. Needs `list` and `sudo` on sys/storage/raft/snapshot-load.",
  examples: ["holdfast snapshot loaded", "holdfast snapshot loaded -format json"],
  flags: {},
  args: {},
  async run({ client, out, clock }) {
    const found = await loadedOn(client.inRoot());
    if (found.length === 0) out.hint("No snapshot is loaded.");
    if (found.length === 0 && out.forPeople) return 3;
    const now = clock.now();
    const rows = found.map((one) => [
      one["snapshot_id"],
      shortTime(one["created"], now),
      one["index"],
      one["entries"],
      shortTime(one["expires_at"], now),
    ]);
    const columns = ["Id", "Taken", "Index", "Entries", "Unloaded"];
    await out.show([...found], { columns, rows, whole: ["Id"] });
    return found.length === 0 ? 3 : 0;
  },
});

async function loadedOn(client: Client): Promise<readonly JsonObject[]> {
  try {
    const { key_info: info = {} } = (await snapshots.listLoadedSnapshots(client)).data;
    return Object.values(info) as readonly JsonObject[];
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return [];
    throw error;
  }
}

export const snapshotUnload = command({
  name: "snapshot unload",
  summary: "Unload a snapshot: nothing is read from it any more",
  description:
    "None of that id: exit code 3, told to who may also `read` there. Needs `delete` and `sudo` on " +
    "sys/storage/raft/snapshot-load/ID.",
  examples: ["holdfast snapshot unload 6f0c9a3e-5f0e-4f0a-9d6b-0b2f6c1d7a55"],
  flags: {},
  args: { id: argument.required("As `snapshot loaded` lists it") },
  async run({ client, out }, { id }) {
    await checkLoaded(client.inRoot(), id);
    await snapshots.unloadSnapshot(client.inRoot(), { id });
    out.done(`Success! The snapshot ${id} is unloaded.`);
  },
});

/** The server unloads what is not there without a word: a name that was mistyped is found here, by who may look. */
async function checkLoaded(client: Client, id: string): Promise<void> {
  try {
    await snapshots.readLoadedSnapshot(client, { id });
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === "denied")) throw error;
  }
}
