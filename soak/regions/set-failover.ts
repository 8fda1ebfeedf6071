// R8 on processes, with the whole set: a performance primary and a region from which one mount is withheld, each with a cluster that stands
// in for it. Clients read and write registers the whole time, at whoever leads the set and in the region, and one failover comes after the
// other, of the one pair or of the other. What was written is one history of each register, but for exactly what a forced failover
// reports; what the region answers is what was there, in order, and not from before what its client has seen; no two clusters have
// written in one epoch; and what is withheld is on no disk of the region. With the planted bugs, one in each run by its seed, a
// region does not keep what it says it has, or takes every state for one that is reached, or the cluster that was left does not report all that it
// gave up.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Prng } from "../../sim/prng.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { at } from "../../tests/support/http-client.ts";
import { ClusterProcess, equalProcesses } from "../../tests/support/replication/cluster-process.ts";
import {
  is,
  isOnDiskOf,
  joinRegionProcess,
  metricOf,
  perf,
  perfStatus,
  regionFollows,
  standInProcess,
  within,
} from "../../tests/support/replication/regions/region-process.ts";
import { TcpProxy } from "../../tests/support/replication/tcp-proxy.ts";
import { until } from "../../tests/support/until.ts";
import { ClientHistory } from "../replication/client-history.ts";
import { keptOf, Pair } from "../replication/pair.ts";
import { plantedProgram, withProcesses } from "../replication/processes.ts";
import { Place, RegisterClients, type Site } from "../replication/register-clients.ts";
import { type Result, resultOf } from "../result.ts";
import { regionProblems, type Term } from "./region-reads.ts";

const REGISTERS = Array.from({ length: 6 }, (_, i) => `r${i}`);
/** In a mount that the region is not sent. */
const WITHHELD = ["w0", "w1"];
const WITHHELD_MOUNT = "withheld";
/** With nothing in it. */
const EMPTY_MOUNT = "empty";
const REGION = "region-c";
/** Acknowledged writes between one step and the next. */
const SOME = 60;
/** What becomes of whom: the leader (ahead: what only it had the region has as well), or the cluster of the region. */
const WAYS = [
  "leader planned",
  "leader killed",
  "leader parted",
  "leader ahead",
  "region planned",
  "region killed",
  "region parted",
] as const;
type Way = (typeof WAYS)[number];

const PLANTS = ["stale-secret", "any-state", "unreported"] as const;
type Plant = (typeof PLANTS)[number];

/** Where a bug shows soon. */
const FIRST: Partial<Record<Plant, Way>> = { unreported: "leader parted" };

export interface SetFailoverOptions {
  readonly rounds: number;
  readonly clients: number;
  readonly seed: number;
  readonly plant?: Plant;
  readonly say: (line: string) => void;
}

/** Not by the last bit: by that short runs choose whether there is one. */
export function setFailoverPlant(seed: number): Plant {
  return PLANTS[Math.floor(seed / 2) % PLANTS.length]!;
}

export async function setFailover(options: SetFailoverOptions): Promise<Result> {
  const history = new ClientHistory();
  const terms: Term[] = [];
  const wrong: string[] = [];
  const seen = { withheld: 0 };
  try {
    await withProcesses(async (t) => {
      const run = await Run.start(t, options, { history, terms, seen });
      wrong.push(...(await run.all()));
    });
  } catch (error) {
    wrong.push(errorText(error));
  }
  const { operations, reigns, lost } = history;
  const count = (type: string) => operations.filter((one) => one.type === type).length;
  const inRegion = operations.filter((one) => one.type === "ok" && !history.leads(one));
  const forced = [
    ...reigns.map((one) => one.forced !== null),
    ...terms.map(({ isForced }) => isForced),
  ].filter(Boolean).length;
  const said = (word: string) => operations.filter(({ refusal }) => refusal === word).length;
  const figure =
    `${operations.length} operations (${count("ok")} ok, ${inRegion.length} of them in the region, ${count("fail")} refused, ` +
    `${count("info")} unknown), ${reigns.length + terms.length - 2} failovers, ${forced} of them forced, which gave up ${lost} answered writes; ` +
    `states not reached ${said("state_not_reached")}, lost ${said("state_lost")}; ${seen.withheld} requests for what is withheld`;
  const problems = [...history.problems(), ...regionProblems(history, terms), ...rivals(history)];
  // A planted bug is to be found in the history, and nowhere else.
  return resultOf(figure, [...(options.plant === undefined ? wrong : []), ...problems]);
}

/** Two clusters that have answered for a write in one epoch of the set. */
function rivals(history: ClientHistory): string[] {
  const writers = new Map<number, string>();
  const found: string[] = [];
  for (const one of history.operations) {
    if (one.kind !== "write" || one.type !== "ok" || !history.leads(one)) continue;
    const other = writers.get(one.epoch) ?? one.site;
    writers.set(one.epoch, other);
    if (other === one.site) continue;
    found.push(`${one.site} and ${other} have written in epoch ${one.epoch} of the set`);
  }
  return [...new Set(found)];
}

interface Kept {
  readonly history: ClientHistory;
  readonly terms: Term[];
  readonly seen: { withheld: number };
}

class Run {
  readonly #options: SetFailoverOptions;
  readonly #random: Prng;
  readonly #kept: Kept;
  readonly #leader: Pair;
  readonly #region: Pair;
  readonly #clients: RegisterClients;
  /** Of the mount that is withheld. */
  readonly #uuid: string;
  #epoch = 1;

  private constructor(
    options: SetFailoverOptions,
    kept: Kept,
    { leader, region, uuid }: { leader: Pair; region: Pair; uuid: string },
  ) {
    const { seed, clients } = options;
    this.#options = options;
    this.#random = new Prng(`set failover ${seed}`);
    this.#kept = kept;
    this.#leader = leader;
    this.#region = region;
    this.#uuid = uuid;
    kept.history.reigns.push({ site: leader.active.name, from: 0, forced: null });
    kept.terms.push({ site: region.active.name, from: 0, isForced: false });
    this.#clients = new RegisterClients({
      places: [leader.place, region.place],
      registers: [...REGISTERS, ...WITHHELD],
      mountOf: (register) => (WITHHELD.includes(register) ? WITHHELD_MOUNT : "secret"),
      clients,
      states: true,
      random: this.#random,
      history: kept.history,
    });
  }

  static async start(t: TestContext, options: SetFailoverOptions, kept: Kept): Promise<Run> {
    const { plant } = options;
    const program = plant === undefined ? undefined : plantedProgram(plant);
    const start = (region: string, isPlanted: boolean) =>
      ClusterProcess.start(t, () => `region = "${region}"\n`, isPlanted ? program : undefined);
    const [a, b, c, d] = await Promise.all([
      start("a", plant === "unreported"),
      start("a", false),
      start("c", plant === "stale-secret" || plant === "any-state"),
      start("c", plant === "any-state"),
    ]);
    const asideOf = (one: ClusterProcess) => TcpProxy.before(t, one.clusterPort);
    const first = { name: "a", cluster: a, aside: await asideOf(a) };
    const second = { name: "b", cluster: b, aside: await asideOf(b) };
    is(await perf(a, "primary/enable"), 200);
    for (const path of ["secret", WITHHELD_MOUNT, EMPTY_MOUNT]) {
      const mount = { type: "kv", options: { version: "2" } };
      is(await within(a, "POST", `sys/mounts/${path}`, "", mount), 204);
    }
    const entry = await within(a, "GET", `sys/mounts/${WITHHELD_MOUNT}`);
    await standInProcess(a, b, "stand-in-a", `https://127.0.0.1:${first.aside.port}`);
    await withhold(a, [WITHHELD_MOUNT]);
    await joinRegionProcess(a, c, REGION);
    await regionFollows(c);
    await standInProcess(c, d, "stand-in-c");
    const region: Site[] = [
      { name: "c", cluster: c },
      { name: "d", cluster: d },
    ];
    const run = new Run(options, kept, {
      leader: await Pair.of(new Place([first, second])),
      region: await Pair.of(new Place(region, WITHHELD)),
      uuid: String(at(entry, "data", "uuid")),
    });
    t.after(() => run.#clients.close());
    await run.#knowsStandIn();
    return run;
  }

  /** Gives the answers that nobody expects. */
  async all(): Promise<readonly string[]> {
    const clients = this.#clients;
    try {
      const ways = this.#ways();
      for (let round = 0; round < this.#options.rounds; round++) {
        const way = ways[round % ways.length]!;
        await clients.writes(SOME);
        const pair = way.startsWith("leader") ? this.#leader : this.#region;
        this.#options.say(`${round}: ${way}, ${pair.active.name} to ${pair.standIn.name}`);
        await this.#act(way);
        await this.#follows();
        await this.#knowsStandIn();
        this.#checkDisks();
        if (clients.wrong.length > 0) break;
      }
      await clients.writes(SOME);
    } finally {
      await clients.stop();
      this.#kept.seen.withheld = clients.withheld;
    }
    await this.#atRest();
    return clients.wrong;
  }

  #ways(): readonly Way[] {
    const { plant } = this.#options;
    const first = plant === undefined ? undefined : FIRST[plant];
    const all = this.#random.shuffle([...WAYS]);
    return first === undefined ? all : [first, ...all.filter((way) => way !== first)];
  }

  async #act(way: Way): Promise<void> {
    switch (way) {
      case "leader planned":
        return await this.#leaderPlanned();
      case "leader killed":
      case "leader parted":
      case "leader ahead":
        return await this.#leaderForced(way);
      case "region planned":
        return await this.#regionPlanned();
      case "region killed":
      case "region parted":
        return await this.#regionForced(way);
    }
  }

  async #leaderPlanned(): Promise<void> {
    const pair = this.#leader;
    const from = await pair.handOver();
    this.#epoch++;
    this.#kept.history.reigns.push({ site: pair.active.name, from, forced: null });
    await pair.rejoin();
  }

  /** It has written what the one that takes its place does not have: the region has that too, or is cut off as well. */
  async #leaderForced(way: Way): Promise<void> {
    const pair = this.#leader;
    const { place, active: before } = pair;
    const clients = this.#clients;
    before.aside!.cut();
    let unreached = performance.now();
    if (way !== "leader ahead") before.cluster.way.cut();
    await clients.writes(SOME / 2);
    if (way === "leader parted") place.left = before;
    else {
      place.now = null;
      if (way === "leader ahead") {
        unreached = performance.now();
        before.cluster.way.cut();
      }
      await before.cluster.kill();
    }
    const from = await pair.takeOver();
    this.#epoch++;
    await clients.writes(SOME / 2);
    await this.#follows();
    const followed = performance.now();
    place.left = null;
    await clients.gone(before);
    if (way !== "leader parted") await before.cluster.startAgain();
    const heads = await clients.readAll(before, place);
    before.aside!.heal();
    before.cluster.way.heal();
    const kept = keptOf(heads, await pair.rejoinFenced());
    const { name: site } = pair.active;
    this.#kept.history.reigns.push({ site, from, unreached, followed, forced: { kept } });
  }

  async #regionPlanned(): Promise<void> {
    const pair = this.#region;
    const from = await pair.handOver();
    this.#kept.terms.push({ site: pair.active.name, from, isForced: false });
    await pair.rejoin();
  }

  /** It has what the one that takes its place does not have, of the leader and of its own. */
  async #regionForced(way: Way): Promise<void> {
    const pair = this.#region;
    const { place, active: before } = pair;
    const clients = this.#clients;
    before.cluster.way.cut();
    await clients.writes(SOME / 2);
    if (way === "region parted") place.left = before;
    else {
      place.now = null;
      await before.cluster.kill();
    }
    const from = await pair.takeOver();
    this.#kept.terms.push({ site: pair.active.name, from, isForced: true });
    await clients.writes(SOME / 2);
    place.left = null;
    await clients.gone(before);
    if (way === "region killed") await before.cluster.startAgain();
    before.cluster.way.heal();
    await pair.rejoinFenced();
  }

  /** The region is sent what the one that leads now writes. */
  async #follows(): Promise<void> {
    const { cluster: region } = this.#region.active;
    await regionFollows(region, this.#epoch);
  }

  /** The region would find who takes the place of the one that leads. */
  async #knowsStandIn(): Promise<void> {
    const { cluster: region } = this.#region.active;
    const address = `https://127.0.0.1:${this.#leader.standIn.cluster.way.port}`;
    await until(async () => {
      const { failover_cluster_addrs: known } = await perfStatus(region);
      return Array.isArray(known) && known.includes(address);
    });
  }

  /** At no time: it was withheld from the beginning. */
  #checkDisks(): void {
    for (const { name, cluster } of this.#region.place.sites) {
      assert.ok(!isOnDiskOf(cluster, this.#uuid), `what is withheld is on the disk of ${name}`);
    }
  }

  async #atRest(): Promise<void> {
    const { active: leader } = this.#leader;
    const { active: region } = this.#region;
    const written = await this.#clients.readAll(leader, this.#leader.place);
    await this.#follows();
    const { last_performance_wal: last } = await perfStatus(leader.cluster);
    await until(async () => {
      const { last_remote_wal: here } = await perfStatus(region.cluster);
      return Number(here) >= Number(last);
    });
    const read = await this.#clients.readAll(region, this.#region.place);
    for (const [register, there] of read) assert.deepEqual(there, written.get(register), register);
    await this.#compared(leader.cluster, region.cluster);
    for (const { active, standIn } of [this.#leader, this.#region]) {
      await equalProcesses(active.cluster, standIn.cluster);
      const checked = await within(active.cluster, "POST", "sys/replication/merkle-check", "", {});
      is(checked, 200);
      const { corrupted_merkle_tree: isDamaged } = await perfStatus(active.cluster);
      assert.equal(isDamaged, false, `${active.name} is damaged`);
    }
    this.#checkDisks();
  }

  /** With a mount more withheld the region is compared with the leader by that view, and nothing differs. */
  async #compared(leader: ClusterProcess, region: ClusterProcess): Promise<void> {
    const rows = () =>
      metricOf(region, "holdfast_replication_sync_rows_total", `kind="performance"`);
    const before = await rows();
    await withhold(leader, [EMPTY_MOUNT, WITHHELD_MOUNT]);
    await until(async () => {
      const list = await perf(region, `secondary/dynamic-filter/${REGION}`, {}, "GET");
      const mounts = at(list, "data", "dynamic_filtered_mounts");
      return Array.isArray(mounts) && mounts.length === 2;
    });
    await regionFollows(region, this.#epoch);
    assert.equal(await rows(), before, "the region had other rows than the leader");
  }
}

async function withhold(leader: ClusterProcess, mounts: readonly string[]): Promise<void> {
  const paths = mounts.map((mount) => `${mount}/`);
  is(await perf(leader, `primary/paths-filter/${REGION}`, { mode: "deny", paths }), 200);
}
