// The endpoints that bring a snapshot back.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { ARCHIVE_BODY } from "../manual/api-snapshot.ts";
import { alreadyInitialised, notAllowed, notOnSecondary } from "./failures.ts";
import type { RestoreStatus } from "./restore-book.ts";
import type { Restores } from "./restores.ts";

const endpoint = endpointsOf<Restores>();
/** A store of any size, over any line that gets on. */
const PATIENCE = 24n * 3600n * SECOND;
const SECRET_HEADER = "x-service-restore-secret";

export const restoreApi = [
  endpoint({
    name: "restoreSnapshot",
    method: "POST",
    path: "/sys/storage/raft/snapshot",
    summary: "Put a snapshot of this server in the place of its data",
    description:
      "Answered when the archive was verified; the restore goes on after that, and restore-status tells how far it is. " +
      "Until the data is exchanged everything goes on, and a failure leaves it as it is. Leases that the snapshot does not " +
      "know are revoked.",
    access: access.sudo,
    belongs: "local", // the data of this cluster is exchanged: nobody else's
    rootOnly: true,
    runs: "active",
    family: "bare",
    refusedOnDrSecondary: notOnSecondary,
    bodyStream: ARCHIVE_BODY,
    input: {},
    output: out.nothing,
    handler: async (restores, _input, context) => {
      context.allow(PATIENCE);
      await restores.restore(context.stream, { force: false });
      return undefined;
    },
  }),

  endpoint({
    name: "forceRestoreSnapshot",
    method: "POST",
    path: "/sys/storage/raft/snapshot-force",
    summary: "The same with a snapshot of other keys",
    description:
      "Of another cluster, or of this one before a rekey: the server is sealed afterwards and is unsealed with the shares " +
      "of the snapshot's day. Leases that it does not know are revoked then, where it has their mount and the process is the same. " +
      "One of today's keys is restored as sys/storage/raft/snapshot does.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    runs: "active",
    family: "bare",
    refusedOnDrSecondary: notOnSecondary,
    bodyStream: ARCHIVE_BODY,
    input: {},
    output: out.nothing,
    handler: async (restores, _input, context) => {
      context.allow(PATIENCE);
      await restores.restore(context.stream, { force: true });
      return undefined;
    },
  }),

  endpoint({
    name: "initialiseFromSnapshot",
    method: "POST",
    path: "/sys/storage/raft/snapshot-init",
    summary: "Restore a snapshot into a server that is not initialised",
    description:
      "For callers on its machine, or with the content of restore-secret, in the directory server below data_dir, in the " +
      "header X-Service-Restore-Secret. Whoever initialises the server meanwhile goes first: then it is refused. It is sealed afterwards and is unsealed with the shares of the snapshot's day.",
    access: access.open,
    belongs: "local",
    answers: "always",
    rootOnly: true,
    runs: "here",
    family: "bare",
    bodyStream: ARCHIVE_BODY,
    input: {},
    output: out.nothing,
    handler: async (restores, _input, context) => {
      if (restores.initialised) throw alreadyInitialised();
      const secret = context.ownHeader(SECRET_HEADER);
      const allowed =
        secret === undefined ? context.remote.loopback : restores.secret.matches(secret);
      if (!allowed) throw notAllowed();
      context.allow(PATIENCE);
      await restores.initialise(context.stream, context.remote);
      return undefined;
    },
  }),

  endpoint({
    name: "restoreStatus",
    method: "GET",
    path: "/sys/storage/raft/restore-status",
    summary: "Tell how far the last restore is",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    rateLimited: false,
    input: {},
    output: out.object({
      state: out.string("idle, receiving, filling, exchanging, done or failed"),
      force: out.boolean("Whether keys were not compared"),
      started: out.nullable(out.time("When it began")),
      ended: out.nullable(out.time("When it was over")),
      bytes: out.integer("Bytes of the archive; 0 where that is not known yet"),
      bytes_done: out.integer("Bytes that the present step has behind it"),
      entries_done: out.integer("Rows that were filled in"),
      snapshot: out.nullable(
        out.object({
          id: out.string("Of the archive"),
          index: out.integer("The last index that it holds"),
          epoch: out.integer("Of the log at that index"),
          cluster_id: out.string("Of the cluster that made it"),
          created: out.time("When it was made"),
          entries: out.integer("Rows in it"),
        }),
      ),
      adopted: out.integer(
        "Leases and write-ahead records that the snapshot does not know and that were taken over, due at once",
      ),
      left: out.integer(
        "Those that nobody ends: the snapshot does not have their mount, or the process ended before it was unsealed",
      ),
      warnings: out.list(out.string("Warning"), "What an operator should know"),
      error: out.string("Why it failed; empty where it has not"),
    }),
    handler: (restores) => statusView(restores.status),
  }),
];

function statusView(status: RestoreStatus) {
  const { started, ended, bytesDone, entries, snapshot, ...rest } = status;
  return {
    ...rest,
    started: started === null ? null : showTime(started),
    ended: ended === null ? null : showTime(ended),
    bytes_done: bytesDone,
    entries_done: entries,
    snapshot:
      snapshot === null
        ? null
        : {
            id: snapshot.id,
            index: snapshot.index,
            epoch: snapshot.epoch,
            cluster_id: snapshot.clusterId,
            created: showTime(snapshot.created),
            entries: snapshot.entries,
          },
  };
}
