// `holdfast snapshot drill`: proves that a snapshot restores: a file without a server, a stored one by its server.

import { deepCheck } from "../../snapshots/proof/deep-check.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { chunksOf, summaryData, summaryView, withArchive } from "./archive-file.ts";
import { KEY_FLAGS, rootKeyOf } from "./opened-archive.ts";
import { storedDrill } from "./stored-drill.ts";

/** Of a configuration; files have another ending, or a path. */
const NAME = /^(?!.*\.snap$)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export const snapshotDrill = command({
  name: "snapshot drill",
  summary: "Prove that a snapshot restores: open every entry in it",
  description:
    "Of a file it needs no server, and writes nothing. Asks for key shares of the day on which the snapshot was made, decrypts " +
    "every entry, makes both hash trees of its rows anew and compares them, the counts and the seal with what the " +
    "server wrote. With the name of a configuration of automated snapshots the server does the same with the newest " +
    "one that it has stored, with the root key that it has, and signs what it found; that needs `update` with `sudo` on " +
    "sys/storage/raft/snapshot-auto/drill/NAME, and `read` on drills/NAME to be followed for longer than a minute. " +
    "What is a file, has a slash, ends with .snap or comes with shares is no name. Exit code 1 when something is wrong.",
  examples: [
    "holdfast snapshot drill backup.snap",
    "holdfast snapshot drill -shares shares.txt -format json backup.snap",
    "holdfast snapshot drill nightly",
  ],
  flags: KEY_FLAGS,
  args: { snapshot: argument.required("A file, or the name of a configuration") },
  async run(context, { snapshot: path, shares, sealKey }) {
    const { out, clock, timers, files } = context;
    const hasKeys = shares.length > 0 || sealKey !== undefined;
    if (!hasKeys && NAME.test(path) && !files.isFile(path)) {
      return storedDrill(context, path);
    }
    const report = await withArchive(context, path, (file) =>
      deepCheck(chunksOf(context, file, "opening"), {
        clock,
        timers,
        rootKeyFor: (rows) => rootKeyOf(context, rows, { shares, sealKey }),
      }),
    );
    const { archive, entries, ok, problems, opened, dataKeys } = report;
    const summary = summaryData({ archive, rows: entries });
    const data = { ok, problems, ...summary, opened_entries: opened, data_keys: dataKeys };
    const found = [
      [
        "Opened",
        `${opened} entries, with ${dataKeys === 1 ? "one data key" : `${dataKeys} data keys`}`,
      ],
    ] as const;
    const view = summaryView(summary, clock.now());
    await out.show(data, "pairs" in view ? { pairs: [...view.pairs, ...found] } : view);
    for (const problem of problems) out.error(problem, null);
    if (!ok) return 1;
    out.done("Success! Every entry opens, and everything adds up: this snapshot restores.");
    return 0;
  },
});
