// R12 with everything: long walks of five simulated clusters, then one on processes.

import { availableParallelism } from "node:os";
import { runAll } from "../../sim/pool.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { type Result, resultOf } from "../result.ts";
import { setWalk } from "./set-walk.ts";

const STEPS = 1000;

export interface FiveOptions {
  /** Walks in simulation. */
  readonly n: number;
  /** Steps on processes. */
  readonly rounds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export async function five(options: FiveOptions): Promise<Result> {
  const { rounds, seed, say } = options;
  const { figure, wrong } = await simulated(options);
  try {
    const counts = await setWalk({ steps: rounds, seed, say });
    return resultOf(`${figure}; ${rounds} steps on processes: ${counts}`, wrong);
  } catch (error) {
    return resultOf(`${figure}; on processes it went wrong`, [...wrong, errorText(error)]);
  }
}

async function simulated({ n, seed, say }: FiveOptions) {
  const began = performance.now();
  const outcomes = await runAll({
    from: seed,
    count: n,
    jobs: Math.min(n, availableParallelism()),
    options: { clusters: true, kind: "both", steps: STEPS },
    untilRed: false,
  });
  const wrong = outcomes.flatMap(({ seed: red, red: text }) =>
    text === null ? [] : [`npm run sim -- --five --steps ${STEPS} --seed ${red} --trace: ${text}`],
  );
  const pace = (outcomes.length * STEPS * 1000) / (performance.now() - began);
  const figure = `${outcomes.length} walks of ${STEPS} steps (${pace.toFixed(1)} steps/s), ${wrong.length} red`;
  say(figure);
  return { figure, wrong };
}
