// The endpoints of snapshots that somebody asks for.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { SECOND } from "@holdfast/shared/text/duration";
import { wire } from "@holdfast/shared/endpoint/wire";
import { checkedView, type ManualSnapshots } from "./manual-snapshots.ts";

const endpoint = endpointsOf<ManualSnapshots>();
/** A store of any size, over any line that gets on. */
const PATIENCE = 24n * 3600n * SECOND;
/** 1 TiB: more than any store has. */
const MAX_ARCHIVE = 2 ** 40;

/** Of every endpoint that takes an archive as its body. */
export const ARCHIVE_BODY = {
  contentTypes: ["application/gzip", "application/octet-stream"],
  maxBytes: MAX_ARCHIVE,
  description: "A snapshot, as it was downloaded.",
};

export const snapshotApi = [
  endpoint({
    name: "takeSnapshot",
    method: "GET",
    path: "/sys/storage/raft/snapshot",
    summary: "Take a snapshot of everything stored",
    description:
      "The archive is whole before its first byte is sent. It ends with trailers: its SHA-256, and " +
      "X-Snapshot-Complete. What is in it stays encrypted; with the key shares of this server it is everything.",
    access: access.capabilityOr("snapshot"),
    rootOnly: true,
    runs: "active",
    family: "bare",
    input: {},
    output: out.stream("application/gzip", "The archive"),
    handler: (manual, _input, context) => {
      context.allow(PATIENCE);
      return manual.download(context.signal);
    },
  }),

  endpoint({
    name: "verifySnapshot",
    method: "POST",
    path: "/sys/storage/raft/snapshot-verify",
    summary: "Check a snapshot without restoring it",
    description:
      "Reads the archive to its end: its form, every checksum, and whether the sums were sealed under today's " +
      "root key. With `deep` every entry in it is opened and both hash trees are made anew, which proves that it " +
      "restores; that needs an archive of this cluster and of today's root key. Nothing is kept of it.",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    bodyStream: ARCHIVE_BODY,
    input: {
      deep: wire
        .query("deep")
        .boolean("Open every entry in it with the keys of this server")
        .default(false),
    },
    output: out.object({
      ok: out.boolean("Whether it opens with today's root key and nothing is wrong with it"),
      errors: out.list(out.string("An error"), "Why not, in words"),
      id: out.string("Of the archive"),
      index: out.integer("The last index that it holds"),
      epoch: out.integer("Of the log at that index"),
      cluster_id: out.string("Of the cluster that made it"),
      lineage: out.string("Of its log"),
      created: out.time("When it was made"),
      version: out.string("Version of Holdfast that made it"),
      format: out.integer("Form of the store it is of"),
      size: out.integer("Bytes of the archive"),
      sha256: out.string("Of the archive"),
      entries: out.integer("Rows in it"),
      shared_entries: out.integer("Those that go to every replica"),
      local_entries: out.integer("Those of this cluster alone"),
      core_entries: out.integer("Those of seal and keyring"),
      opens: out.boolean("Whether today's root key opens its seal"),
      reason: out.string("Why not; empty when it does"),
      proven: out.optional(out.boolean("With `deep`: whether everything opened and added up")),
      problems: out.optional(
        out.list(out.string("A problem"), "With `deep`: what did not, in words"),
      ),
      opened_entries: out.optional(out.integer("With `deep`: entries that opened")),
      keyring_terms: out.optional(out.integer("With `deep`: data keys in its keyring")),
    }),
    handler: async (manual, { deep }, context) => {
      context.allow(PATIENCE);
      const { stream } = context;
      const checked = deep ? manual.prove(stream, context.signal) : manual.verify(stream);
      return checkedView(await checked);
    },
  }),
];
