// One seed: two or three clusters, the clients of whoever leads, operators who change roles, and everything that goes wrong
// between and under them. Now and then all is brought to rest, and there everybody must hold what was written.

import { hex } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { loadX509 } from "../../src/base/x509.ts";
import type { Peer } from "../../src/cluster/verify.ts";
import { StatusError } from "../../src/grpc/status.ts";
import type { DivergentTail } from "../../src/replication/links/divergent.ts";
import {
  isFenced,
  isOlder,
  type Primary,
  type Secondary,
} from "../../src/replication/roles/role.ts";
import { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { Trace } from "../trace.ts";
import { type Life, MILLISECOND, SECOND, SimWorld, type Tick } from "../world.ts";
import { type ClusterPlant, NotThere, SimCluster } from "./cluster.ts";
import { assertRows, Ledger, type Spot } from "./ledger.ts";
import { SimNetwork } from "./network.ts";
import { CLUSTER_PLANTS } from "./plants.ts";
import { countRealWork, idle } from "./real-work.ts";
import { Witness } from "./witness.ts";
import "../../src/replication/links/links.ts";
import "../../src/replication/links/join.ts";
import "../../src/replication/joining/activation-token.ts";

export interface WalkOptions {
  /** Default 1,000. */
  readonly steps?: number;
  /** The name of a planted bug. Default: none. */
  readonly plant?: string;
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
const PATIENCE = 1200 * SECOND; // for everybody to hold the same

export async function runWalk(seed: number, options: WalkOptions = {}): Promise<WalkResult> {
  countRealWork();
  await loadX509();
  const walk = new Walk(seed, options);
  const unhandled = (reason: unknown) => walk.report(reason);
  process.on("unhandledRejection", unhandled);
  try {
    return await walk.run();
  } finally {
    process.off("unhandledRejection", unhandled);
  }
}

class Walk {
  readonly #seed: number;
  readonly #steps: number;
  readonly #prng: Prng;
  readonly #world: SimWorld;
  readonly #trace: Trace;
  readonly #network: SimNetwork;
  readonly #ledger = new Ledger();
  readonly #witness: Witness;
  readonly #clusters: SimCluster[];
  readonly #ids = new Map<string, Admitted>(); // by the id that somebody was admitted with
  readonly #tasks = new Set<Task>();
  readonly #counts: Record<string, number> = {};
  readonly #often: Readonly<Record<string, number>>;
  /** Heads of clusters that were told to give up what they have, when they were. */
  readonly #tails = new Map<string, readonly Tail[]>();
  /** All of them, and where what was left of their logs began. */
  readonly #allTails: Tail[] = [];
  /** Which primaries each cluster that was promoted has had before. */
  readonly #formers = new Map<string, Former>();
  #violation: unknown = null;
  #finished = false;
  #taken = 0;
  #number = 0;

  constructor(seed: number, { steps = 1000, plant, print }: WalkOptions) {
    this.#seed = seed;
    this.#steps = steps;
    const prng = (this.#prng = new Prng(`clusters ${seed}`));
    this.#world = new SimWorld(prng, idle);
    this.#trace = new Trace(this.#world, print ?? null);
    this.#network = new SimNetwork(this.#world, prng.fork("network"));
    this.#witness = new Witness({
      ledger: this.#ledger,
      clusterOf: ({ id }: Peer) => this.#ids.get(id)?.cluster ?? null,
      report: (violation) => this.report(violation),
    });
    const bug = plant === undefined ? undefined : CLUSTER_PLANTS[plant];
    const planted: ClusterPlant = bug?.cluster() ?? {};
    this.#often = bug?.often ?? {};
    const quorums: ConstructorParameters<typeof SimCluster>[0]["quorums"] = [];
    const count = 2 + prng.fork("count").int(2);
    this.#clusters = ["a", "b", "c"].slice(0, count).map(
      (name, i) =>
        new SimCluster({
          name,
          number: i + 1,
          world: this.#world,
          network: this.#network,
          prng: prng.fork(name),
          trace: this.#trace,
          ledger: this.#ledger,
          plant: planted,
          quorums,
          watch: (cluster) => this.#witness.watch(cluster),
          report: (violation) => this.report(violation),
        }),
    );
    for (const cluster of this.#clusters) this.#network.add(cluster);
  }

  report(violation: unknown): void {
    this.#violation ??= violation;
  }

  async run(): Promise<WalkResult> {
    void this.#walk().then(
      () => (this.#finished = true),
      (error: unknown) => this.report(error),
    );
    const done = () => this.#finished || this.#violation !== null;
    try {
      if (!(await this.#world.run(done, UNTIL))) throw new Violation("the walk never ends");
    } catch (error) {
      this.report(error);
    }
    for (const { life } of this.#clusters) life?.end();
    this.#trace.add(this.#violation === null ? "green" : "red");
    return {
      seed: this.#seed,
      violation: this.#violation,
      steps: this.#taken,
      simulated: this.#world.now,
      hash: this.#trace.digest(),
      counts: this.#counts,
      entries: this.#ledger.size,
    };
  }

  async #walk(): Promise<void> {
    await this.#sleep(1);
    for (const cluster of this.#clusters) await cluster.boot();
    const [first] = this.#clusters as [SimCluster];
    await first.unsealed.replication.enablePrimary("");
    const prng = this.#prng.fork("steps");
    // The others come while it is written already, or somewhat later.
    for (; this.#taken < this.#steps; this.#taken++) {
      await this.#sleep(prng.chance(0.5) ? prng.int(20) : prng.int(1200));
      this.#step(prng);
      this.#checkAlways();
      if (this.#taken % REST_EVERY === REST_EVERY - 1) await this.#rest(prng);
    }
    await this.#rest(prng);
    await this.#putBackOldDisk(prng);
  }

  #sleep(milliseconds: number): Promise<void> {
    return this.#world.sleep(milliseconds * MILLISECOND, null);
  }

  // --- steps ---

  #step(prng: Prng): void {
    const weights = STEPS.map(([name, weight]) => [name, this.#often[name] ?? weight] as const);
    const roll = prng.next() * weights.reduce((all, [, weight]) => all + weight, 0);
    let sum = 0;
    for (const [name, weight] of weights) {
      sum += weight;
      if (roll >= sum) continue;
      this.#trace.add(`step ${this.#taken}: ${name}`);
      this.#count(name);
      this.#act(name, prng);
      return;
    }
  }

  #act(name: StepName, prng: Prng): void {
    const cluster = prng.pick(this.#clusters);
    switch (name) {
      case "write":
        for (const one of this.#clusters.filter(({ leads }) => leads)) {
          for (let i = prng.int(4); i >= 0; i--) this.#write(one, prng);
        }
        return;
      case "read":
        if (cluster.leads) cluster.read(prng);
        return;
      case "trim":
        return this.#begin(`trim of ${cluster.name}`, [cluster], () =>
          cluster.trim(prng.fork("trim")),
        );
      case "join":
        return this.#join(prng);
      case "promote":
        return this.#promote(prng, false);
      case "force":
        return this.#promote(prng, true);
      case "demote":
        return this.#demote(prng);
      case "both":
        return this.#both(prng);
      case "update":
        return this.#update(prng);
      case "revoke":
        return this.#revoke(prng);
      case "rotate":
        return this.#begin(`rotation of ${cluster.name}`, [cluster], async () => {
          if (cluster.leads) await cluster.unsealed.barrier.rotate();
        });
      case "reindex":
        return this.#begin(`reindex of ${cluster.name}`, [cluster], async () => {
          if (!cluster.leads) return;
          await cluster.unsealed.replication.trees.reindex({ force: true, diff: false });
        });
      case "recover":
        return this.#begin(`recover of ${cluster.name}`, [cluster], async () => {
          await cluster.unsealed.replication.recover();
        });
      case "seal":
        return this.#begin(`seal of ${cluster.name}`, [cluster], async () => {
          if (cluster.running?.replication.changing !== false) return;
          await cluster.seal();
          await this.#world.sleep(prng.int(20_000) * MILLISECOND, cluster.life);
          await cluster.unseal();
        });
      case "kill":
      case "power":
        return this.#crash(cluster, name, prng.int(15_000));
      case "pause":
        cluster.life?.pause(this.#world.now + prng.int(30_000) * MILLISECOND);
        return;
      case "clock":
        cluster.clock.jump(BigInt(prng.int(20_000) - 10_000) * BigInt(MILLISECOND));
        return;
      case "cut":
        return this.#network.cut(cluster);
      case "slow":
        this.#network.slow = true;
        return;
      case "partition": {
        const other = prng.pick(this.#clusters);
        const cuts = prng.chance(0.5);
        this.#network.block(cluster, other, cuts);
        if (prng.chance(0.6)) this.#network.block(other, cluster, cuts);
        return;
      }
      case "heal":
        return this.#network.heal();
    }
  }

  #write(cluster: SimCluster, prng: Prng): void {
    const number = ++this.#number;
    const own = prng.fork(`write ${number}`);
    this.#begin(`write ${number} at ${cluster.name}`, [cluster], async () => {
      await cluster.write(number, own);
    });
  }

  /** In the background, by processes that may end meanwhile. Whatever they refuse is no finding; anything else is. */
  #begin(name: string, by: readonly SimCluster[], work: () => Promise<void>): void {
    const lives = by.flatMap(({ life }) => (life === null ? [] : [life]));
    if (lives.length < by.length) return;
    const task: Task = { name, lives };
    const run = async () => {
      try {
        await work();
        this.#count(`${kindOf(name)} done`);
        if (!name.startsWith("write")) this.#trace.add(`${name} is done`);
      } catch (error) {
        if (lives.some(({ ended }) => ended)) return;
        if (!isRefusal(error)) {
          this.report(new Violation(`${name} went wrong`, { cause: error }));
          return;
        }
        this.#count(`${kindOf(name)} refused`);
        this.#trace.add(`${name} is refused: ${error instanceof Failure ? error.code : "no link"}`);
      } finally {
        this.#tasks.delete(task);
      }
    };
    this.#tasks.add(task);
    void run();
  }

  /** Of those whose processes still run. */
  get #underWay(): readonly Task[] {
    return [...this.#tasks].filter(({ lives }) => lives.every(({ ended }) => !ended));
  }

  #crash(cluster: SimCluster, how: "kill" | "power", downtime: number): void {
    if (cluster.life === null) return;
    cluster.crash(how);
    this.#world.after(downtime * MILLISECOND, null, () => {
      if (cluster.life === null) this.#spawn(() => cluster.boot());
    });
  }

  #spawn(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      // A process that is killed while it starts hears nothing any more.
      if (!isRefusal(error)) this.report(error);
      else this.report(new Violation("a cluster does not start", { cause: error }));
    });
  }

  #join(prng: Prng): void {
    const free = this.#clusters.filter(({ role }) => role?.mode === "disabled");
    const primaries = this.#clusters.filter(({ isPrimary }) => isPrimary);
    if (free.length === 0 || primaries.length === 0) return;
    const [cluster, primary] = [prng.pick(free), prng.pick(primaries)];
    if (cluster === primary) return;
    this.#begin(`join of ${cluster.name} to ${primary.name}`, [cluster, primary], () =>
      cluster.join(primary, this.#id(cluster, primary)),
    );
  }

  #id(cluster: SimCluster, primary: SimCluster): string {
    const id = `${cluster.name}-${this.#ids.size}`;
    this.#ids.set(id, { cluster, primary, epoch: epochText(primary) });
    return id;
  }

  #promote(prng: Prng, force: boolean): void {
    const secondaries = this.#clusters.filter(isCopied);
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    this.#begin(`${force ? "forced " : ""}promotion of ${cluster.name}`, [cluster], () =>
      this.#promoted(cluster, force),
    );
  }

  async #promoted(cluster: SimCluster, force: boolean): Promise<void> {
    const { replication, store } = cluster.unsealed;
    const role = cluster.role!;
    const { lost } = replication.rehearse();
    const applied = store.index;
    const final = role.mode === "secondary" ? role.final : null;
    const before = cluster.seen.spot!;
    const admitted = role.mode === "secondary" ? this.#ids.get(role.id) : undefined;
    const { reported } = cluster;
    if (lost !== null && lost.from > applied + 1n) {
      throw new Violation(`${cluster.name} does not tell of entry ${applied + 1n}, which it lacks`);
    }
    await replication.promote({ force, address: "" });
    if (admitted === undefined || role.mode !== "secondary") this.#formers.delete(cluster.name);
    else this.#formers.set(cluster.name, { ...admitted, id: role.id });
    const now = cluster.seen.spot!;
    if (!this.#ledger.isBefore(before, now)) {
      throw new Violation(`${cluster.name} lost entries when it was promoted`);
    }
    if (reported !== null && !cluster.seen.mayGoBack && !this.#ledger.isBefore(reported, now)) {
      throw new Violation(
        `${cluster.name} lacks entry ${reported.index}, which it has answered for`,
      );
    }
    if (!force && final !== null) this.#checkPlanned(cluster, BigInt(final), now);
  }

  /** A primary that gave up its place, and the one that takes it: between them nothing is lost. */
  #checkPlanned(cluster: SimCluster, final: bigint, now: Spot): void {
    for (const other of this.#clusters) {
      const { spot } = other.seen;
      if (other === cluster || spot === null || spot.index !== final) continue;
      if (other.role?.mode !== "secondary" || other.role.id !== "") continue;
      const fork = this.#ledger.fork(spot, now);
      const lostAll = this.#ledger.answered.filter(
        (one) =>
          one.by === other.name &&
          this.#ledger.isBefore(one, spot) &&
          one.index > (fork?.index ?? 0n) &&
          this.#formers.get(cluster.name)?.primary === other,
      );
      if (lostAll.length > 0) {
        throw new Violation(
          `${cluster.name} took the place of ${other.name} and lost ${lostAll.length} answers`,
        );
      }
    }
  }

  #demote(prng: Prng): void {
    const primaries = this.#clusters.filter(({ role }) => role?.mode === "primary");
    if (primaries.length === 0) return;
    const cluster = prng.pick(primaries);
    this.#begin(`demotion of ${cluster.name}`, [cluster], async () => {
      await cluster.unsealed.replication.demote();
    });
  }

  /** A failover that two operators make at once, each at another place. */
  #both(prng: Prng): void {
    const primary = this.#clusters.find(({ isPrimary }) => isPrimary);
    const others = this.#clusters.filter(isCopied);
    if (primary === undefined || others.length === 0) return;
    const other = prng.pick(others);
    this.#begin(`failover of ${primary.name} to both`, [primary, other], async () => {
      await primary.unsealed.replication.demote();
      const all = [this.#promoted(primary, true), this.#promoted(other, true)];
      for (const { reason } of (await Promise.allSettled(all)).filter(
        (one) => one.status === "rejected",
      )) {
        if (!isRefusal(reason)) throw reason;
      }
    });
  }

  #update(prng: Prng): void {
    const primaries = this.#clusters.filter(({ isPrimary }) => isPrimary);
    const secondaries = this.#clusters.filter(({ role }) => role?.mode === "secondary");
    if (primaries.length === 0 || secondaries.length === 0) return;
    const [cluster, primary] = [prng.pick(secondaries), prng.pick(primaries)];
    this.#begin(`update of ${cluster.name} to ${primary.name}`, [cluster, primary], () =>
      this.#follow(cluster, primary),
    );
  }

  async #follow(cluster: SimCluster, primary: SimCluster): Promise<void> {
    const { spot } = cluster.seen;
    if (spot !== null) {
      const tail = { spot, first: cluster.unsealed.store.tail!.first };
      this.#allTails.push(tail);
      this.#tails.set(cluster.name, [...(this.#tails.get(cluster.name) ?? []), tail]);
    }
    await cluster.follow(primary, this.#id(cluster, primary));
  }

  #revoke(prng: Prng): void {
    const primaries = this.#clusters.filter(({ isPrimary }) => isPrimary);
    if (primaries.length === 0) return;
    const primary = prng.pick(primaries);
    this.#begin(`revocation at ${primary.name}`, [primary], async () => {
      const { known } = await primary.unsealed.replication.primary();
      const [id] = known;
      if (id === undefined) return;
      await primary.unsealed.admission.revoke(id);
      this.#witness.revoked(primary, id);
    });
  }

  // --- what must be true ---

  #checkAlways(): void {
    const epochs = new Set<string>();
    for (const { role, running, name } of this.#clusters) {
      if (running === null || role?.mode !== "primary") continue;
      const { number, cluster, first } = role.epoch;
      const epoch = `${role.set} ${number} ${cluster} ${first}`;
      if (epochs.has(epoch)) throw new Violation(`two clusters lead epoch ${epoch}`);
      epochs.add(epoch);
      if (isFenced(role) && !running.replication.changing && !running.store.following) {
        throw new Violation(`${name} is fenced, and may write`);
      }
    }
  }

  /** Everything is healed, everybody is brought back into the set, and holds what was written. */
  async #rest(prng: Prng): Promise<void> {
    this.#trace.add("rest");
    this.#network.heal();
    await this.#until(
      "everything that was begun ends",
      () => this.#underWay.length === 0,
      () => {},
      () => this.#underWay.map(({ name }) => name).join(),
    );
    await this.#until(
      "everybody is there",
      () => this.#clusters.every(({ running }) => running?.replication.changing === false),
      () => {
        for (const cluster of this.#clusters) {
          if (cluster.life === null) this.#spawn(() => cluster.boot());
        }
      },
    );
    const leader = await this.#together();
    await this.#until(
      `all are as ${leader.name} is`,
      () => this.#clusters.every((one) => one === leader || this.#isEqual(one, leader)),
      () => {},
      () => this.#clusters.map((one) => describeCluster(one)).join("; "),
    );
    this.#checkAtRest(leader);
    void prng;
  }

  /** One primary, and all others follow it. */
  async #together(): Promise<SimCluster> {
    await this.#fencesArrive();
    for (let round = 0; round < 20; round++) {
      const leader = this.#leader();
      const next = this.#nextLeader(leader);
      if (next !== null) {
        await this.#operate(`forced promotion of ${next.name}`, () => this.#promoted(next, true));
        continue;
      }
      if (leader === null) throw new Violation("there is nobody who could lead");
      const astray = this.#clusters.filter((one) => one !== leader && !this.#belongs(one, leader));
      if (astray.length === 0) return leader;
      for (const one of astray) {
        const mode = one.role?.mode;
        if (mode === "primary") {
          await this.#operate(`demotion of ${one.name}`, async () => {
            await one.unsealed.replication.demote();
          });
        }
        if (mode === "secondary") {
          await this.#operate(`update of ${one.name}`, () => this.#follow(one, leader));
        }
        if (mode === "disabled") {
          await this.#operate(`join of ${one.name}`, () => one.join(leader, this.#id(one, leader)));
        }
      }
    }
    throw new Violation(
      `the clusters do not come together: ${this.#clusters.map((one) => describeCluster(one)).join("; ")}`,
    );
  }

  /** Nobody follows an earlier epoch than the latest it has heard of: where that has no primary, it gets one. */
  #nextLeader(leader: SimCluster | null): SimCluster | null {
    const able = this.#clusters.filter(
      (one) => isCopied(one) && one.running?.store.adopting === null,
    );
    const latest = able.reduce<SimCluster | null>(
      (best, one) => (best === null || isEarlier(best, one) ? one : best),
      null,
    );
    if (leader === null || latest === null) return latest;
    return isOlder(epochOf(leader), epochOf(latest)) ? latest : null;
  }

  async #operate(name: string, work: () => Promise<void>): Promise<void> {
    this.#trace.add(`rest: ${name}`);
    try {
      await work();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#trace.add(`${name} is refused: ${error instanceof Error ? error.message : ""}`);
      await this.#sleep(5000);
    }
  }

  #leader(): SimCluster | null {
    return this.#clusters
      .filter(({ isPrimary }) => isPrimary)
      .reduce<SimCluster | null>(
        (best, one) => (best === null || isOlder(epochOf(best), epochOf(one)) ? one : best),
        null,
      );
  }

  /** Whoever was superseded and can be reached hears of it by itself. */
  async #fencesArrive(): Promise<void> {
    const left = () => {
      const leader = this.#leader();
      if (leader === null) return [];
      const former = this.#formers.get(leader.name);
      if (former === undefined || former.primary === leader || !former.primary.isPrimary) return [];
      // One that was revoked there, or came under another authority, is not listened to.
      return isAdmitted(former.primary, former) ? [former.primary] : [];
    };
    await this.#until(
      "at most one primary is left",
      () => left().length === 0,
      () => {},
      () => this.#clusters.map((one) => describeCluster(one)).join("; "),
      400 * SECOND,
    );
  }

  #belongs(cluster: SimCluster, leader: SimCluster): boolean {
    const role = cluster.role;
    const leads = leader.role as Primary;
    if (role?.mode !== "secondary" || role.set !== leads.set || role.id === "") return false;
    const admitted = this.#ids.get(role.id);
    return admitted !== undefined && isAdmitted(leader, { ...admitted, id: role.id });
  }

  #isEqual(one: SimCluster, leader: SimCluster): boolean {
    const [here, there] = [one.unsealed, leader.unsealed];
    if (here.store.index !== there.store.index || here.store.adopting !== null) return false;
    if (here.store.differsFrom(there.store.headBytes!).length > 0) return false;
    const role = one.role;
    if (
      role?.mode !== "secondary" ||
      !role.copied ||
      !here.replication.rehearse().checks.every(({ name, ok }) => ok || name === "primary-gone")
    )
      return false;
    return keysOf(one) === keysOf(leader);
  }

  #checkAtRest(leader: SimCluster): void {
    const head = leader.seen.spot!;
    const rows = this.#ledger.rowsAt(head);
    for (const cluster of this.#clusters) {
      const { store, replication } = cluster.unsealed;
      if (cluster.seen.spot?.chain !== head.chain) {
        throw new Violation(`${cluster.name} is at rest with another head`);
      }
      assertRows(cluster.name, store, rows);
      cluster.readAll();
      this.#checkTail(cluster, head, replication.divergent.tails());
      cluster.seen.mayGoBack = false;
    }
    this.#tails.clear();
    this.#checkAnswers(head);
    this.#count("rests");
    this.#trace.add(`at rest: ${head.index} ${head.chain.slice(0, 16)}, ${rows.size} rows`);
  }

  /** What it gave up is kept there, from the first entry to the last. */
  #checkTail(cluster: SimCluster, head: Spot, kept: readonly DivergentTail[]): void {
    const [tail, more] = this.#tails.get(cluster.name) ?? [];
    if (tail === undefined || more !== undefined) return; // it went another way in between
    const { spot, first } = tail;
    const fork = this.#ledger.fork(spot, head);
    if (fork === null || fork.index >= spot.index || first > spot.index) return;
    this.#count("tails");
    const from = fork.index > first - 1n ? fork.index : first - 1n;
    const isKept = kept.some((one) => one.fork === from && one.head >= spot.index);
    if (isKept) return;
    throw new Violation(
      `${cluster.name} gave up ${from + 1n} to ${spot.index} and reports ` +
        kept.map((one) => `${one.fork + 1n} to ${one.head}`).join(),
    );
  }

  /** What clients were answered for is there, or some cluster keeps it and says so. */
  #checkAnswers(head: Spot): void {
    const lost = this.#ledger.answered.filter((one) => !this.#ledger.isBefore(one, head));
    const kept = new Set<string>();
    if (lost.length > 0) {
      for (const { unsealed } of this.#clusters) {
        const { divergent } = unsealed.replication;
        for (const { id } of divergent.tails()) {
          for (const { index, time } of divergent.entries(id, { after: 0n, max: 100_000 }))
            kept.add(`${index} ${time}`);
        }
      }
    }
    const isTrimmed = (one: Spot) =>
      this.#allTails.some(
        ({ spot, first }) => one.index < first && this.#ledger.isBefore(one, spot),
      );
    const gone = lost.find(
      (one) => !kept.has(`${one.index} ${this.#ledger.timeOf(one)}`) && !isTrimmed(one),
    );
    if (gone !== undefined) {
      throw new Violation(`entry ${gone.index} of ${gone.by} was answered, and is nowhere`);
    }
    this.#counts["lost"] = lost.length;
  }

  /** The primary comes back with an old disk: nobody gives up what it has for that. */
  async #putBackOldDisk(prng: Prng): Promise<void> {
    const leader = this.#leader();
    if (leader === null) return;
    const old = leader.disk.rows.copy();
    for (let i = 0; i < 5; i++) this.#write(leader, prng);
    await this.#until(
      "writes end",
      () => this.#underWay.length === 0,
      () => {},
      () => this.#underWay.map(({ name }) => name).join(),
    );
    await this.#until("all have them", () =>
      this.#clusters.every((one) => one === leader || this.#isEqual(one, leader)),
    );
    this.#trace.add(`${leader.name} gets an old disk`);
    leader.crash("power");
    leader.putBack(old);
    leader.seen.mayGoBack = true;
    await leader.boot();
    for (let i = 0; i < 8; i++) this.#write(leader, prng);
    await this.#sleep(90_000);
  }

  async #until(
    what: string,
    isTrue: () => boolean,
    meanwhile: () => void = () => {},
    details: () => string = () => "",
    patience: Tick = PATIENCE,
  ): Promise<void> {
    const end = this.#world.now + patience;
    while (!isTrue()) {
      if (this.#world.now > end)
        throw new Violation(`it never comes to this: ${what}. ${details()}`);
      meanwhile();
      await this.#sleep(250);
    }
  }

  #count(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
  }
}

/** How often each is taken, against the others. */
const STEPS = [
  ["write", 62],
  ["read", 5],
  ["trim", 5],
  ["join", 3],
  ["promote", 1],
  ["force", 1],
  ["demote", 1],
  ["both", 0.5],
  ["update", 2],
  ["revoke", 1],
  ["rotate", 1.5],
  ["reindex", 1],
  ["recover", 1],
  ["seal", 1],
  ["kill", 1.5],
  ["power", 2],
  ["pause", 1.5],
  ["clock", 1],
  ["cut", 2],
  ["slow", 1],
  ["partition", 2],
  ["heal", 3],
] as const;
type StepName = (typeof STEPS)[number][0];

function kindOf(name: string): string {
  return name.startsWith("forced") ? "force" : (name.split(" ")[0] ?? "");
}

const SECONDARIES = "core/replication/dr/secondaries/";

/** The log of a cluster when it was told to give it up. */
interface Tail {
  readonly spot: Spot;
  readonly first: bigint;
}

interface Task {
  readonly name: string;
  readonly lives: readonly Life[];
}

interface Admitted {
  readonly cluster: SimCluster;
  readonly primary: SimCluster;
  /** In which it was admitted: a later one has another authority. */
  readonly epoch: string;
}

/** A primary that somebody was admitted to, and as whom. */
interface Former extends Admitted {
  readonly id: string;
}

function isAdmitted(primary: SimCluster, { primary: by, epoch, id }: Former): boolean {
  if (by !== primary || epoch !== epochText(primary)) return false;
  return primary.unsealed.store.keys(`${SECONDARIES}${id}`, { limit: 1 }).length > 0;
}

function epochText(primary: SimCluster): string {
  return primary.role?.mode === "primary" ? JSON.stringify(primary.role.epoch) : "";
}

function epochOf({ role }: SimCluster) {
  return (role as Primary | Secondary).epoch;
}

/** Whoever promotes one that has nothing yet has lost everything, and is told so. */
function isCopied({ role }: SimCluster): boolean {
  return role?.mode === "secondary" && role.copied;
}

/** By what they know of the set, and then by what they have. */
function isEarlier(one: SimCluster, other: SimCluster): boolean {
  const [a, b] = [epochOf(one), epochOf(other)];
  if (isOlder(a, b) || isOlder(b, a)) return isOlder(a, b);
  return one.unsealed.store.index < other.unsealed.store.index;
}

function keysOf({ unsealed }: SimCluster): string {
  const { generation, term } = unsealed.barrier.keysVersion;
  return `${generation}.${term}`;
}

function isRefusal(error: unknown): boolean {
  if (error instanceof Violation) return false;
  return error instanceof Failure || error instanceof StatusError || error instanceof NotThere;
}

function describeCluster(cluster: SimCluster): string {
  const { name, role, running } = cluster;
  const head = running?.store.head;
  const at =
    head === null || head === undefined ? "?" : `${head.index} ${hex(head.chain).slice(0, 8)}`;
  const error = running?.replication.status.attention.behind.map(({ text }) => text).join();
  const keys = running === null ? "?" : keysOf(cluster);
  return `${name}: ${JSON.stringify(role)} at ${at}, keys ${keys} ${error ?? ""}`;
}
