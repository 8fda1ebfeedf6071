// What must be true, always and when everything is at rest. Nothing here asks a cluster what it thinks of itself, where the
// ledger knows better.

import type { DivergentTail } from "../../src/replication/links/divergent.ts";
import { isFenced } from "../../src/replication/roles/role.ts";
import { Violation } from "../state.ts";
import { listedBy, type SimCluster } from "./cluster.ts";
import { assertRows, type Spot } from "./ledger.ts";
import type { Scene } from "./scene.ts";

/** One primary of an epoch, and one that was superseded writes nothing. */
export function checkAlways({ clusters }: Scene): void {
  const epochs = new Set<string>();
  for (const { role, running, name } of clusters) {
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

/** A primary that gave up its place, and the one that takes it: between them nothing is lost. */
export function checkPlanned(scene: Scene, cluster: SimCluster, final: bigint, now: Spot): void {
  const { clusters, ledger, formers } = scene;
  for (const other of clusters) {
    const { spot } = other.seen;
    if (other === cluster || spot === null || spot.index !== final) continue;
    if (other.role?.mode !== "secondary" || other.role.id !== "") continue;
    const fork = ledger.fork(spot, now);
    const lost = ledger.answered.filter(
      (one) =>
        one.by === other.name &&
        ledger.isBefore(one, spot) &&
        one.index > (fork?.index ?? 0n) &&
        formers.get(cluster.name)?.primary === other,
    );
    if (lost.length > 0) {
      throw new Violation(
        `${cluster.name} took the place of ${other.name} and lost ${lost.length} answers`,
      );
    }
  }
}

/** Whether one holds what its primary holds, roots of the trees and keys included. */
export function isEqual(one: SimCluster, leader: SimCluster): boolean {
  const [here, there] = [one.unsealed, leader.unsealed];
  if (here.store.index !== there.store.index || here.store.adopting !== null) return false;
  if (here.store.differsFrom(there.store.headBytes!).length > 0) return false;
  const role = one.role;
  if (
    role?.mode !== "secondary" ||
    !role.copied ||
    here.replication.unpromotable.some((name) => name !== "primary-gone")
  )
    return false;
  return one.keysVersion === leader.keysVersion;
}

/** What clusters have made outside is known to the one that leads: it ends all of it in time. */
export function knowsOutside({ cloud }: Scene, leader: SimCluster): boolean {
  return cloud.unknownTo((id) => leader.hasLease(id)).length === 0;
}

export function checkAtRest(scene: Scene, leader: SimCluster): void {
  const { ledger, clusters, tails, trace } = scene;
  const head = leader.seen.spot!;
  const rows = ledger.rowsAt(head);
  for (const cluster of clusters) {
    const { store, replication } = cluster.unsealed;
    if (cluster.seen.spot?.chain !== head.chain) {
      throw new Violation(`${cluster.name} is at rest with another head`);
    }
    assertRows(cluster.name, store, rows);
    cluster.clients.readAll();
    checkTail(scene, cluster, head, replication.divergent.tails());
    cluster.seen.mayGoBack = false;
  }
  tails.clear();
  checkAnswers(scene, head);
  scene.count("rests");
  trace.add(`at rest: ${head.index} ${head.chain.slice(0, 16)}, ${rows.size} rows`);
}

/** What it gave up is kept there, from the first entry to the last. */
function checkTail(
  scene: Scene,
  cluster: SimCluster,
  head: Spot,
  kept: readonly DivergentTail[],
): void {
  const { ledger, tails } = scene;
  const [tail, more] = tails.get(cluster.name) ?? [];
  if (tail === undefined || more !== undefined) return; // it went another way in between
  const { spot, first } = tail;
  const fork = ledger.fork(spot, head);
  if (fork === null || fork.index >= spot.index || first > spot.index) return;
  scene.count("tails");
  const from = fork.index > first - 1n ? fork.index : first - 1n;
  const isKept = kept.some((one) => one.fork === from && one.head >= spot.index);
  if (isKept) return;
  throw new Violation(
    `${cluster.name} gave up ${from + 1n} to ${spot.index} and reports ` +
      kept.map((one) => `${one.fork + 1n} to ${one.head}`).join(),
  );
}

/** What clients were answered for is there, or some cluster keeps it and says so. */
function checkAnswers({ ledger, clusters, allTails, counts }: Scene, head: Spot): void {
  const lost = ledger.answered.filter((one) => !ledger.isBefore(one, head));
  const listing = lost.length > 0 ? clusters : [];
  const kept = new Set(listing.flatMap(({ unsealed }) => [...listedBy(unsealed)]));
  const isTrimmed = (one: Spot) =>
    allTails.some(({ spot, first }) => one.index < first && ledger.isBefore(one, spot));
  const gone = lost.find(
    (one) => !kept.has(`${one.index} ${ledger.timeOf(one)}`) && !isTrimmed(one),
  );
  if (gone !== undefined) {
    throw new Violation(`entry ${gone.index} of ${gone.by} was answered, and is nowhere`);
  }
  counts["lost"] = lost.length;
}
