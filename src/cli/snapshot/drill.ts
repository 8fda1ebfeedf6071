// `holdfast snapshot drill`: proves, without a server, that a file restores.

import { deepCheck } from "../../snapshots/proof/deep-check.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { chunksOf, summaryData, summaryView, withArchive } from "./archive-file.ts";
import { KEY_FLAGS, rootKeyOf } from "./opened-archive.ts";

export const snapshotDrill = command({
  name: "snapshot drill",
  summary: "Prove that a snapshot file restores: open every entry in it",
  description:
    "Needs no server, and writes nothing. Asks for key shares of the day on which the snapshot was made, decrypts " +
    "every entry, makes both hash trees of its rows anew and compares them, the counts and the seal with what the " +
    "server wrote. Exit code 1 when something is wrong.",
  examples: [
    "holdfast snapshot drill backup.snap",
    "holdfast snapshot drill -shares shares.txt -format json backup.snap",
  ],
  flags: KEY_FLAGS,
  args: { file: argument.required("The snapshot") },
  async run(context, { file: path, shares, sealKey }) {
    const { out, clock, timers } = context;
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
