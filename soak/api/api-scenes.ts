// What is going on in the server when the kill experiment ends it.

import type { Prng } from "../../sim/prng.ts";
import type { LedgerEvent } from "./api-ledger.ts";
import { EXTRA, type Workload } from "./api-workload.ts";

/** How often each comes, of 21. */
const SCENES = {
  running: 5,
  rotating: 2,
  deleting: 3,
  enabling: 3,
  starting: 1,
  unsealing: 2,
  sealing: 2,
  stopping: 2,
  reopened: 1,
} as const;
export type Scene = keyof typeof SCENES;

/** The change during which the process is killed. */
const CHANGES: Readonly<Partial<Record<Scene, (event: LedgerEvent) => boolean>>> = {
  rotating: ({ register }) => register === "term",
  deleting: ({ register, value }) => register.startsWith("space/") && value === "",
  enabling: ({ register }) => register === `device/${EXTRA}`,
};

export function changeOf(scene: Scene): ((event: LedgerEvent) => boolean) | undefined {
  return CHANGES[scene];
}

/** Each scene as often as it weighs, in an order by chance. */
export function scenesOf(cycles: number, random: Prng): Scene[] {
  const all = Object.keys(SCENES) as Scene[];
  const weighed = all.flatMap((scene) => Array.from({ length: SCENES[scene] }, () => scene));
  const rounds = Math.ceil(cycles / weighed.length);
  const scenes = Array.from({ length: rounds }, () => random.shuffle(weighed)).flat();
  return scenes.slice(0, cycles);
}

/** Runs clients and tells when the n-th change of a kind begins. */
export class Watched {
  readonly came: Promise<void>;
  readonly workload: Workload;

  constructor(
    kind: ((event: LedgerEvent) => boolean) | undefined,
    n: number,
    start: (onEvent: (event: LedgerEvent) => void) => Workload,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.came = promise;
    let left = n;
    this.workload = start((event) => {
      if (event.what === "begin" && kind?.(event) === true && --left === 0) resolve();
    });
  }
}
