// Clusters that replicate: long walks of the simulator, then a walk on processes. With the planted bug a secondary acknowledges what
// is not durable, and the simulator must see it.

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
  readonly plant?: "early-ack";
  readonly say: (line: string) => void;
}

export async function replication({
  n,
  rounds,
  seed,
  plant,
  say,
}: ReplicationOptions): Promise<Result> {
  const outcomes = await runAll({
    from: seed,
    count: n,
    jobs: availableParallelism(),
    options: { clusters: true, steps: STEPS, ...(plant === undefined ? {} : { plant }) },
    untilRed: plant !== undefined,
  });
  const wrong = outcomes.flatMap(({ seed: red, red: text }) =>
    text === null ? [] : [`npm run sim -- --clusters --seed ${red} --trace: ${text}`],
  );
  const figure = `${outcomes.length} walks of ${STEPS} steps, ${wrong.length} red`;
  say(figure);
  if (plant !== undefined) return resultOf(figure, wrong);
  try {
    const counts = await processWalk({ steps: rounds, seed, say });
    return resultOf(`${figure}; ${rounds} steps on processes: ${counts}`, wrong);
  } catch (error) {
    return resultOf(`${figure}; on processes it went wrong`, [...wrong, errorText(error)]);
  }
}
