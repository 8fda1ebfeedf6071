// The endpoints of loaded snapshots. Whoever may load one decides what can be read from then on, with the rights of today.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { ARCHIVE_BODY } from "../manual/api-snapshot.ts";
import type { LoadedSnapshot, LoadedSnapshots } from "./loaded-snapshots.ts";

const endpoint = endpointsOf<LoadedSnapshots>();

const PATH = "/sys/storage/raft/snapshot-load";
/** A store of any size, over any line that gets on. */
const PATIENCE = 24n * 3600n * SECOND;

const id = wire.path("id").string("Of the loaded snapshot");

const view = {
  snapshot_id: out.string("Names it in read_snapshot_id and X-Service-Recover-Snapshot-Id"),
  status: out.oneOf(["ready"], "It can be read from"),
  archive_id: out.string("Of the archive"),
  index: out.integer("The last index that it holds"),
  created: out.time("When the snapshot was taken"),
  cluster_id: out.string("Of the cluster that made it"),
  entries: out.integer("Rows in it"),
  size: out.integer("Bytes of the archive"),
  loaded_at: out.time("When it was loaded"),
  expires_at: out.time("When it is unloaded by itself"),
};

export const loadedApi = [
  endpoint({
    name: "loadSnapshot",
    method: "POST",
    path: PATH,
    summary: "Load a snapshot beside the data, to read from it",
    description:
      "The archive must be of this cluster and of today's root key, and is checked whole. It stays for 72 hours, at most " +
      "two at a time; sealing, the end of the process and a restore unload it. Reads and lists of key/value secrets, " +
      "policies and roles of engines with read_snapshot_id are answered from it; their writes with the header " +
      "X-Service-Recover-Snapshot-Id write back what it held. Rights are those of today.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    runs: "active",
    bodyStream: ARCHIVE_BODY,
    input: {},
    output: out.object(view),
    handler: async (loaded, _input, context) => {
      context.allow(PATIENCE);
      return viewOf(await loaded.load(context.stream, context.signal));
    },
  }),

  endpoint({
    name: "listLoadedSnapshots",
    method: "LIST",
    path: PATH,
    summary: "List the loaded snapshots",
    access: access.sudo,
    rootOnly: true,
    runs: "active",
    input: {},
    output: out.keys("Their ids, and what a read tells of each"),
    handler: (loaded) => ({
      keys: loaded.all.map((one) => one.id).toSorted(),
      key_info: Object.fromEntries(loaded.all.map((one) => [one.id, viewOf(one)])),
    }),
  }),

  endpoint({
    name: "readLoadedSnapshot",
    method: "GET",
    path: `${PATH}/:id`,
    summary: "Tell of a loaded snapshot",
    access: access.sudo,
    rootOnly: true,
    runs: "active",
    input: { id },
    output: out.object(view),
    handler: (loaded, input) => viewOf(loaded.named(input.id)),
  }),

  endpoint({
    name: "unloadSnapshot",
    method: "DELETE",
    path: `${PATH}/:id`,
    summary: "Unload a snapshot",
    description:
      "Answered when the requests that read from it have ended and nothing is left of it on the disk; at once where " +
      "none of that id is loaded.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    input: { id },
    output: out.nothing,
    handler: async (loaded, input) => {
      await loaded.unload(input.id);
      return undefined;
    },
  }),
];

function viewOf({ id: snapshotId, archive, loaded, expires }: LoadedSnapshot) {
  const { meta, bytes } = archive;
  return {
    snapshot_id: snapshotId,
    status: "ready" as const,
    archive_id: meta.id,
    index: meta.index,
    created: showTime(meta.created),
    cluster_id: meta.clusterId,
    entries: meta.entries,
    size: bytes,
    loaded_at: showTime(loaded),
    expires_at: showTime(expires),
  };
}
