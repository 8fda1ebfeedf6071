// One seed: two or three clusters, the clients of whoever leads, operators who change roles, and everything that goes wrong
// between and under them. Now and then all is brought to rest, and there everybody must hold what was written.

import { loadAll } from "./loading.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { SECOND, type Tick } from "../world.ts";
import { Actions } from "./actions.ts";
import { checkAlways } from "./checks.ts";
import type { SimCluster } from "./cluster.ts";
import { CLUSTER_PLANTS } from "./plants.ts";
import { countRealWork } from "./real-work.ts";
import { RegionActions } from "./regions/region-actions.ts";
import { Resting } from "./resting.ts";
import { FiveActions } from "./five/five-actions.ts";
import { checkShared, FiveResting } from "./five/five-resting.ts";
import { Scene, type WalkKind } from "./scene.ts";

export interface WalkOptions {
  /** Of the set that the clusters are in. Default: disaster recovery, or as the planted bug wants it. */
  readonly kind?: WalkKind;
  /** Default 1,000. */
  readonly steps?: number;
  /** The name of a planted bug. Default: none. */
  readonly plant?: string;
  /** Steps that are taken as often as this. Default: as in any walk, or as the planted bug wants it. */
  readonly often?: Readonly<Record<string, number>>;
  readonly print?: (line: string) => void;
}

export interface WalkResult {
  readonly seed: number;
  readonly violation: unknown; // null when all is well
  readonly steps: number;
  readonly simulated: Tick;
  readonly hash: string;
  /** How often each step was taken, and how often it came to its end. */
  readonly counts: Readonly<Record<string, number>>;
  readonly entries: number;
}

const UNTIL: Tick = 60 * 24 * 3600 * SECOND;
const REST_EVERY = 125; // steps

export async function runWalk(seed: number, options: WalkOptions = {}): Promise<WalkResult> {
  countRealWork();
  await loadAll();
  const { steps = 1000, plant, print = null } = options;
  const bug = plant === undefined ? undefined : CLUSTER_PLANTS[plant];
  const kind = options.kind ?? bug?.kind ?? "dr";
  const scene = new Scene(seed, { kind, plant: bug?.cluster() ?? {}, print });
  const unhandled = (reason: unknown) => scene.report(reason);
  process.on("unhandledRejection", unhandled);
  try {
    const often = options.often ?? bug?.often ?? {};
    const taken = await run(scene, steps, stepsOf(scene, kind, often));
    return {
      seed,
      violation: scene.violation,
      steps: taken,
      simulated: scene.world.now,
      hash: scene.trace.digest(),
      counts: scene.counts,
      entries: scene.ledger.size,
    };
  } finally {
    process.off("unhandledRejection", unhandled);
  }
}

/** What happens in a walk. */
interface Steps {
  readonly step: (number: number, prng: Prng) => void;
  readonly rest: (prng: Prng) => Promise<void>;
  readonly end: (prng: Prng) => Promise<void>;
}

function stepsOf(scene: Scene, kind: WalkKind, often: Readonly<Record<string, number>>): Steps {
  if (kind === "performance") {
    const actions = new RegionActions(scene, often);
    return {
      step: (number, prng) => actions.step(number, prng),
      rest: (prng) => actions.rest(prng),
      end: async () => {},
    };
  }
  if (kind === "both") {
    const actions = new FiveActions(scene, often);
    const resting = new FiveResting(scene, actions);
    return {
      step: (number, prng) => {
        actions.step(number, prng);
        checkShared(scene.clusters);
      },
      rest: (prng) => resting.rest(prng),
      end: async () => {},
    };
  }
  const actions = new Actions(scene, often);
  const resting = new Resting(scene, actions);
  return {
    step: (number, prng) => actions.step(number, prng),
    rest: (prng) => resting.rest(prng),
    end: (prng) => resting.putBackOldDisk(prng),
  };
}

/** Gives how many steps were taken. */
async function run(scene: Scene, steps: number, { step, rest, end }: Steps): Promise<number> {
  let isFinished = false;
  let taken = 0;
  const walk = async () => {
    await scene.sleep(1);
    for (const cluster of scene.clusters) await cluster.boot();
    const [first] = scene.clusters as [SimCluster];
    const { kinds, replication } = first.unsealed;
    await (kinds?.performance ?? replication).enablePrimary("");
    await kinds?.dr.enablePrimary("");
    const prng = scene.prng.fork("steps");
    // The others come while it is written already, or somewhat later.
    for (; taken < steps; taken++) {
      await scene.sleep(prng.chance(0.5) ? prng.int(20) : prng.int(1200));
      step(taken, prng);
      checkAlways(scene);
      if (taken % REST_EVERY === REST_EVERY - 1) await rest(prng);
    }
    await rest(prng);
    await end(prng);
  };
  void walk().then(
    () => (isFinished = true),
    (error: unknown) => scene.report(error),
  );
  const done = () => isFinished || scene.violation !== null;
  try {
    if (!(await scene.world.run(done, UNTIL))) throw new Violation("the walk never ends");
  } catch (error) {
    scene.report(error);
  }
  for (const { life } of scene.clusters) life?.end();
  scene.trace.add(scene.violation === null ? "green" : "red");
  return taken;
}
