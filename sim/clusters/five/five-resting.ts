// Now and then all five are brought to rest, as operators would who have an afternoon: one cluster leads each set, the others follow it, and
// who is in none joins one. Then each must hold exactly what it should.

import { equalBytes, hex } from "@holdfast/shared/bytes";
import type { PlaceViews } from "../../../src/replication/applied/applied-place.ts";
import { isTorn, isWhole } from "../../../src/replication/applied/how-far.ts";
import { storedStand } from "../../../src/replication/filters/withheld-rows.ts";
import { isFenced, isOlder } from "../../../src/replication/roles/role.ts";
import type { ScopeRow } from "../../../src/storage/engines/engine.ts";
import { decodeEntry } from "../../../src/storage/rows/log-entry.ts";
import type { Store } from "../../../src/storage/store.ts";
import type { Prng } from "../../prng.ts";
import { Violation } from "../../state.ts";
import { SECOND } from "../../world.ts";
import { isEqual } from "../checks.ts";
import { listedBy, type SimCluster } from "../cluster.ts";
import { allEnds, allWell } from "../faults.ts";
import { assertRows } from "../ledger.ts";
import { epochOf, isCopied, isRefusal, type Scene } from "../scene.ts";
import {
  enableDr,
  type FiveActions,
  isFree,
  isMember,
  leadsShared,
  setOf,
  sharedEpoch,
} from "./five-actions.ts";

const ROUNDS = 60;
const WRITES = 10;
const PAGE = 512;
const PERFORMANCE = "local/replication/performance/";
/** Until those who were let go on by themselves have: what takes longer an operator looks at. */
const BY_THEMSELVES = 240 * SECOND;

export class FiveResting {
  readonly #scene: Scene;
  readonly #actions: FiveActions;
  /** Entries that were given up and listed: a filter may take them from the list afterwards. */
  readonly #listed = new Set<string>(); // by chain

  constructor(scene: Scene, actions: FiveActions) {
    this.#scene = scene;
    this.#actions = actions;
  }

  async rest(prng: Prng): Promise<void> {
    const scene = this.#scene;
    scene.trace.add("rest");
    await allWell(scene);
    await scene.sleep(30_000);
    await this.#together(prng);
    for (let i = 0; i < WRITES; i++) {
      this.#actions.place(prng, "write");
      this.#actions.record(prng);
      for (const one of scene.clusters) if (one.leads) scene.writeOwn(one, prng);
      await scene.sleep(prng.int(150));
    }
    // A filter that is changed after all have what they should is nobody's yet.
    await scene.until("nothing is to come", () => !this.#actions.isSomethingToCome);
    await allEnds(scene, "writes end");
    await this.#settled();
    await this.#scrubbed();
    this.#check();
    for (const one of scene.clusters) await this.#checkTree(one);
    scene.count("rests");
    for (const one of scene.clusters) {
      const { index } = one.seen.spot!;
      scene.trace.add(`at rest: ${one.name} ${index} ${one.unsealed.records.text}`);
    }
  }

  // --- who is what ---

  async #together(prng: Prng): Promise<void> {
    const scene = this.#scene;
    for (let round = 0; round < ROUNDS; round++) {
      const next = this.#next(prng);
      if (next === null) return;
      scene.trace.add(`rest: ${next.name}`);
      try {
        await next.work();
        scene.count(`rest ${next.name.split(" ")[0]}`);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        scene.trace.add(`it is refused: ${error instanceof Error ? error.message : ""}`);
        await scene.sleep(5000);
      }
    }
    throw new Violation(`the clusters do not come together: ${this.#describe()}`);
  }

  #describe(): string {
    const { clusters } = this.#scene;
    return clusters
      .map((one) => `${one.describe()} shares ${JSON.stringify(one.sharedRole)}`)
      .join("; ");
  }

  /** What an operator would do next; null where all is as it should be. */
  #next(prng: Prng): Operation | null {
    const { clusters } = this.#scene;
    const sets = new Set(clusters.map(setOf).filter((set) => set !== ""));
    for (const set of sets) {
      const next = this.#inSet(clusters.filter((one) => setOf(one) === set));
      if (next !== null) return next;
    }
    const shared = this.#shared();
    if (shared !== null) return shared;
    const free = clusters.find(isFree);
    return free === undefined ? null : this.#join(free, prng);
  }

  /** Of one set of disaster recovery. */
  #inSet(set: readonly SimCluster[]): Operation | null {
    const leader = latest(
      set.filter(({ isPrimary }) => isPrimary),
      epochOf,
    );
    const able = set.filter((one) => isCopied(one) && one.running?.store.adopting === null);
    const best = latest(able, epochOf);
    if (best !== null && (leader === null || isOlder(epochOf(leader), epochOf(best)))) {
      return {
        name: `promotion of ${best.name}`,
        work: async () => void (await best.promote(true)),
      };
    }
    if (leader === null) return this.#beginAnew(set[0]!);
    for (const one of set) {
      if (one === leader) continue;
      const { role } = one;
      if (role?.mode === "primary") {
        return {
          name: `demotion of ${one.name}`,
          work: async () => void (await one.unsealed.replication.demote()),
        };
      }
      const isKnown = role?.mode === "secondary" && this.#knows(leader, role.id, "dr");
      if (!isKnown) return this.#follow(one, leader, "dr");
    }
    return null;
  }

  /** Among those that share data. */
  #shared(): Operation | null {
    const members = this.#scene.clusters.filter(isMember);
    const leader = latest(members.filter(leadsShared), sharedEpoch);
    const able = members.filter(
      ({ sharedRole }) => sharedRole?.mode === "secondary" && sharedRole.copied,
    );
    const last = latest(able, sharedEpoch);
    // Of several that are as late, one that can: whose rows are of different indexes is not promoted, not by force either.
    const whole = able.filter((one) => !isTorn(viewsOf(one))); // who has led has no place in another's log
    const asLate = whole.filter((one) => !isOlder(sharedEpoch(one), sharedEpoch(last!)));
    const replaced = members.find((one) => one.sharedRole?.mode === "primary" && !leadsShared(one));
    if (leader === null && last !== null && asLate.length === 0 && replaced !== undefined) {
      return this.#demotionShared(replaced); // whoever took its place is gone, and nobody has its data: this one has
    }
    const best = asLate[0] ?? (leader === null ? latest(whole, sharedEpoch) : null) ?? last;
    if (best !== null && (leader === null || isOlder(sharedEpoch(leader), sharedEpoch(best)))) {
      return {
        name: `lead-shared of ${best.name}`,
        work: async () => {
          await best.unsealed.kinds!.performance.promote({ force: true, address: "" });
        },
      };
    }
    // Nobody has the data of the set any more: the next one begins it.
    if (leader === null) return this.#newSet(members);
    for (const one of members) {
      const { sharedRole: role } = one;
      if (one === leader) continue;
      if (role?.mode === "primary") {
        return this.#demotionShared(one);
      }
      const isSet = role?.mode === "secondary" && role.set === sharedSet(leader);
      if (!isSet) return this.#beginAnew(one);
      if (!this.#knows(leader, role.id, "performance")) {
        // Whoever stood in for a cluster has its region: one of the two is of the set.
        const same = members.find((other) => other !== one && other.regionName === one.regionName);
        if (same !== undefined) return this.#beginAnew(same === leader ? one : same);
        return this.#follow(one, leader, "performance");
      }
    }
    const alone = this.#scene.clusters.find(
      (one) => one.leads && one.sharedRole?.mode === "disabled" && !isFree(one),
    );
    return alone === undefined ? null : this.#beginAnew(alone);
  }

  #demotionShared(one: SimCluster): Operation {
    return {
      name: `demote-shared of ${one.name}`,
      work: async () => void (await one.unsealed.kinds!.performance.demote()),
    };
  }

  #newSet(members: readonly SimCluster[]): Operation {
    const one = members[0] ?? this.#scene.clusters.find(isFree);
    if (one === undefined) throw new Violation(`nobody is left: ${this.#describe()}`);
    if (!isFree(one)) return this.#beginAnew(one);
    return {
      name: `new-set of ${one.name}`,
      work: async () => void (await one.unsealed.kinds!.performance.enablePrimary("")),
    };
  }

  /** With an empty disk: what it had is nobody's, or is not to be had. */
  #beginAnew(one: SimCluster): Operation {
    return {
      name: `anew of ${one.name}`,
      work: async () => {
        const listed = [...listedBy(one.unsealed)];
        one.crash("kill");
        this.#scene.leavesBehind(one, listed);
        one.begin();
        await one.boot();
      },
    };
  }

  #follow(one: SimCluster, leader: SimCluster, kind: "dr" | "performance"): Operation {
    const scene = this.#scene;
    return {
      name: `update-${kind} of ${one.name}`,
      work: async () => {
        await this.#revokeAt(leader, one, kind);
        if (kind === "dr") this.#gaveUp(one);
        await one.follow(leader, scene.newId(one, leader), kind, kind === "performance");
      },
    };
  }

  #gaveUp(one: SimCluster): void {
    const { spot } = one.seen;
    if (spot !== null) this.#scene.allTails.push({ spot, first: one.unsealed.store.tail!.first });
  }

  #join(one: SimCluster, prng: Prng): Operation {
    const scene = this.#scene;
    const members = scene.clusters.filter(isMember);
    const leader = members.find(leadsShared)!;
    // Who stands in for it has its region's name.
    const isNameFree = members.every((member) => member.regionName !== one.regionName);
    const asMember = members.length < 3 && prng.chance(0.6) && isNameFree;
    const primary = asMember ? leader : prng.pick(members);
    const kind = asMember ? "performance" : "dr";
    return {
      name: `join-${kind} of ${one.name} to ${primary.name}`,
      work: async () => {
        if (kind === "dr") await enableDr(primary);
        await this.#revokeAt(primary, one, kind);
        await one.join(primary, scene.newId(one, primary), kind);
      },
    };
  }

  #knows(primary: SimCluster, id: string, kind: "dr" | "performance"): boolean {
    const rows = kind === "dr" ? "core/replication/dr/" : PERFORMANCE;
    if (id === "") return false;
    return primary.unsealed.store.get(`${rows}secondaries/${id}`) !== null;
  }

  /** As whom it was known before, and as who never came: what they need is kept no longer. */
  async #revokeAt(
    leader: SimCluster,
    one: SimCluster | null,
    kind: "dr" | "performance",
  ): Promise<void> {
    const { replication, kinds } = leader.unsealed;
    const { known } = await (kind === "dr" ? replication : kinds!.performance).primary();
    for (const id of known) {
      // Who stands in for a member goes by its id.
      const isIts = one !== null && isUsed(one, id, kind);
      if (!isIts && this.#scene.clusters.some((other) => isUsed(other, id, kind))) continue;
      await leader.admissionOf(kind).revoke(id);
      this.#scene.witness.revoked(leader, id);
    }
    if (one !== null) await leader.admissionOf(kind).revoke(one.clusterId); // as it was known before that one led
  }

  // --- until it is so ---

  async #settled(): Promise<void> {
    const scene = this.#scene;
    for (const kind of ["dr", "performance"] as const) {
      for (const one of scene.clusters) {
        const leads = kind === "dr" ? one.isPrimary : leadsShared(one);
        if (leads) await this.#revokeAt(one, null, kind);
      }
    }
    const end = scene.world.now + BY_THEMSELVES;
    // To compare all rows costs more than what happens meanwhile.
    while (this.#left().length > 0 && scene.world.now <= end) await scene.sleep(3000);
    for (const one of this.#left()) {
      scene.count("told");
      scene.trace.add(`rest: ${one.name} is told`);
      const kind = one.role?.mode === "secondary" ? "dr" : "performance";
      const leader = this.#leaderOf(one)!;
      try {
        await this.#follow(one, leader, kind).work();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        scene.trace.add(`it is refused: ${error instanceof Error ? error.message : ""}`);
      }
    }
    await scene.until("all have what they should", () => this.#left().length === 0, {
      details: () =>
        `left: ${this.#left()
          .map((one) => `${one.name} (${this.#why(one)})`)
          .join()}; ${this.#describe()}`,
    });
  }

  /** Whom it follows. */
  #leaderOf(one: SimCluster): SimCluster | null {
    const { clusters } = this.#scene;
    if (one.role?.mode === "secondary") {
      return clusters.find((other) => other.isPrimary && setOf(other) === setOf(one)) ?? null;
    }
    return leadsShared(one) ? null : (clusters.find(leadsShared) ?? null);
  }

  #left(): SimCluster[] {
    return this.#scene.clusters.filter((one) => this.#why(one) !== null);
  }

  /** Null where it holds what it should. */
  #why(one: SimCluster): string | null {
    if (one.running?.replication.changing !== false) return "it is changing";
    if (leadsShared(one)) return null;
    const leader = this.#leaderOf(one);
    if (leader === null || leader.running === null) return "it has no primary";
    if (one.role?.mode === "secondary") return isEqual(one, leader) ? null : "it differs";
    const { sharedRole: role, unsealed } = one;
    if (role?.mode !== "secondary" || !role.copied || !isWhole(viewsOf(one))) {
      return "it is not whole";
    }
    if (unsealed.kinds!.withheld.isDue) return "its filter is due";
    return differenceOf(one, leader, this.#withheldFrom(one, leader));
  }

  #withheldFrom(one: SimCluster, leader: SimCluster): Set<string> {
    const { sharedRole } = one;
    const id = sharedRole?.mode === "secondary" ? sharedRole.id : "";
    return this.#scene.lookingOn.withheldFrom(leader, id, one.clusterId);
  }

  /** What has gone leaves their logs as soon as nobody needs it. */
  async #scrubbed(): Promise<void> {
    const scene = this.#scene;
    const isLeft = () => scene.clusters.filter((one) => this.#hasToScrub(one));
    const end = scene.world.now + 600 * SECOND;
    while (isLeft().length > 0) {
      if (scene.world.now > end) {
        throw new Violation(
          `the log of ${isLeft()
            .map(({ name }) => name)
            .join()} keeps what is withheld`,
        );
      }
      for (const one of isLeft()) await one.trim(scene.prng.fork(`scrub ${scene.world.now}`));
      await scene.sleep(1000);
    }
  }

  #hasToScrub(one: SimCluster): boolean {
    const { unsealed, role } = one;
    const { isDue, scrub } = storedStand(unsealed.barrier.view(PERFORMANCE));
    // From one that leads nothing is withheld, whatever was to go when it followed, and nothing from who stands in for it and has that row of it.
    const member = role?.mode === "secondary" ? this.#leaderOf(one) : one;
    if (isDue && (member === null || !leadsShared(member))) return true;
    return scrub !== undefined && unsealed.store.tail!.first <= BigInt(scrub.index);
  }

  // --- what must be so ---

  #check(): void {
    const scene = this.#scene;
    const { clusters, ledger } = scene;
    for (const one of clusters) {
      const { store, records } = one.unsealed;
      assertRows(one.name, store, ledger.rowsAt(one.seen.spot!));
      const leader = this.#leaderOf(one);
      // Who stands in for a member has nothing either that is withheld from that.
      const member = one.role?.mode === "secondary" ? leader! : one;
      const primary = this.#leaderOf(member);
      if (primary !== null) {
        const withheld = this.#withheldFrom(member, primary);
        scene.counts["withheld"] = (scene.counts["withheld"] ?? 0) + withheld.size;
        assertAbsent(one, withheld);
      }
      records.check(one.name);
      one.seen.mayGoBack = false;
      one.seen.mayLeave.clear();
    }
    this.#checkAnswers();
    scene.tails.clear();
  }

  /** The shared tree of a member is that of its primary without what is withheld, as that keeps it for a filter. */
  async #checkTree(one: SimCluster): Promise<void> {
    const { sharedRole, unsealed, leads, name } = one;
    const primary = this.#leaderOf(one);
    if (!leads || primary === null || sharedRole?.mode !== "secondary") return;
    const { filters } = await primary.unsealed.kinds!.performance.primary();
    const view = (await filters.of(sharedRole.id)?.view()) ?? null;
    const { sum, count } = view?.total() ?? primary.unsealed.store.head!.shared;
    const own = unsealed.store.head!.shared;
    this.#scene.count(view === null ? "trees" : "filtered trees");
    if (own.count === count && equalBytes(own.sum, sum)) return;
    throw new Violation(
      `the tree of ${name} has ${own.count} rows, and not those ${count} of its view`,
    );
  }

  /** What clients were answered for is there, or some cluster keeps it and says so. */
  #checkAnswers(): void {
    const { ledger, clusters, ended, leftBehind, allTails, counts } = this.#scene;
    const lines = clusters.filter(({ leads }) => leads).map((one) => ledger.lineOf(one.seen.spot!));
    const lost = ledger.answered.filter(
      ({ chain }) => !lines.some(({ places }) => places.has(chain)),
    );
    counts["lost"] = lost.length;
    if (lost.length === 0) return;
    const kept = new Set(clusters.flatMap(({ unsealed }) => [...listedBy(unsealed)]));
    for (const one of lost) {
      if (kept.has(`${one.index} ${ledger.timeOf(one)}`)) this.#listed.add(one.chain);
      if (this.#listed.has(one.chain) || leftBehind.has(one.chain)) continue;
      const { root } = ledger.lineOf(one);
      if (ended.has(root)) continue;
      const isTrimmed = allTails.some(
        ({ spot, first }) => one.index < first && ledger.isBefore(one, spot),
      );
      if (isTrimmed) continue;
      throw new Violation(`entry ${one.index} of ${one.by} was answered, and is nowhere`);
    }
  }
}

interface Operation {
  readonly name: string;
  readonly work: () => Promise<void>;
}

type EpochOf = typeof sharedEpoch;

function latest(some: readonly SimCluster[], of: EpochOf): SimCluster | null {
  return some.reduce<SimCluster | null>(
    (best, one) => (best === null || isOlder(of(best), of(one)) ? one : best),
    null,
  );
}

function sharedSet({ sharedRole }: SimCluster): string {
  return sharedRole === null || sharedRole.mode === "disabled" ? "" : sharedRole.set;
}

function isUsed(cluster: SimCluster, id: string, kind: "dr" | "performance"): boolean {
  const role = kind === "dr" ? cluster.role : cluster.leads ? cluster.sharedRole : null;
  return role?.mode === "secondary" && role.id === id;
}

/** Of what is applied there. */
function viewsOf({ unsealed: { barrier } }: SimCluster): PlaceViews {
  return { own: barrier.view("core/replication/performance/"), view: barrier.view(PERFORMANCE) };
}

/** Null where it has the shared rows of its primary but for what is withheld, and nothing else. */
function differenceOf(
  one: SimCluster,
  leader: SimCluster,
  withheld: ReadonlySet<string>,
): string | null {
  const here = sharedRows(one.unsealed.store);
  let count = 0;
  for (const [key, { scope, value }] of sharedRows(leader.unsealed.store)) {
    if (withheld.has(scope)) continue;
    count++;
    const own = here.get(key);
    if (own === undefined) return `it lacks ${key}`;
    if (!equalBytes(own.value, value)) return `it has another ${key}`;
  }
  if (count === here.size) return null;
  return `it has ${here.size} shared rows, and not ${count}`;
}

function sharedRows(store: Store): Map<string, { scope: string; value: Uint8Array }> {
  const view = store.view();
  const rows = new Map<string, { scope: string; value: Uint8Array }>();
  try {
    for (let after: ScopeRow | null = null; ;) {
      const page: ScopeRow[] = view.scopes(after, PAGE);
      for (const { key, scope } of page) {
        if (key.startsWith("shared/")) rows.set(key, { scope, value: view.get(key)! });
      }
      after = page.at(-1) ?? null;
      if (page.length < PAGE) return rows;
    }
  } finally {
    view.close();
  }
}

/** On its disk, and in its log. */
function assertAbsent({ name, unsealed }: SimCluster, withheld: ReadonlySet<string>): void {
  const { store } = unsealed;
  for (const [key, { scope }] of sharedRows(store)) {
    if (withheld.has(scope)) throw new Violation(`${name} has ${key}, which is withheld`);
  }
  for (const { entry } of store.logs(store.tail!.first, Infinity)) {
    const { operations, index } = decodeEntry(entry);
    const wrong = operations.find(
      ({ key, scope }) => key.startsWith("shared/") && withheld.has(hex(scope)),
    );
    if (wrong === undefined) continue;
    throw new Violation(`${name} has ${wrong.key} in entry ${index}, and it is withheld`);
  }
}

/** Two that lead one set, by the same epoch, and both take writes. */
export function checkShared(clusters: readonly SimCluster[]): void {
  const epochs = new Map<string, string>();
  for (const one of clusters.filter(leadsShared)) {
    const { sharedRole: role, name } = one;
    if (role?.mode !== "primary" || isFenced(role)) continue;
    const { number, cluster, first } = role.epoch;
    const epoch = `${role.set} ${number} ${cluster} ${first}`;
    const other = epochs.get(epoch);
    if (other !== undefined) throw new Violation(`${other} and ${name} lead epoch ${epoch}`);
    epochs.set(epoch, name);
  }
}
