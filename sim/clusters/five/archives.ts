// Snapshots of simulated clusters, and their restores: the rows of a store at one index, and production code that puts them in the place of
// what is there. The bytes of an archive are another test's business.

import type { KeyObject } from "node:crypto";
import { fromHex } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { keepThroughRestore } from "../../../src/replication/cascades/through-restore.ts";
import { notOnSecondary } from "../../../src/snapshots/restore/failures.ts";
import type { ReceivedArchive } from "../../../src/snapshots/restore/receiving.ts";
import type { RestoreBook } from "../../../src/snapshots/restore/restore-book.ts";
import { type DataViews, restoredData } from "../../../src/snapshots/restore/restored-data.ts";
import type { StateRecord } from "../../../src/snapshots/archive/state.ts";
import type { ScopeRow } from "../../../src/storage/engines/engine.ts";
import { decodeHead } from "../../../src/storage/rows/head.ts";
import type { Store } from "../../../src/storage/store.ts";
import type { Prng } from "../../prng.ts";
import { SimRandom } from "../../world.ts";
import type { SimCluster } from "../cluster.ts";
import type { Scene } from "../scene.ts";

const LEASES = "sim/leases/"; // below local/
const ALL = { limit: 100_000 };
const PAGE = 512;
const KEPT = 6;

interface Archive {
  readonly treeKey: KeyObject;
  readonly headRow: Uint8Array;
  readonly rows: readonly StateRecord[];
}

export class Archives {
  readonly #scene: Scene;
  readonly #kept: Archive[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  take(cluster: SimCluster): void {
    const { running } = cluster;
    if (running === null || !cluster.writesShared || running.store.locked) return;
    const { store, barrier } = running;
    this.#kept.push({
      treeKey: barrier.handOver().treeKey,
      headRow: store.headBytes!,
      rows: rowsOf(store),
    });
    if (this.#kept.length > KEPT) this.#kept.shift();
  }

  /** One that was made under its keys, by whomever of its set. */
  restore(cluster: SimCluster, prng: Prng): void {
    const scene = this.#scene;
    const { running, life } = cluster;
    if (running === null || life === null || !cluster.writesShared) return;
    const { barrier, store, timers, kinds } = running;
    const { treeKey } = barrier.handOver();
    const able = this.#kept.filter((one) => one.treeKey.equals(treeKey));
    if (able.length === 0) return;
    const archive = prng.pick(able);
    const own = prng.fork(`restore ${scene.ledger.size}`);
    scene.begin(`restore at ${cluster.name}`, [cluster], async () => {
      const clusterId = cluster.clusterId;
      const data = restoredData(receivedOf(archive, clusterId), treeKey, {
        store,
        barrier,
        clock: cluster.clock,
        timers,
        random: new SimRandom(own.fork("random")),
        log: QUIET,
        clusterId: () => clusterId,
        adopt,
        keep: (from, to) => keepThroughRestore(from.local, to.local),
        unknown: () => [],
        carried: { rows: () => NOTHING, exchanged: () => null },
        book: BOOK,
        guard: () => {
          if (!store.following && !store.leavesShared && !kinds!.dr.changing) return;
          throw notOnSecondary();
        },
      });
      const { seen } = cluster;
      const before = seen.spot!;
      await cluster.exchange(data, life, own, () => {
        const { root } = scene.ledger.lineOf(seen.spot ?? before);
        scene.ended.add(root);
        const set = setOf(cluster); // it does not run at this moment, and others may be down
        for (const one of scene.clusters) {
          if (one === cluster || set === null || setOf(one) !== set) continue;
          one.seen.mayLeave.add(root); // its primary has another log
          one.reported = null;
        }
      });
    });
  }
}

const NOTHING = (async function* () {})();
const BOOK = { tell: () => {}, left: () => {} } as unknown as RestoreBook;
const quiet = () => {};
const QUIET = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => QUIET };

function setOf({ lastRole: role }: SimCluster): string | null {
  return role === null || role.mode === "disabled" ? null : role.set;
}

function rowsOf(store: Store): StateRecord[] {
  const view = store.view();
  try {
    const rows: StateRecord[] = [];
    for (let after: ScopeRow | null = null; ;) {
      const page: ScopeRow[] = view.scopes(after, PAGE);
      for (const { key, scope } of page) {
        rows.push({ key, scope: fromHex(scope)!, value: Uint8Array.from(view.get(key)!) });
      }
      after = page.at(-1) ?? null;
      if (page.length < PAGE) break;
    }
    return rows.toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  } finally {
    view.close();
  }
}

function receivedOf({ headRow, rows }: Archive, clusterId: string): ReceivedArchive {
  const archive = { headRow, head: decodeHead(headRow), meta: { id: "sim", clusterId } };
  return {
    archive: archive as unknown as ReceivedArchive["archive"],
    keys: { get: () => null },
    records: async function* () {
      yield rows;
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** What exists outside and is not known to the data that comes is ended there. */
async function adopt(from: DataViews, to: DataViews) {
  const keys = from.local.keys(LEASES, ALL);
  return await to.local.write((tx) => {
    const unknown = keys.filter((key) => tx.get(key, bytesCodec) === null);
    for (const key of unknown) tx.put(key, Buffer.from("0"), bytesCodec);
    return { adopted: unknown.length, left: 0 };
  });
}
