// One seed of five clusters: a performance set, each member of which may have disaster-recovery secondaries that stand in for it, and filters
// that withhold parts of what is shared. What clients and operators do, one step at a time, and what goes wrong meanwhile.

import type { ReplicationKind } from "../../../src/cluster/names.ts";
import { isFenced, isOlder } from "../../../src/replication/roles/role.ts";
import type { Prng } from "../../prng.ts";
import { MILLISECOND } from "../../world.ts";
import type { SimCluster } from "../cluster.ts";
import { FAULTS, isFault, strike, weighed } from "../faults.ts";
import { isCopied, type Scene } from "../scene.ts";
import { PlacedData } from "./places.ts";
import { Archives } from "./archives.ts";

/** How often each is taken, against the others. */
const STEPS = [
  ["place", 22],
  ["record", 8],
  ["own", 12],
  ["lease", 3],
  ["namespace", 3],
  ["mount", 5],
  ["unmount", 2],
  ["move", 2],
  ["filter", 8],
  ["unfilter", 2],
  ["away", 3],
  ["region", 3],
  ["stand-in", 4],
  ["promote", 1],
  ["force", 1.5],
  ["failover", 1.5],
  ["update", 1],
  ["relay", 1],
  ["revoke", 1],
  ["leave", 0.5],
  ["lead-shared", 1],
  ["snapshot", 1.5],
  ["restore", 0.7],
  ["trim", 5],
  ["rotate", 1],
  ["reindex", 1],
  ...FAULTS,
] as const;
type StepName = (typeof STEPS)[number][0];

/** For walks in which filters are changed, and little else is done but writing and breaking links. */
export const FILTERING: Readonly<Partial<Record<StepName, number>>> = {
  filter: 80,
  unfilter: 12,
  place: 60,
  away: 8,
  cut: 8,
  partition: 6,
  heal: 10,
  promote: 0,
  force: 0,
  failover: 0,
  leave: 0,
  "lead-shared": 0,
  restore: 0,
};

/** For walks in which snapshots take the place of what clusters have, mostly under the eyes of who follows them. */
export const RESTORING: Readonly<Partial<Record<StepName, number>>> = {
  snapshot: 20,
  restore: 20,
};

/** So that short walks have something to walk over. */
const FIRST: Readonly<Record<number, StepName>> = {
  0: "mount",
  1: "namespace",
  2: "region",
  4: "mount",
  6: "stand-in",
  8: "mount",
  10: "region",
  14: "filter",
  16: "stand-in",
};

export class FiveActions {
  readonly #scene: Scene;
  readonly #weights: readonly (readonly [StepName, number])[];
  readonly archives: Archives;
  #numbers = 0;
  #toCome = 0;

  constructor(scene: Scene, often: Readonly<Record<string, number>>) {
    this.#scene = scene;
    this.#weights = STEPS.map(([name, weight]) => [name, often[name] ?? weight]);
    this.archives = new Archives(scene);
  }

  step(number: number, prng: Prng): void {
    const scene = this.#scene;
    const name = FIRST[number] ?? weighed(this.#weights, prng);
    if (name === null) return;
    scene.trace.add(`step ${number}: ${name}`);
    scene.count(name);
    this.#act(name, prng);
  }

  #act(name: StepName, prng: Prng): void {
    const scene = this.#scene;
    const { clusters } = scene;
    const cluster = prng.pick(clusters);
    if (isFault(name)) return strike(scene, cluster, name, prng);
    switch (name) {
      case "place":
        for (let i = prng.int(3); i >= 0; i--) this.place(prng, "write");
        return;
      case "record":
        return this.record(prng);
      case "own":
        for (const one of clusters) if (one.leads) scene.writeOwn(one, prng);
        return;
      case "lease":
        for (const one of clusters) if (one.isPrimary) scene.lease(one, prng);
        return;
      case "namespace":
        return this.place(prng, prng.chance(0.7) ? "makeNamespace" : "removeNamespace");
      case "mount":
        return this.place(prng, "mount");
      case "unmount":
        return this.place(prng, "unmount");
      case "move":
        return this.place(prng, "move");
      case "filter":
        return this.filter(prng);
      case "unfilter":
        return this.#unfilter(prng);
      case "away":
        return this.#away(prng);
      case "region":
        return this.#joinRegion(prng);
      case "stand-in":
        return this.#joinStandIn(prng);
      case "promote":
        return this.#promote(prng, false);
      case "force":
        return this.#promote(prng, true);
      case "failover":
        return this.#failOver(prng);
      case "update":
        return this.#update(prng);
      case "relay":
        return this.#relay(prng);
      case "revoke":
        return this.#revoke(prng);
      case "leave":
        return this.#leave(prng);
      case "lead-shared":
        return this.#leadShared(prng);
      case "snapshot":
        return this.archives.take(cluster);
      case "restore":
        return this.archives.restore(cluster, prng);
      case "trim":
        return scene.begin(`trim of ${cluster.name}`, [cluster], () =>
          cluster.trim(prng.fork("trim")),
        );
      case "rotate":
        return scene.begin(`rotation of ${cluster.name}`, [cluster], async () => {
          if (cluster.writesShared) await cluster.unsealed.barrier.rotate();
        });
      case "reindex":
        return scene.begin(`reindex of ${cluster.name}`, [cluster], async () => {
          if (!cluster.leads) return;
          await cluster.unsealed.replication.trees.reindex({ force: true, diff: false });
        });
    }
  }

  /** Who writes what is shared, by the latest epoch of those that think so. */
  get primary(): SimCluster | null {
    return this.#scene.clusters.filter(leadsShared).reduce<SimCluster | null>((best, one) => {
      return best === null || isOlder(sharedEpoch(best), sharedEpoch(one)) ? one : best;
    }, null);
  }

  /** Whether something is changed yet for the sake of who was away: clusters are at rest after it alone. */
  get isSomethingToCome(): boolean {
    return this.#toCome > 0;
  }

  place(
    prng: Prng,
    how: "write" | "makeNamespace" | "removeNamespace" | "mount" | "unmount" | "move",
  ): void {
    const scene = this.#scene;
    for (const cluster of scene.clusters.filter(leadsShared)) {
      const number = ++this.#numbers;
      const own = prng.fork(`place ${number}`);
      scene.begin(`place ${number} at ${cluster.name}`, [cluster], async () => {
        const { running, writesShared } = cluster;
        if (running === null || !writesShared) return;
        const data = new PlacedData(running.barrier.view("shared/"));
        const begun =
          how === "unmount" || how === "removeNamespace" ? data[how](own) : data[how](number, own);
        await cluster.clients.keep(running, begun);
      });
    }
  }

  record(prng: Prng): void {
    const scene = this.#scene;
    for (const cluster of scene.clusters.filter(leadsShared)) {
      const number = ++this.#numbers;
      const own = prng.fork(`record ${number}`);
      scene.begin(`record ${number} at ${cluster.name}`, [cluster], async () => {
        const { running, writesShared } = cluster;
        if (running === null || !writesShared) return;
        await cluster.clients.keep(running, running.records.change(number, own));
      });
    }
  }

  /** For one that is known, mostly; else for one that is to come. */
  filter(prng: Prng): void {
    const scene = this.#scene;
    const { primary } = this;
    if (primary === null) return;
    const own = prng.fork(`filter ${++this.#numbers}`);
    scene.begin(`filter at ${primary.name}`, [primary], async () => {
      const { kinds, barrier } = primary.unsealed;
      const serving = await kinds!.performance.primary();
      const { known } = serving;
      const id = known.length === 0 ? "later" : own.pick(known);
      const data = new PlacedData(barrier.view("shared/"));
      const paths = [...data.namespaces(), ...data.mounts()].map(({ path }) => path);
      const some = own.shuffle(paths).slice(0, own.int(4));
      await serving.filters.put(id, own.chance(0.6) ? "deny" : "allow", some);
    });
  }

  #unfilter(prng: Prng): void {
    const { primary } = this;
    if (primary === null) return;
    const own = prng.fork(`unfilter ${++this.#numbers}`);
    this.#scene.begin(`unfilter at ${primary.name}`, [primary], async () => {
      const serving = await primary.unsealed.kinds!.performance.primary();
      if (serving.known.length > 0) await serving.filters.remove(own.pick(serving.known));
    });
  }

  /** A member is reached by nobody for a while, and what it would be sent is changed meanwhile. */
  #away(prng: Prng): void {
    const scene = this.#scene;
    const { primary } = this;
    const members = scene.clusters.filter((one) => one.sharedRole?.mode === "secondary");
    if (members.length === 0 || primary === null) return;
    const member = prng.pick(members);
    scene.network.block(primary, member, true);
    scene.network.block(member, primary, true);
    const later = prng.fork(`away ${++this.#numbers}`);
    this.#toCome++;
    scene.world.after((5_000 + prng.int(40_000)) * MILLISECOND, null, () => {
      this.#toCome--;
      for (let i = later.int(3); i >= 0; i--) this.place(later, "write");
      this.filter(later);
    });
    scene.world.after((50_000 + prng.int(30_000)) * MILLISECOND, null, () => scene.network.heal());
  }

  #joinRegion(prng: Prng): void {
    const { primary } = this;
    const free = this.#scene.clusters.filter(isFree);
    if (free.length === 0 || primary === null) return;
    const cluster = prng.pick(free);
    if (cluster !== primary) this.#begin("join", cluster, primary, "performance");
  }

  /** Of a member of the set, which may have none yet. */
  #joinStandIn(prng: Prng): void {
    const free = this.#scene.clusters.filter(isFree);
    const members = this.#scene.clusters.filter(isMember);
    if (free.length === 0 || members.length === 0) return;
    const [cluster, member] = [prng.pick(free), prng.pick(members)];
    this.#begin("stand-in", cluster, member, "dr");
  }

  #begin(what: string, cluster: SimCluster, primary: SimCluster, kind: ReplicationKind): void {
    this.#scene.begin(
      `${what} of ${cluster.name} to ${primary.name}`,
      [cluster, primary],
      async () => {
        if (kind === "dr") await enableDr(primary);
        await cluster.join(primary, this.#scene.newId(cluster, primary), kind);
      },
    );
  }

  #promote(prng: Prng, force: boolean): void {
    const secondaries = this.#scene.clusters.filter(isCopied);
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    const name = `${force ? "forced " : ""}promotion of ${cluster.name}`;
    this.#scene.begin(name, [cluster], async () => void (await cluster.promote(force)));
  }

  /** Planned: the primary gives up its place, and one that stands in for it takes it. */
  #failOver(prng: Prng): void {
    const scene = this.#scene;
    const secondaries = scene.clusters.filter(isCopied);
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    const primary = scene.clusters.find(
      (one) => one.isPrimary && setOf(one) === setOf(cluster) && one !== cluster,
    );
    if (primary === undefined) return;
    const name = `failover of ${primary.name} to ${cluster.name}`;
    scene.begin(name, [primary, cluster], async () => {
      await primary.unsealed.replication.demote();
      await cluster.promote(false);
      await primary.follow(cluster, scene.newId(primary, cluster), "dr");
    });
  }

  #update(prng: Prng): void {
    const scene = this.#scene;
    const secondaries = scene.clusters.filter(({ role }) => role?.mode === "secondary");
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    const primaries = scene.clusters.filter(
      (one) => one.isPrimary && setOf(one) === setOf(cluster) && one !== cluster,
    );
    if (primaries.length === 0) return;
    const primary = prng.pick(primaries);
    const name = `update of ${cluster.name} to ${primary.name}`;
    scene.begin(name, [cluster, primary], () =>
      cluster.follow(primary, scene.newId(cluster, primary), "dr"),
    );
  }

  /** The same among those that share data. */
  #relay(prng: Prng): void {
    const scene = this.#scene;
    const { primary } = this;
    const members = scene.clusters.filter(
      (one) => one.leads && one.sharedRole?.mode === "secondary",
    );
    if (members.length === 0 || primary === null) return;
    const cluster = prng.pick(members);
    const name = `relay of ${cluster.name} to ${primary.name}`;
    scene.begin(name, [cluster, primary], () =>
      cluster.follow(primary, scene.newId(cluster, primary), "performance"),
    );
  }

  #revoke(prng: Prng): void {
    const scene = this.#scene;
    const primaries = scene.clusters.filter(({ isPrimary }) => isPrimary);
    const kind = prng.chance(0.5) ? "dr" : "performance";
    const primary =
      kind === "performance" ? this.primary : primaries.length === 0 ? null : prng.pick(primaries);
    if (primary === null) return;
    scene.begin(`revocation at ${primary.name}`, [primary], async () => {
      const { replication, kinds } = primary.unsealed;
      const { known } = await (kind === "dr" ? replication : kinds!.performance).primary();
      const [id] = known;
      if (id === undefined) return;
      await primary.admissionOf(kind).revoke(id);
      scene.witness.revoked(primary, id);
      scene.count("revoked");
    });
  }

  /** With the data that it has. */
  #leave(prng: Prng): void {
    const secondaries = this.#scene.clusters.filter(isCopied);
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    this.#scene.begin(`leave of ${cluster.name}`, [cluster], async () => {
      await cluster.unsealed.replication.disableSecondary();
    });
  }

  /** Another member writes what is shared from now on. */
  #leadShared(prng: Prng): void {
    const scene = this.#scene;
    const { primary } = this;
    const members = scene.clusters.filter(isSharing);
    if (members.length === 0) return;
    const cluster = prng.pick(members);
    const force = prng.chance(0.3);
    const by = primary === null || force ? [cluster] : [cluster, primary];
    const name = `lead-shared of ${cluster.name}`;
    scene.begin(name, by, async () => {
      if (!force && primary !== null) await primary.unsealed.kinds!.performance.demote();
      await cluster.unsealed.kinds!.performance.promote({ force, address: "" });
      if (force || primary === null) return;
      await primary.follow(cluster, scene.newId(primary, cluster), "performance");
    });
  }
}

/** A primary of disaster recovery by then, whatever it was. */
export async function enableDr(cluster: SimCluster): Promise<void> {
  if (cluster.role?.mode === "disabled") await cluster.unsealed.replication.enablePrimary("");
}

export function isFree({ role, sharedRole }: SimCluster): boolean {
  return role?.mode === "disabled" && sharedRole?.mode === "disabled";
}

export function leadsShared(cluster: SimCluster): boolean {
  return cluster.writesShared && cluster.sharedRole?.mode === "primary";
}

/** Whether it has a place of its own in the performance set. */
export function isMember({ leads, sharedRole }: SimCluster): boolean {
  return leads && sharedRole !== null && sharedRole.mode !== "disabled";
}

/** One that follows, and could lead. */
function isSharing({ leads, sharedRole }: SimCluster): boolean {
  return leads && sharedRole?.mode === "secondary" && sharedRole.copied;
}

export function setOf({ role }: SimCluster): string {
  return role === null || role.mode === "disabled" ? "" : role.set;
}

export function sharedEpoch({ sharedRole }: SimCluster) {
  if (sharedRole === null || sharedRole.mode === "disabled") {
    return { number: 0, cluster: "", first: "0" };
  }
  return isFenced(sharedRole) && sharedRole.mode === "primary"
    ? sharedRole.fenced!
    : sharedRole.epoch;
}
