// Two clusters as processes, and the line between them: cases of docs/cases/replication.md in the form that takes minutes. Which moments a
// secondary is killed at is drawn by the seed.

import { Prng } from "../../sim/prng.ts";
import { errorText } from "../../tests/support/error-text.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import * as lines from "./line-cases.ts";
import { type Result, resultOf } from "../result.ts";
import { withProcesses } from "./processes.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export interface LinesOptions {
  /** Kills while a secondary copies, and as many while it compares. */
  readonly kills: number;
  readonly only?: string | undefined;
  readonly seed: number;
  readonly say: (line: string) => void;
}

type Case = (pair: lines.Pair) => Promise<string>;

export async function replicationLines({ kills, only, seed, say }: LinesOptions): Promise<Result> {
  const random = new Prng(seed);
  // The first bytes tell who comes, then come sums, up to 9 KiB for each value that differs, and what differs is most of what there is. One
  // that was killed begins with sums again.
  const points: readonly lines.KillPoint[] = [
    { bytes: 8 * KIB, state: "merkle-diff" },
    ...Array.from({ length: kills }, () => ({
      bytes: Math.floor(4 * KIB * 2 ** (random.next() * 9)),
    })),
    { bytes: 3 * MIB, state: "merkle-sync" },
    ...Array.from({ length: kills / 2 }, () => ({
      bytes: Math.floor(4 * KIB * 2 ** (random.next() * 7)),
    })),
  ];
  const cases: Readonly<Record<string, Case>> = {
    "R-92: killed while it copies": (pair) =>
      lines.killedWhileCopying(pair, { kills, bytes: (kills + 2) * 2 * MIB }),
    "R-92, R-97: killed while it compares, then written to as fast as it follows": async (pair) => {
      await lines.leftBehind(pair, 8 * kills + 64);
      const killed = await lines.killedWhileComparing(pair, points);
      const busy = await lines.busyPrimary(pair, { isAbove: false, more: 1000 });
      return `${killed}; ${busy}`;
    },
    "R-97: written to faster than the line carries": async (pair) => {
      await lines.leftBehind(pair, 2);
      return await lines.busyPrimary(pair, { isAbove: true, more: 1000 });
    },
    "R-98: a slow line": (pair) =>
      lines.slowLine(pair, { writes: 4000, clients: 4, bytes: 64 * KIB, memory: 128 * MIB }),
    "R-99: nothing arrives at the primary": (pair) => lines.oneWay(pair, "there"),
    "R-99: nothing arrives at the secondary": (pair) => lines.oneWay(pair, "back"),
  };
  const wrong: string[] = [];
  let done = 0;
  for (const [name, run] of Object.entries(cases)) {
    if (only !== undefined && !name.includes(only)) continue;
    try {
      say(`${name}: ${await withPair(run, name)}`);
      done++;
    } catch (error) {
      wrong.push(`${name}: ${errorText(error)}`);
    }
  }
  return resultOf(`${done} cases, ${wrong.length} wrong`, wrong);
}

/** Each with two of its own, so that each can be run alone. */
function withPair(run: Case, name: string): Promise<string> {
  return withProcesses(async (t) => {
    // A slow line is to be waited for with memory, not with the log.
    const kept = name.startsWith("R-98")
      ? undefined
      : () => `replication { wal_retention_bytes = ${lines.KEPT} }`;
    const [a, b] = await Promise.all([startPrimaryProcess(t, kept), ClusterProcess.start(t)]);
    if (!name.includes("copies")) {
      await joinProcess(a, b);
      await equalProcesses(a, b);
    }
    return await run({ a, b });
  });
}
