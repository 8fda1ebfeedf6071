// One seed of a performance set: a primary that writes what is shared, one or two members that have data of their own beside it, and
// everything that goes wrong between and under them. Now and then all is brought to rest: there every member holds the shared rows of the
// primary, the rows that follow from them, and all of its own.

import { equalBytes } from "@holdfast/shared/bytes";
import { isWhole } from "../../../src/replication/applied/how-far.ts";
import type { Store } from "../../../src/storage/store.ts";
import type { Prng } from "../../prng.ts";
import { Violation } from "../../state.ts";
import type { SimCluster } from "../cluster.ts";
import { allEnds, allWell, FAULTS, isFault, strike, weighed } from "../faults.ts";
import { assertRows } from "../ledger.ts";
import { isRefusal, type Scene } from "../scene.ts";

/** How often each is taken, against the others. */
const STEPS = [
  ["write", 22],
  ["record", 26],
  ["own", 26],
  ["lease", 4],
  ["trim", 5],
  ["join", 6],
  ["update", 2],
  ["revoke", 1],
  ["rotate", 1.5],
  ["reindex", 1],
  ...FAULTS,
] as const;
type StepName = (typeof STEPS)[number][0];

const ALL = { limit: Number.MAX_SAFE_INTEGER };
const WRITES = 12;
const ROUNDS = 12;

export class RegionActions {
  readonly #scene: Scene;
  readonly #weights: readonly (readonly [StepName, number])[];

  constructor(scene: Scene, often: Readonly<Record<string, number>>) {
    this.#scene = scene;
    this.#weights = STEPS.map(([name, weight]) => [name, often[name] ?? weight]);
  }

  step(number: number, prng: Prng): void {
    const scene = this.#scene;
    const name = weighed(this.#weights, prng);
    if (name === null) return;
    scene.trace.add(`step ${number}: ${name}`);
    scene.count(name);
    this.#act(name, prng);
  }

  #act(name: StepName, prng: Prng): void {
    const scene = this.#scene;
    const { clusters } = scene;
    const cluster = prng.pick(clusters);
    const [primary, ...members] = clusters as [SimCluster, ...SimCluster[]];
    if (isFault(name)) return strike(scene, cluster, name, prng);
    switch (name) {
      case "write":
        for (let i = prng.int(3); i >= 0; i--) scene.write(primary, prng);
        return;
      case "record":
        for (let i = prng.int(3); i >= 0; i--) scene.record(primary, prng);
        return;
      case "own":
        for (const one of clusters) scene.writeOwn(one, prng);
        return;
      case "lease":
        if (primary.isPrimary) scene.lease(primary, prng);
        return;
      case "trim":
        return scene.begin(`trim of ${cluster.name}`, [cluster], () =>
          cluster.trim(prng.fork("trim")),
        );
      case "join": {
        const free = members.filter(({ role }) => role?.mode === "disabled");
        if (free.length > 0 && primary.isPrimary) this.join(prng.pick(free));
        return;
      }
      case "update": {
        const joined = members.filter(({ role }) => role?.mode === "secondary");
        if (joined.length > 0 && primary.isPrimary) this.update(prng.pick(joined));
        return;
      }
      case "revoke":
        return scene.begin(`revocation at ${primary.name}`, [primary], async () => {
          const { known } = await primary.unsealed.replication.primary();
          const [id] = known;
          if (id === undefined) return;
          await primary.unsealed.admission.revoke(id);
          scene.count("revoked");
        });
      case "rotate":
        return scene.begin(`rotation of ${primary.name}`, [primary], async () => {
          if (primary.leads) await primary.unsealed.barrier.rotate();
        });
      case "reindex":
        return scene.begin(`reindex of ${cluster.name}`, [cluster], async () => {
          if (cluster.role?.mode === "disabled") return;
          await cluster.unsealed.replication.trees.reindex({ force: true, diff: false });
        });
    }
  }

  join(cluster: SimCluster): void {
    const scene = this.#scene;
    const [primary] = scene.clusters as [SimCluster];
    scene.begin(`join of ${cluster.name} to ${primary.name}`, [cluster, primary], async () => {
      await cluster.join(primary, scene.newId(cluster, primary));
    });
  }

  update(cluster: SimCluster): void {
    const scene = this.#scene;
    const [primary] = scene.clusters as [SimCluster];
    scene.begin(`update of ${cluster.name} to ${primary.name}`, [cluster, primary], async () => {
      await cluster.follow(primary, scene.newId(cluster, primary));
    });
  }

  /** Everything is healed, everybody is a member, and holds what it should. */
  async rest(prng: Prng): Promise<void> {
    const scene = this.#scene;
    const { clusters } = scene;
    scene.trace.add("rest");
    await allWell(scene);
    const [primary, ...members] = clusters as [SimCluster, ...SimCluster[]];
    await this.#together(primary, members);
    for (let i = 0; i < WRITES; i++) {
      scene.record(primary, prng);
      for (const one of clusters) scene.writeOwn(one, prng);
      await scene.sleep(prng.int(150));
    }
    await allEnds(scene, "writes end");
    const isThere = ({ running }: SimCluster) => running?.replication.changing === false;
    const isLeft = (one: SimCluster) => !isSame(one.unsealed.store, primary.unsealed.store);
    await scene.until(`all have what ${primary.name} has`, () =>
      members.every((one) => isThere(one) && isCopied(one) && !isLeft(one)),
    );
    for (const one of clusters) this.#check(one, primary);
    scene.count("rests");
    for (const one of clusters) {
      const { index } = one.seen.spot!;
      scene.trace.add(`at rest: ${one.name} ${index} ${one.unsealed.records.text}`);
    }
  }

  async #together(primary: SimCluster, members: readonly SimCluster[]): Promise<void> {
    const scene = this.#scene;
    for (let round = 0; round < ROUNDS; round++) {
      const { known } = await primary.unsealed.replication.primary();
      const astray = members.filter(
        ({ role }) => role?.mode !== "secondary" || !known.includes(role.id),
      );
      if (astray.length === 0) return;
      for (const one of astray) {
        const id = scene.newId(one, primary);
        scene.trace.add(`rest: ${one.name} comes back`);
        try {
          await this.#revoke(primary, one);
          if (one.role?.mode === "secondary") await one.follow(primary, id);
          else await one.join(primary, id);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          scene.trace.add(`it is refused: ${error instanceof Error ? error.message : ""}`);
          await scene.sleep(5000);
        }
      }
    }
    throw new Violation(`the clusters do not come together: ${scene.describe()}`);
  }

  /** As whom it was known before, and proves no more to be. */
  async #revoke(primary: SimCluster, one: SimCluster): Promise<void> {
    const { admission, replication } = primary.unsealed;
    const { known } = await replication.primary();
    for (const id of known) {
      if (this.#scene.ids.get(id)?.cluster === one) await admission.revoke(id);
    }
  }

  #check(one: SimCluster, primary: SimCluster): void {
    const { ledger } = this.#scene;
    const { name, seen } = one;
    const { store, records } = one.unsealed;
    assertRows(name, store, ledger.rowsAt(seen.spot!));
    assertSameShared(name, store, primary.unsealed.store);
    records.check(name);
    const lost = ledger.answered.find(
      (answer) =>
        answer.by === name &&
        (answer.log ?? 0) === one.logs &&
        !ledger.isBefore(answer, seen.spot!),
    );
    if (lost === undefined) return;
    throw new Violation(`entry ${lost.index} of ${name} was answered, and is nowhere`);
  }
}

function isCopied({ role, unsealed }: SimCluster): boolean {
  const { barrier } = unsealed;
  const below = "replication/performance/";
  const views = { own: barrier.view(`core/${below}`), view: barrier.view(`local/${below}`) };
  return role?.mode === "secondary" && role.copied && isWhole(views);
}

function isSame(one: Store, other: Store): boolean {
  const [a, b] = [one.head!.shared, other.head!.shared];
  return a.count === b.count && equalBytes(a.sum, b.sum);
}

function assertSameShared(name: string, here: Store, there: Store): void {
  const rows = new Map(there.rows("shared/", ALL).map(({ key, value }) => [key, value]));
  const own = here.rows("shared/", ALL);
  const wrong = own.find(({ key, value }) => {
    const right = rows.get(key);
    return right === undefined || !equalBytes(right, value);
  });
  if (wrong === undefined && own.length === rows.size) return;
  throw new Violation(
    `${name} holds ${own.length} shared rows of ${rows.size}: ${wrong?.key ?? ""}`,
  );
}
