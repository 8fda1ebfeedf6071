// `holdfast snapshot inspect`, without a server, and `snapshot verify`, which asks one.

import * as snapshots from "@holdfast/client/api/snapshots";
import { BY_FORCE } from "../advice/advice.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { chunksOf, summaryData, summaryView, SummingParser, withArchive } from "./archive-file.ts";

const FILE = "The snapshot";

export const snapshotInspect = command({
  name: "snapshot inspect",
  summary: "Show what a snapshot file is, and check that it is whole",
  description:
    "Needs no server. Checks the form of the file and every checksum in it. Whether it is unchanged since a " +
    "server made it that server can tell (`snapshot verify`).",
  examples: [
    "holdfast snapshot inspect backup.snap",
    "holdfast snapshot inspect -field index backup.snap",
  ],
  flags: {},
  args: { file: argument.required(FILE) },
  async run(context, { file: path }) {
    const { out, clock } = context;
    const summary = await withArchive(context, path, async (file) => {
      const parser = new SummingParser();
      for await (const chunk of chunksOf(context, file, "reading")) parser.push(chunk);
      return parser.end();
    });
    const data = summaryData(summary);
    await out.show(data, summaryView(data, clock.now()));
  },
});

export const snapshotVerify = command({
  name: "snapshot verify",
  summary: "Have a server check a snapshot file, without restoring it",
  description:
    "Exit code 1 when the file is whole but does not open with the server's root key of today: it is of another " +
    "cluster, or from before a rekey. Needs `update` on sys/storage/raft/snapshot-verify.",
  examples: ["holdfast snapshot verify backup.snap", "holdfast snapshot verify -deep backup.snap"],
  flags: {
    deep: flag.switch("Have it open every entry with its own keys: a drill without shares"),
  },
  args: { file: argument.required(FILE) },
  async run(context, { file: path, deep }) {
    const { client, out, clock } = context;
    const { data } = await withArchive(context, path, async (file) =>
      snapshots.verifySnapshot(
        client.inRoot(),
        {
          chunks: chunksOf(context, file, "sending"),
          length: file.size,
          contentType: "application/gzip",
        },
        deep ? { deep } : {},
      ),
    );
    await out.show(data, summaryView(data, clock.now()));
    if (!data.opens) {
      out.error(data.reason, BY_FORCE);
      return 1;
    }
    for (const problem of data.problems ?? []) out.error(problem, null);
    if (data.proven === false) return 1;
    out.done(
      data.proven === true
        ? `Success! All ${data.opened_entries ?? 0} entries open, and everything adds up: this snapshot restores.`
        : "Success! It is whole and opens with the root key of this server.",
    );
    return 0;
  },
});
