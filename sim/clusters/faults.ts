// What goes wrong in every walk, whatever its clusters are to each other; and how all of it comes to an end.

import type { Prng } from "../prng.ts";
import { MILLISECOND } from "../world.ts";
import type { SimCluster } from "./cluster.ts";
import type { Scene } from "./scene.ts";

/** With how often each is taken, against the others. */
export const FAULTS = [
  ["recover", 1],
  ["seal", 1],
  ["kill", 1.5],
  ["power", 2],
  ["sync", 1],
  ["pause", 1.5],
  ["clock", 1],
  ["cut", 2],
  ["slow", 1],
  ["partition", 2],
  ["heal", 3],
] as const;
export type FaultName = (typeof FAULTS)[number][0];

export function isFault(name: string): name is FaultName {
  return FAULTS.some(([one]) => one === name);
}

/** One of these by its weight. */
export function weighed<T extends string>(
  weights: readonly (readonly [T, number])[],
  prng: Prng,
): T | null {
  const roll = prng.next() * weights.reduce((all, [, weight]) => all + weight, 0);
  let sum = 0;
  for (const [name, weight] of weights) {
    sum += weight;
    if (roll < sum) return name;
  }
  return null;
}

export function strike(scene: Scene, cluster: SimCluster, name: FaultName, prng: Prng): void {
  const { clusters, network, world } = scene;
  switch (name) {
    case "recover":
      return scene.begin(`recover of ${cluster.name}`, [cluster], async () => {
        await cluster.unsealed.replication.recover();
      });
    case "seal":
      return scene.begin(`seal of ${cluster.name}`, [cluster], async () => {
        if (cluster.running?.replication.changing !== false) return;
        await cluster.seal();
        await world.sleep(prng.int(20_000) * MILLISECOND, cluster.life);
        await cluster.unseal();
      });
    case "kill":
    case "power":
      return scene.crash(cluster, name, prng.int(15_000));
    case "sync":
      if (cluster.running !== null) cluster.disk.failing = true;
      return;
    case "pause":
      cluster.life?.pause(world.now + prng.int(30_000) * MILLISECOND);
      return;
    case "clock":
      cluster.clock.jump(BigInt(prng.int(20_000) - 10_000) * BigInt(MILLISECOND));
      return;
    case "cut":
      return network.cut(cluster);
    case "slow":
      network.slow = true;
      return;
    case "partition": {
      const other = prng.pick(clusters);
      const cuts = prng.chance(0.5);
      network.block(cluster, other, cuts);
      if (prng.chance(0.6)) network.block(other, cluster, cuts);
      return;
    }
    case "heal":
      return network.heal();
  }
}

/** Nothing is broken any more, everything that was begun has ended, and everybody is there. */
export async function allWell(scene: Scene): Promise<void> {
  const { clusters } = scene;
  scene.network.heal();
  for (const { disk } of clusters) disk.failing = false;
  await allEnds(scene, "everything that was begun ends");
  await scene.until(
    "everybody is there",
    () => clusters.every(({ running }) => running?.replication.changing === false),
    {
      meanwhile: () => {
        for (const one of clusters) if (one.life === null) scene.boot(one);
      },
    },
  );
}

export async function allEnds(scene: Scene, what: string): Promise<void> {
  await scene.until(what, () => scene.underWay.length === 0, {
    details: () => scene.underWay.join(),
  });
}
