// Everything that one walk is about: the clusters, what lies between them and outside of them, what was really written, and
// what is under way. Actions change it, checks look at it.

import { Failure } from "@holdfast/shared/failure";
import type { ReplicationKind } from "../../src/cluster/names.ts";
import type { Peer } from "../../src/cluster/verify.ts";
import { StatusError } from "@holdfast/shared/grpc/status";
import { isOlder, type Primary, type Secondary } from "../../src/replication/roles/role.ts";
import { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { Trace } from "../trace.ts";
import { type Life, MILLISECOND, SECOND, SimWorld, type Tick } from "../world.ts";
import { Cloud } from "./cloud.ts";
import {
  type ClusterOptions,
  type ClusterPlant,
  listedBy,
  NotThere,
  SimCluster,
} from "./cluster.ts";
import { Ledger, type Spot } from "./ledger.ts";
import { LookingOn } from "./five/looking-on.ts";
import { type PortWatch, SimNetwork } from "./network.ts";
import { idle } from "./real-work.ts";
import { Witness } from "./witness.ts";

const PATIENCE = 1200 * SECOND; // for everybody to hold the same
const SECONDARIES = "core/replication/dr/secondaries/";

/** The log of a cluster when it was told to give it up. */
export interface Tail {
  readonly spot: Spot;
  /** What is trimmed before it is given up is kept nowhere. */
  first: bigint;
}

export interface Admitted {
  readonly cluster: SimCluster;
  readonly primary: SimCluster;
  /** In which it was admitted: a later one has another authority. */
  readonly epoch: string;
}

/** A primary that somebody was admitted to, and as whom. */
export interface Former extends Admitted {
  readonly id: string;
}

interface Task {
  readonly name: string;
  readonly lives: readonly Life[];
}

/** Of the set that the clusters of a walk are in; "both": five that are in sets of either. */
export type WalkKind = ReplicationKind | "both";

const SEEDED: Readonly<Record<WalkKind, string>> = {
  dr: "clusters",
  performance: "regions",
  both: "five",
};
const NAMES = ["a", "b", "c", "d", "e"];

export interface SceneOptions {
  /** Default: disaster recovery. */
  readonly kind?: WalkKind;
  readonly plant: ClusterPlant;
  readonly print: ((line: string) => void) | null;
}

export class Scene {
  readonly prng: Prng;
  readonly world: SimWorld;
  readonly trace: Trace;
  readonly network: SimNetwork;
  readonly ledger = new Ledger();
  readonly cloud = new Cloud();
  readonly witness: Witness;
  readonly clusters: readonly SimCluster[];
  readonly ids = new Map<string, Admitted>(); // by the id that somebody was admitted with
  /** How often each step was taken, and how often it came to its end. */
  readonly counts: Record<string, number> = {};
  /** Heads of clusters that were told to give up what they have, since the last rest. */
  readonly tails = new Map<string, readonly Tail[]>();
  /** All of them, and where what was left of their logs began. */
  readonly allTails: Tail[] = [];
  /** Logs whose data was given up as a whole, by their first place: another was restored. */
  readonly ended = new Set<string>();
  /** Entries that only a cluster had, in its log or its list, that began anew or joined others: by chain. What somebody else has then is
   *  not among them. */
  readonly leftBehind = new Set<string>();
  /** Which primaries each cluster that was promoted has had before. */
  readonly formers = new Map<string, Former>();
  /** Who looks on at what is sent, and withheld. */
  readonly lookingOn: LookingOn = new LookingOn(this);
  readonly #tasks = new Set<Task>();
  #violation: unknown = null;
  #writes = 0;
  #leases = 0;

  constructor(seed: number, { kind = "dr", plant, print }: SceneOptions) {
    const prng = (this.prng = new Prng(`${SEEDED[kind]} ${seed}`));
    this.world = new SimWorld(prng, idle);
    this.trace = new Trace(this.world, print);
    this.network = new SimNetwork(this.world, prng.fork("network"));
    this.witness = new Witness({
      ledger: this.ledger,
      clusterOf: ({ id }: Peer) => this.ids.get(id)?.cluster ?? null,
      count: (name) => this.count(name),
      report: (violation) => this.report(violation),
    });
    const quorums: ClusterOptions["quorums"] = [];
    const count = kind === "both" ? NAMES.length : 2 + prng.fork("count").int(2);
    this.clusters = NAMES.slice(0, count).map(
      (name, i) =>
        new SimCluster({
          name,
          number: i + 1,
          kind,
          world: this.world,
          network: this.network,
          prng: prng.fork(name),
          trace: this.trace,
          ledger: this.ledger,
          cloud: this.cloud,
          plant,
          quorums,
          watch: (cluster) => this.#watch(cluster, kind),
          committed: (cluster, keys) => {
            if (kind !== "both") return;
            if (keys === null) this.lookingOn.began(cluster);
            else this.lookingOn.committed(cluster, keys);
          },
          failed: (cluster) => this.#diskFailed(cluster),
          leavesBehind: (cluster, listed) => this.leavesBehind(cluster, listed),
          report: (violation) => this.report(violation),
        }),
    );
    for (const cluster of this.clusters) this.network.add(cluster);
  }

  #watch(cluster: SimCluster, kind: WalkKind): PortWatch {
    if (kind === "performance") return {};
    const witness = this.witness.watch(cluster);
    if (kind === "dr") return witness;
    const shared = this.lookingOn.watch(cluster);
    return {
      ...witness,
      serve: (served, set) => (set.kind === "dr" ? witness : shared).serve?.(served, set) ?? served,
    };
  }

  /** The first one; null while all is well. */
  get violation(): unknown {
    return this.#violation;
  }

  report(violation: unknown): void {
    this.#violation ??= violation;
  }

  count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  sleep(milliseconds: number): Promise<void> {
    return this.world.sleep(milliseconds * MILLISECOND, null);
  }

  async until(
    what: string,
    isTrue: () => boolean,
    { meanwhile = () => {}, details = () => this.describe(), patience = PATIENCE }: Waiting = {},
  ): Promise<void> {
    const end = this.world.now + patience;
    while (!isTrue()) {
      if (this.world.now > end)
        throw new Violation(`it never comes to this: ${what}. ${details()}`);
      meanwhile();
      await this.sleep(250);
    }
  }

  /** In the background, by processes that may end meanwhile. Whatever they refuse is no finding; anything else is. */
  begin(name: string, by: readonly SimCluster[], work: () => Promise<void>): void {
    const lives = by.flatMap(({ life }) => (life === null ? [] : [life]));
    if (lives.length < by.length) return;
    const task: Task = { name, lives };
    const run = async () => {
      try {
        await work();
        this.count(`${kindOf(name)} done`);
        if (!/^(?:write|record|own|place) /.test(name)) this.trace.add(`${name} is done`);
      } catch (error) {
        if (lives.some(({ ended }) => ended)) return;
        if (!isRefusal(error)) {
          this.report(new Violation(`${name} went wrong`, { cause: error }));
          return;
        }
        this.count(`${kindOf(name)} refused`);
        this.trace.add(`${name} is refused: ${error instanceof Failure ? error.code : "no link"}`);
      } finally {
        this.#tasks.delete(task);
      }
    };
    this.#tasks.add(task);
    void run();
  }

  /** What was begun by processes that still run. */
  get underWay(): readonly string[] {
    return [...this.#tasks]
      .filter(({ lives }) => lives.every(({ ended }) => !ended))
      .map(({ name }) => name);
  }

  write(cluster: SimCluster, prng: Prng): void {
    const number = ++this.#writes;
    const own = prng.fork(`write ${number}`);
    this.begin(`write ${number} at ${cluster.name}`, [cluster], async () => {
      await cluster.clients.write(number, own);
    });
  }

  /** Of a record that rows of every cluster follow from, where shared data is written. */
  record(cluster: SimCluster, prng: Prng): void {
    const number = ++this.#writes;
    const own = prng.fork(`record ${number}`);
    this.begin(`record ${number} at ${cluster.name}`, [cluster], () =>
      cluster.clients.record(number, own),
    );
  }

  /** Of data of its own, and of what hangs on a record there. */
  writeOwn(cluster: SimCluster, prng: Prng): void {
    const number = ++this.#writes;
    const own = prng.fork(`own ${number}`);
    this.begin(`own ${number} at ${cluster.name}`, [cluster], () =>
      cluster.clients.writeOwn(number, own),
    );
  }

  /** Something is made outside. */
  lease(cluster: SimCluster, prng: Prng): void {
    const id = `${++this.#leases}`;
    const own = prng.fork(`lease ${id}`);
    this.begin(`lease ${id} at ${cluster.name}`, [cluster], () => cluster.clients.lease(id, own));
  }

  crash(cluster: SimCluster, how: "kill" | "power", downtime: number): void {
    if (cluster.life === null) return;
    cluster.crash(how);
    this.world.after(downtime * MILLISECOND, null, () => {
      if (cluster.life === null) this.boot(cluster);
    });
  }

  /** A process that is killed while it starts hears nothing any more. */
  boot(cluster: SimCluster): void {
    cluster.boot().catch((error: unknown) => {
      if (!isRefusal(error)) this.report(error);
      else this.report(new Violation("a cluster does not start", { cause: error }));
    });
  }

  /** The process ends by itself then, and whoever looks after it starts it again. */
  #diskFailed(cluster: SimCluster): void {
    this.count("sync failed");
    this.crash(cluster, "kill", 2000);
  }

  /** All that it has goes, with what it had `listed`, by a word of an operator. */
  leavesBehind(cluster: SimCluster, listed: Iterable<string>): void {
    const has = this.#holder(cluster, listed);
    const others = this.clusters
      .filter((one) => one !== cluster)
      .map((one) => this.#holder(one, one.running === null ? [] : listedBy(one.running)));
    for (const one of this.ledger.answered) {
      if (has(one) && !others.some((have) => have(one))) this.leftBehind.add(one.chain);
    }
  }

  /** Whether it has an entry: in its log, or among those that it has given up and listed. */
  #holder({ seen: { spot } }: SimCluster, listed: Iterable<string>): (one: Spot) => boolean {
    const { ledger } = this;
    const places = spot === null ? null : ledger.lineOf(spot).places;
    const keys = new Set(listed);
    return (one) =>
      places?.has(one.chain) === true || keys.has(`${one.index} ${ledger.timeOf(one)}`);
  }

  /** A new one for somebody whom a primary admits. */
  newId(cluster: SimCluster, primary: SimCluster): string {
    const id = `${cluster.name}-${this.ids.size}`;
    this.ids.set(id, { cluster, primary, epoch: epochText(primary) });
    return id;
  }

  /** Of all that think so, the one with the latest epoch. */
  get leader(): SimCluster | null {
    return this.clusters
      .filter(({ isPrimary }) => isPrimary)
      .reduce<SimCluster | null>(
        (best, one) => (best === null || isOlder(epochOf(best), epochOf(one)) ? one : best),
        null,
      );
  }

  describe(): string {
    return this.clusters.map((one) => one.describe()).join("; ");
  }
}

interface Waiting {
  readonly meanwhile?: () => void;
  readonly details?: () => string;
  readonly patience?: Tick;
}

function kindOf(name: string): string {
  return name.startsWith("forced") ? "force" : (name.split(" ")[0] ?? "");
}

export function isRefusal(error: unknown): boolean {
  if (error instanceof Violation) return false;
  return error instanceof Failure || error instanceof StatusError || error instanceof NotThere;
}

export function isAdmitted(
  primary: SimCluster,
  { primary: by, epoch, id }: Omit<Former, "cluster">,
): boolean {
  if (by !== primary || epoch !== epochText(primary)) return false;
  return primary.unsealed.store.keys(`${SECONDARIES}${id}`, { limit: 1 }).length > 0;
}

function epochText(primary: SimCluster): string {
  return primary.role?.mode === "primary" ? JSON.stringify(primary.role.epoch) : "";
}

export function epochOf({ role }: SimCluster) {
  return (role as Primary | Secondary).epoch;
}

/** Whoever promotes one that has nothing yet has lost everything, and is told so. */
export function isCopied({ role }: SimCluster): boolean {
  return role?.mode === "secondary" && role.copied;
}
