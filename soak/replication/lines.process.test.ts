// Cases of docs/cases/replication.md on processes: a secondary that is killed while it copies and compares, and a primary that is
// written to meanwhile, or whose secondary is behind a slow line. In a longer form, with those that take longer:
// `npm run soak -- replication-lines`.

import { before, describe, test, type TestContext } from "node:test";
import { suiteEnds } from "../../tests/support/replication/case-suite.ts";
import {
  ClusterProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import * as lines from "./line-cases.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

describe("two clusters as processes, and the line between them", () => {
  const ends = suiteEnds();
  let pair: lines.Pair;

  before(async () => {
    const kept = () => `replication { wal_retention_bytes = ${lines.KEPT} }`;
    const [a, b] = await Promise.all([startPrimaryProcess(ends, kept), ClusterProcess.start(ends)]);
    pair = { a, b };
  });

  const tells = async (t: TestContext, what: Promise<string>) => t.diagnostic(await what);

  test("R-92: a secondary that is killed while it copies goes on where it was", async (t) => {
    await tells(t, lines.killedWhileCopying(pair, { kills: 2, bytes: 8 * MIB }));
  });

  test("R-92, R-97: one that is killed while it compares and mends ends equal, and a primary that is written to as fast as it follows is compared in one round", async (t) => {
    await lines.leftBehind(pair);
    const points = [
      { bytes: 8 * KIB, state: "merkle-diff" },
      { bytes: 512 * KIB, state: "merkle-sync" },
    ] as const;
    await tells(t, lines.killedWhileComparing(pair, points));
    await tells(t, lines.busyPrimary(pair, { isAbove: false, more: 200 }));
  });

  test("R-98: writes of a primary take no longer for a secondary behind a slow line", async (t) => {
    await tells(t, lines.slowLine(pair, { writes: 300, clients: 4, bytes: 16 * KIB }));
  });
});
