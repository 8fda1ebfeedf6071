// Clusters that replicate: long walks of the simulator, then a walk on processes. With the planted bugs a secondary acknowledges
// what is not durable, which the simulator must see, and a primary answers without a record, which the walk on processes must.

import { availableParallelism } from "node:os";
import { runAll } from "../../sim/pool.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { type Result, resultOf } from "../result.ts";
import { processWalk } from "./process-walk.ts";

const STEPS = 1000;

export interface ReplicationOptions {
  /** Walks in simulation. */
  readonly n: number;
  /** Steps on processes. */
  readonly rounds: number;
  readonly seed: number;
  /** Each part with a bug of its own, which it must find. */
  readonly plant?: "one-each";
  readonly say: (line: string) => void;
}

export async function replication(options: ReplicationOptions): Promise<Result> {
  const { n, seed, say } = options;
  const planted = options.plant !== undefined;
  const outcomes = await runAll({
    from: seed,
    count: n,
    jobs: availableParallelism(),
    options: { clusters: true, steps: STEPS, ...(planted ? { plant: "early-ack" } : {}) },
    untilRed: planted,
  });
  const wrong = outcomes.flatMap(({ seed: red, red: text }) =>
    text === null ? [] : [`npm run sim -- --clusters --seed ${red} --trace: ${text}`],
  );
  const figure = `${outcomes.length} walks of ${STEPS} steps, ${wrong.length} red`;
  say(figure);
  const onProcesses = await walked(options);
  const both = `${figure}; ${onProcesses.figure}`;
  if (!planted) {
    const { detail } = onProcesses;
    return resultOf(both, detail === undefined ? wrong : [...wrong, detail]);
  }
  const missed = [
    ...(wrong.length === 0 ? ["not caught: early-ack"] : []),
    ...(/writes were answered/.test(onProcesses.detail ?? "") ? [] : ["not caught: unrecorded"]),
  ];
  return missed.length > 0
    ? { ok: true, figure: both, detail: missed.join("\n") }
    : { ok: false, figure: both, detail: "each part has caught its bug" };
}

async function walked({ rounds, seed, plant, say }: ReplicationOptions): Promise<Result> {
  const how = plant === undefined ? {} : ({ plant: "unrecorded" } as const);
  try {
    const counts = await processWalk({ steps: rounds, seed, say, ...how });
    return resultOf(`${rounds} steps on processes: ${counts}`, []);
  } catch (error) {
    return resultOf("on processes it went wrong", [errorText(error)]);
  }
}
