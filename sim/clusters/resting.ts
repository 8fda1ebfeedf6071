// Now and then everything is brought to rest, as operators would who have an afternoon: what was cut is healed, one cluster
// leads, the others follow it. Then all of them must hold what was written.

import { isOlder, type Primary } from "../../src/replication/roles/role.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import { SECOND } from "../world.ts";
import type { Actions } from "./actions.ts";
import { checkAtRest, isEqual, knowsOutside } from "./checks.ts";
import type { SimCluster } from "./cluster.ts";
import { allEnds, allWell } from "./faults.ts";
import { epochOf, isAdmitted, isCopied, isRefusal, type Scene } from "./scene.ts";

const ROUNDS = 20;
const WRITES = 30;
const UNPROVED = "does not prove to be it";
const FENCE_WITHIN = 400 * SECOND;

export class Resting {
  readonly #scene: Scene;
  readonly #actions: Actions;

  constructor(scene: Scene, actions: Actions) {
    this.#scene = scene;
    this.#actions = actions;
  }

  /** Everything is healed, everybody is brought back into the set, and holds what was written. */
  async rest(prng: Prng): Promise<void> {
    const scene = this.#scene;
    scene.trace.add("rest");
    await allWell(scene);
    const leader = await this.#together();
    // Clients do not wait until everybody is back: rows are compared while they change.
    for (let i = 0; i < WRITES; i++) {
      scene.write(leader, prng);
      await scene.sleep(prng.int(150));
    }
    await allEnds(scene, "writes end");
    await this.#allAs(leader);
    await scene.until(`${leader.name} knows what is outside`, () => knowsOutside(scene, leader), {
      details: () => scene.cloud.unknownTo((id) => leader.hasLease(id)).join(),
    });
    await this.#allAs(leader); // and what it has learned of that
    checkAtRest(scene, leader);
  }

  /** The primary comes back with an old disk: nobody gives up what it has for that. */
  async putBackOldDisk(prng: Prng): Promise<void> {
    const scene = this.#scene;
    const { leader } = scene;
    if (leader === null) return;
    const old = leader.disk.rows.copy();
    for (let i = 0; i < 5; i++) scene.write(leader, prng);
    await allEnds(scene, "writes end");
    await this.#allAs(leader);
    scene.trace.add(`${leader.name} gets an old disk`);
    leader.crash("power");
    leader.putBack(old);
    leader.seen.mayGoBack = true;
    await leader.boot();
    for (let i = 0; i < 8; i++) scene.write(leader, prng);
    await scene.sleep(90_000);
  }

  async #allAs(leader: SimCluster): Promise<void> {
    const { clusters } = this.#scene;
    await this.#scene.until(`all are as ${leader.name} is`, () =>
      clusters.every((one) => one === leader || isEqual(one, leader)),
    );
  }

  /** One primary, and all others follow it. */
  async #together(): Promise<SimCluster> {
    await this.#fencesArrive();
    const scene = this.#scene;
    for (let round = 0; round < ROUNDS; round++) {
      const { leader } = scene;
      const next = this.#nextLeader(leader);
      if (next !== null) {
        await this.#operate(`forced promotion of ${next.name}`, async () => {
          await this.#actions.promote(next, true);
        });
        continue;
      }
      if (leader === null) throw new Violation("there is nobody who could lead");
      const astray = scene.clusters.filter((one) => one !== leader && !this.#belongs(one, leader));
      if (astray.length === 0) return leader;
      for (const one of astray) await this.#bringBack(one, leader);
    }
    throw new Violation(`the clusters do not come together: ${scene.describe()}`);
  }

  async #bringBack(one: SimCluster, leader: SimCluster): Promise<void> {
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
      const id = () => this.#scene.newId(one, leader);
      await this.#operate(`revocation of ${one.name}`, () => this.#revokeAt(leader, one));
      await this.#operate(`join of ${one.name}`, () => one.join(leader, id()));
    }
  }

  /** Of one that has nothing any more that proves who it was, an operator says that it is the same. */
  async #follow(one: SimCluster, leader: SimCluster): Promise<void> {
    try {
      await this.#actions.follow(one, leader);
    } catch (error) {
      const isUnproved = error instanceof Error && error.message.includes(UNPROVED);
      if (isUnproved) await this.#revokeAt(leader, one);
      throw error;
    }
  }

  /** It has left, and proves no more that it is the one that is known. */
  async #revokeAt(leader: SimCluster, one: SimCluster): Promise<void> {
    const { known } = await leader.unsealed.replication.primary();
    for (const id of known) {
      if (this.#scene.ids.get(id)?.cluster !== one) continue;
      await leader.unsealed.admission.revoke(id);
      this.#scene.witness.revoked(leader, id);
    }
    await leader.unsealed.admission.revoke(one.clusterId); // as it was known before that one led
  }

  /** Nobody follows an earlier epoch than the latest it has heard of: where that has no primary, it gets one. */
  #nextLeader(leader: SimCluster | null): SimCluster | null {
    const able = this.#scene.clusters.filter(
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
    const { trace } = this.#scene;
    trace.add(`rest: ${name}`);
    try {
      await work();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      trace.add(`${name} is refused: ${error instanceof Error ? error.message : ""}`);
      await this.#scene.sleep(5000);
    }
  }

  /** Whoever was superseded and can be reached hears of it by itself. */
  async #fencesArrive(): Promise<void> {
    const scene = this.#scene;
    const isLeft = () => {
      const { leader } = scene;
      const former = leader === null ? undefined : scene.formers.get(leader.name);
      if (former === undefined || former.primary === leader || !former.primary.isPrimary) {
        return false;
      }
      // One that was revoked there, or came under another authority, is not listened to.
      return isAdmitted(former.primary, former);
    };
    await scene.until("at most one primary is left", () => !isLeft(), { patience: FENCE_WITHIN });
  }

  #belongs(cluster: SimCluster, leader: SimCluster): boolean {
    const role = cluster.role;
    const leads = leader.role as Primary;
    if (role?.mode !== "secondary" || role.set !== leads.set || role.id === "") return false;
    const admitted = this.#scene.ids.get(role.id);
    return admitted !== undefined && isAdmitted(leader, { ...admitted, id: role.id });
  }
}

/** By what they know of the set, and then by what they have. */
function isEarlier(one: SimCluster, other: SimCluster): boolean {
  const [a, b] = [epochOf(one), epochOf(other)];
  if (isOlder(a, b) || isOlder(b, a)) return isOlder(a, b);
  return one.unsealed.store.index < other.unsealed.store.index;
}
