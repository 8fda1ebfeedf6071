// Filters that are changed at random while clients write and links break: walks of five simulated clusters in which little else is done. At rest
// each holds exactly what its filter says. With the planted bug who was away is sent what it has missed before its filter is looked up.

import { FILTERING } from "../../sim/clusters/five/five-actions.ts";
import { runAll } from "../../sim/pool.ts";
import { type Result, resultOf } from "../result.ts";

/** Of a walk; about a third of them change a filter. */
const STEPS = 250;
const SHORT_STEPS = 60;

export interface FilterChangesOptions {
  /** Changes that are answered. */
  readonly n: number;
  readonly seed: number;
  readonly plant?: "filter-after-waking";
  readonly say: (line: string) => void;
}

export async function filterChanges({
  n,
  seed,
  plant,
  say,
}: FilterChangesOptions): Promise<Result> {
  const steps = n < STEPS ? SHORT_STEPS : STEPS;
  const planted = plant === undefined ? {} : { plant };
  const options = { clusters: true, kind: "both", steps, often: FILTERING, ...planted } as const;
  const wrong: string[] = [];
  let [changes, rests, walks] = [0, 0, 0];
  for (let next = seed; changes < n && wrong.length === 0; next++) {
    const [outcome] = await runAll({ from: next, count: 1, jobs: 1, options, untilRed: false });
    const { red, counts = {} } = outcome!;
    walks++;
    changes += (counts["filter done"] ?? 0) + (counts["unfilter done"] ?? 0);
    rests += counts["rests"] ?? 0;
    if (red !== null) wrong.push(`seed ${next}, ${steps} steps: ${red}`);
    say(`${changes} changes in ${walks} walks`);
  }
  return resultOf(`${changes} changes of filters in ${walks} walks, ${rests} rests`, wrong);
}
