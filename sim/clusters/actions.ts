// What happens in a walk, one step at a time: what clients and operators do, and what goes wrong meanwhile.

import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { checkPlanned } from "./checks.ts";
import { NotThere, type SimCluster } from "./cluster.ts";
import { FAULTS, isFault, strike, weighed } from "./faults.ts";
import { isCopied, isRefusal, type Scene } from "./scene.ts";

/** How often each is taken, against the others. */
const STEPS = [
  ["write", 62],
  ["lease", 6],
  ["read", 5],
  ["trim", 5],
  ["join", 3],
  ["promote", 1],
  ["force", 1],
  ["demote", 1],
  ["both", 0.5],
  ["rivals", 1],
  ["update", 2],
  ["revoke", 1],
  ["rotate", 1.5],
  ["reindex", 1],
  ...FAULTS,
] as const;
type StepName = (typeof STEPS)[number][0];

export class Actions {
  readonly #scene: Scene;
  readonly #weights: readonly (readonly [StepName, number])[];

  /** `often`: other weights than usual. */
  constructor(scene: Scene, often: Readonly<Record<string, number>>) {
    this.#scene = scene;
    this.#weights = STEPS.map(([name, weight]) => [name, often[name] ?? weight]);
  }

  step(number: number, prng: Prng): void {
    const name = weighed(this.#weights, prng);
    if (name === null) return;
    this.#scene.trace.add(`step ${number}: ${name}`);
    this.#scene.count(name);
    this.#act(name, prng);
  }

  #act(name: StepName, prng: Prng): void {
    const scene = this.#scene;
    const { clusters } = scene;
    const cluster = prng.pick(clusters);
    if (isFault(name)) return strike(scene, cluster, name, prng);
    switch (name) {
      case "write":
        for (const one of clusters.filter(({ leads }) => leads)) {
          for (let i = prng.int(4); i >= 0; i--) scene.write(one, prng);
        }
        return;
      case "lease":
        for (const one of clusters) if (one.isPrimary) scene.lease(one, prng);
        return;
      case "read":
        if (cluster.leads) cluster.clients.read(prng);
        return;
      case "trim":
        return scene.begin(`trim of ${cluster.name}`, [cluster], () =>
          this.#trim(cluster, prng.fork("trim")),
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
      case "rivals":
        return this.#rivals(prng);
      case "update":
        return this.#update(prng);
      case "revoke":
        return this.#revoke(prng);
      case "rotate":
        return scene.begin(`rotation of ${cluster.name}`, [cluster], async () => {
          if (cluster.leads) await cluster.unsealed.barrier.rotate();
        });
      case "reindex":
        return scene.begin(`reindex of ${cluster.name}`, [cluster], async () => {
          if (!cluster.leads) return;
          await cluster.unsealed.replication.trees.reindex({ force: true, diff: false });
        });
    }
  }

  #join(prng: Prng): void {
    const scene = this.#scene;
    const free = scene.clusters.filter(({ role }) => role?.mode === "disabled");
    const primaries = scene.clusters.filter(({ isPrimary }) => isPrimary);
    if (free.length === 0 || primaries.length === 0) return;
    const [cluster, primary] = [prng.pick(free), prng.pick(primaries)];
    if (cluster === primary) return;
    scene.begin(`join of ${cluster.name} to ${primary.name}`, [cluster, primary], () =>
      cluster.join(primary, scene.newId(cluster, primary)),
    );
  }

  #promote(prng: Prng, force: boolean): void {
    const secondaries = this.#scene.clusters.filter(isCopied);
    if (secondaries.length === 0) return;
    const cluster = prng.pick(secondaries);
    const name = `${force ? "forced " : ""}promotion of ${cluster.name}`;
    this.#scene.begin(name, [cluster], async () => void (await this.promote(cluster, force)));
  }

  /** With what must be true of each promotion. Gives what it warns of. */
  async promote(cluster: SimCluster, force: boolean): Promise<readonly string[]> {
    const { ids, formers, ledger } = this.#scene;
    const { role } = cluster;
    if (role === null) throw new NotThere(`${cluster.name} is not there`);
    const final = role.mode === "secondary" ? role.final : null;
    const before = cluster.seen.spot!;
    const admitted = role.mode === "secondary" ? ids.get(role.id) : undefined;
    const { reported } = cluster;
    const warnings = await cluster.promote(force);
    const lost = /entries (\d+) to \d+ of the primary are missing/.exec(warnings.join());
    const first = cluster.role?.mode === "primary" ? BigInt(cluster.role.epoch.first) : null;
    if (lost !== null && first !== null && BigInt(lost[1]!) > first) {
      throw new Violation(`${cluster.name} does not tell of entry ${first}, which it lacks`);
    }
    if (admitted === undefined || role.mode !== "secondary") formers.delete(cluster.name);
    else formers.set(cluster.name, { ...admitted, id: role.id });
    const now = cluster.seen.spot!;
    if (!ledger.isBefore(before, now)) {
      throw new Violation(`${cluster.name} lost entries when it was promoted`);
    }
    if (reported !== null && !cluster.seen.mayGoBack && !ledger.isBefore(reported, now)) {
      throw new Violation(
        `${cluster.name} lacks entry ${reported.index}, which it has answered for`,
      );
    }
    if (!force && final !== null) checkPlanned(this.#scene, cluster, BigInt(final), now);
    return warnings;
  }

  #demote(prng: Prng): void {
    const { clusters } = this.#scene;
    const primaries = clusters.filter(({ role }) => role?.mode === "primary");
    if (primaries.length === 0) return;
    const cluster = prng.pick(primaries);
    this.#scene.begin(`demotion of ${cluster.name}`, [cluster], async () => {
      await cluster.unsealed.replication.demote();
    });
  }

  /** A failover that two operators make at once, each at another place. */
  #both(prng: Prng): void {
    const { clusters } = this.#scene;
    const primary = clusters.find(({ isPrimary }) => isPrimary);
    const others = clusters.filter(isCopied);
    if (primary === undefined || others.length === 0) return;
    const other = prng.pick(others);
    this.#scene.begin(`failover of ${primary.name} to both`, [primary, other], async () => {
      await primary.unsealed.replication.demote();
      const all = [this.promote(primary, true), this.promote(other, true)];
      for (const { reason } of (await Promise.allSettled(all)).filter(
        (one) => one.status === "rejected",
      )) {
        if (!isRefusal(reason)) throw reason;
      }
    });
  }

  /** The same where neither forces it: of two that reach each other one gives way. */
  #rivals(prng: Prng): void {
    const scene = this.#scene;
    const primary = scene.clusters.find(({ isPrimary }) => isPrimary);
    const [one, other] = prng.shuffle(scene.clusters.filter(isCopied));
    if (primary === undefined || one === undefined || other === undefined) return;
    const isPlanned = prng.chance(0.8);
    const silent = 20_000 + prng.int(10_000);
    const downtime = silent + 60_000 + prng.int(60_000);
    if (!isPlanned) scene.crash(primary, "power", downtime);
    const by = isPlanned ? [primary, one, other] : [one, other];
    scene.begin(`rivalry of ${one.name} and ${other.name}`, by, async () => {
      if (isPlanned) await primary.unsealed.replication.demote();
      else await scene.sleep(silent);
      const areKnown = one.knows(other) || other.knows(one);
      const all = await Promise.allSettled([this.promote(one, false), this.promote(other, false)]);
      const failed = all.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      for (const reason of failed) if (!isRefusal(reason)) throw reason;
      scene.count(`rivals promoted: ${2 - failed.length}`);
      const [ofOne, ofOther] = all.map((each) => (each.status === "fulfilled" ? each.value : []));
      const isMissed = hasMissed(ofOne!, other) || hasMissed(ofOther!, one);
      if (failed.length > 0 || !areKnown || isMissed) return;
      throw new Violation(`${one.name} and ${other.name} were both promoted, and reach each other`);
    });
  }

  #update(prng: Prng): void {
    const { clusters } = this.#scene;
    const primaries = clusters.filter(({ isPrimary }) => isPrimary);
    const secondaries = clusters.filter(({ role }) => role?.mode === "secondary");
    if (primaries.length === 0 || secondaries.length === 0) return;
    const [cluster, primary] = [prng.pick(secondaries), prng.pick(primaries)];
    const name = `update of ${cluster.name} to ${primary.name}`;
    this.#scene.begin(name, [cluster, primary], () => this.follow(cluster, primary));
  }

  async follow(cluster: SimCluster, primary: SimCluster): Promise<void> {
    const scene = this.#scene;
    const { spot } = cluster.seen;
    if (spot !== null) {
      const tail = { spot, first: cluster.unsealed.store.tail!.first };
      scene.allTails.push(tail);
      scene.tails.set(cluster.name, [...(scene.tails.get(cluster.name) ?? []), tail]);
    }
    await cluster.follow(primary, scene.newId(cluster, primary));
  }

  async #trim(cluster: SimCluster, prng: Prng): Promise<void> {
    const { ledger, tails } = this.#scene;
    await cluster.trim(prng);
    const { spot } = cluster.seen;
    const first = cluster.running?.store.tail?.first;
    if (first === undefined || spot === null) return;
    for (const tail of tails.get(cluster.name) ?? []) {
      if (tail.first < first && ledger.isBefore(tail.spot, spot)) tail.first = first;
    }
  }

  #revoke(prng: Prng): void {
    const { clusters, witness } = this.#scene;
    const primaries = clusters.filter(({ isPrimary }) => isPrimary);
    if (primaries.length === 0) return;
    const primary = prng.pick(primaries);
    this.#scene.begin(`revocation at ${primary.name}`, [primary], async () => {
      const { known } = await primary.unsealed.replication.primary();
      const [id] = known;
      if (id === undefined) return;
      await primary.unsealed.admission.revoke(id);
      witness.revoked(primary, id);
      this.#scene.count("revoked");
    });
  }
}

/** Whether a promotion warns that it went on without an answer of that one. */
function hasMissed(warnings: readonly string[], { address }: SimCluster): boolean {
  return warnings.some((text) =>
    text.includes(`secondary of the set, at ${address}, did not answer`),
  );
}
