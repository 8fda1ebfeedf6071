// Known bugs of replication, kept where the simulator makes the parts of a cluster: around its disk, its store and its port.
// Production code has none of them. A walk that never finds one proves nothing.

import { Followers } from "../../src/barrier/followers.ts";
import type { Peer } from "../../src/cluster/verify.ts";
import type { Served } from "@holdfast/shared/grpc/method";
import { bootstrap, getKeys } from "../../src/replication/joining/calls.ts";
import {
  beginDiff,
  type CopiedChunk,
  copyScope,
  streamLog,
  withheld,
} from "../../src/replication/stream/messages.ts";
import { SharedLog } from "../../src/replication/sending/shared-log.ts";
import { pagesNow, readChunk } from "../../src/replication/sending/reading-rows.ts";
import type { Batch } from "../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../src/storage/engines/memory.ts";
import { copyBatch } from "../../src/storage/engines/memory-rows.ts";
import { chainEntry, decodeEntry, encodeEntry } from "../../src/storage/rows/log-entry.ts";
import { type CommittedEntry, Store } from "../../src/storage/store.ts";
import { EngineBehind } from "../stores/engine-behind.ts";
import { MILLISECOND, type SimWorld } from "../world.ts";
import type { ClusterPlant, Running } from "./cluster.ts";
import { type EngineWorld, latencyOf, type PowerDisk, PowerEngine } from "./disk.ts";
import type { PortWatch } from "./network.ts";

export interface PlantedWalk {
  readonly summary: string;
  readonly cluster: () => ClusterPlant;
  /** Of which walks it is found. Default: those of disaster recovery. */
  readonly kind?: "performance" | "both";
  /** Steps that lead to it, as often as this. Default: as in any walk. */
  readonly often?: Readonly<Record<string, number>>;
}

export const CLUSTER_PLANTS: Readonly<Record<string, PlantedWalk>> = {
  "early-ack": {
    summary: "a secondary acknowledges what is not durable yet",
    cluster: () => ({ engine: (disk, at, follows) => new EarlyEngine(disk, at, follows) }),
  },
  "no-chain-check": {
    summary: "a secondary applies what does not continue its log",
    cluster: () => ({ store: (options) => new Unchained(options) }),
  },
  "cursor-apart": {
    summary: "a secondary writes down how far it is before the rows",
    cluster: () => ({ engine: (disk, at, follows) => new CursorFirst(disk, at, follows) }),
  },
  "trim-past-pin": {
    summary: "the log is trimmed although somebody takes over rows and will need it",
    often: { trim: 25, join: 8, update: 8, slow: 5 },
    cluster: () => ({ retention: () => ({ minEntries: 0n }) }),
  },
  "rewind-without-token": {
    summary: "a secondary that has more than its primary gives it up by itself",
    cluster: () => ({
      port: () => ({
        greet: (greet) => async (hello, peer) => {
          const answer = await greet(hello, peer);
          const kind = answer.decision?.kind;
          if (kind !== "rewind" && kind !== "refuse") return answer;
          return { ...answer, decision: { ...answer.decision!, kind: "diff" } };
        },
      }),
    }),
  },
  "equal-epochs": {
    summary: "an epoch is a number, and nobody knows whose",
    often: { both: 10, join: 8 },
    cluster: () => ({ clusterId: "00000000-0000-4000-8000-00000000000a" }),
  },
  "fence-lets-expire": {
    summary: "a fenced primary goes on ending leases",
    cluster: () => ({ keepsEnding: true }),
  },
  "anchor-after-reading": {
    summary:
      "a first copy reads the rows, and later the place in the log that they are said to be of",
    often: { join: 8 },
    cluster: () => ({ port: (running, world) => readsFirst(running, world) }),
  },
  "hashes-before-anchor": {
    summary:
      "a comparison reads the hashes first, and later the place in the log that they are said to be of",
    often: { trim: 15, update: 10, revoke: 5, power: 4 },
    cluster: () => ({
      port: (running, world) => ({
        serve: on(beginDiff.path, (served) => ({
          ...served,
          async *run(requests, call) {
            const store = running()?.store;
            const pages =
              store === undefined || store.locked ? null : pagesNow((slot) => store.trees.of(slot));
            await world.sleep(LATER, running()?.life ?? null);
            for await (const message of served.run(requests, call)) {
              const answer = beginDiff.response.decode(message);
              const old = pages !== null && answer.pages.length > 0 ? pages : answer.pages;
              yield beginDiff.response.encode({ ...answer, pages: old });
            }
          },
        })),
      }),
    }),
  },
  "old-keys": {
    summary: "a member is sent the keys that it was sent before, whatever was rotated since",
    often: { rotate: 10, trim: 15, cut: 5, power: 4 },
    cluster: () => {
      const sent = new Map<string, Uint8Array>();
      return {
        port: () => ({
          serve: (served) => {
            if (served.shape.path !== getKeys.path && served.shape.path !== bootstrap.path) {
              return served;
            }
            return {
              ...served,
              async *run(requests, call) {
                for await (const answer of served.run(requests, call)) {
                  const known = sent.get(call.peer.serial) ?? answer;
                  sent.set(call.peer.serial, known);
                  yield known;
                }
              },
            };
          },
        }),
      };
    },
  },
  "revoked-goes-on": {
    summary: "a certificate that is revoked is still good on a session that was open",
    often: { revoke: 8, recover: 6, join: 6 },
    cluster: () => ({ port: () => ({ revokes: false }) }),
  },
  "stale-reads": {
    summary: "what a secondary has read once it goes on reading, whatever its primary writes",
    cluster: () => ({ store: (options) => new StaleAbove(options) }),
  },
  "outside-forgotten": {
    summary: "a cluster that gives up entries tells nobody what they have made outside",
    often: { lease: 20, force: 4, partition: 4 },
    cluster: () => ({ forgetsOutside: true }),
  },
  "delete-unfollowed": {
    summary: "a performance secondary removes a record, and leaves what hangs on it",
    kind: "performance",
    cluster: () => ({ followers: (shared, all) => new Unfollowed(shared, all) }),
  },
  "filter-after-waking": {
    summary:
      "a secondary that was away is sent what it has missed, and only then is it looked up what is withheld from it",
    kind: "both",
    often: { filter: 16, away: 8, place: 40, cut: 6 },
    cluster: () => ({ port: (running) => filtersLate(running) }),
  },
};

const LATER = 300 * MILLISECOND;

/** All rows are read before the head is, and are sent as they were then. */
function readsFirst(running: () => Running | null, world: SimWorld): PortWatch {
  const read = new Map<string, CopiedChunk>(); // by the key that each follows
  return {
    serve: (served) => {
      const { path } = served.shape;
      if (path === beginDiff.path) {
        return {
          ...served,
          async *run(requests, call) {
            const store = running()?.store;
            read.clear();
            for (let after: string | null = ""; store !== undefined && after !== null;) {
              const chunk: CopiedChunk = readChunk(store, after);
              read.set(after, chunk);
              after = chunk.isDone ? null : chunk.rows.at(-1)!.key;
            }
            await world.sleep(LATER, running()?.life ?? null);
            yield* served.run(requests, call);
          },
        };
      }
      if (path !== copyScope.path) return served;
      return {
        ...served,
        async *run(requests, call) {
          let after = "";
          const heard = async function* () {
            for await (const message of requests) {
              ({ after } = copyScope.request.decode(message));
              yield message;
            }
          };
          for await (const answer of served.run(heard(), call)) {
            const old = read.get(after);
            yield old === undefined ? answer : copyScope.response.encode(old);
          }
        },
      };
    },
  };
}

/** Who goes on where it was hears that its filter is the one of before, until it has what was written meanwhile. */
function filtersLate(running: () => Running | null): PortWatch {
  const waking = new Set<string>(); // ids
  return {
    greet: (greet) => async (hello, peer) => {
      const answer = await greet(hello, peer);
      if (answer.decision?.kind === "resume") waking.add(peer.id);
      else waking.delete(peer.id);
      return answer;
    },
    serve: (served, { kind }) => {
      if (kind !== "performance") return served;
      if (served.shape.path === withheld.path) {
        return {
          ...served,
          async *run(requests, call) {
            const heard: Uint8Array[] = [];
            for await (const message of requests) heard.push(message);
            const { version } = withheld.request.decode(heard[0]!);
            const isKept = waking.has(call.peer.id);
            const same = { version, isSame: true, mounts: [], namespaces: [] };
            if (isKept) yield withheld.response.encode(same);
            else yield* served.run(from(heard), call);
          },
        };
      }
      if (served.shape.path !== streamLog.path) return served;
      return {
        ...served,
        async *run(requests, call) {
          const store = running()?.store;
          const isWaking = waking.delete(call.peer.id);
          let first: Uint8Array | null = null;
          const heard = async function* () {
            for await (const message of requests) {
              first ??= message;
              yield message;
            }
          };
          for await (const answer of served.run(heard(), call)) {
            const isFiltered = streamLog.response.decode(answer).isFiltered;
            const start = first === null ? null : streamLog.request.decode(first).start;
            const cursor = start?.cursor ?? null;
            if (isWaking && isFiltered && cursor !== null && store !== undefined) {
              const missed = store.logs(cursor.index + 1n, 64).map(({ entry }) => entry);
              const all = missed.length === 0 ? null : new SharedLog(cursor.index).take(missed);
              if (all !== null) yield streamLog.response.encode(all);
            }
            yield answer;
          }
        },
      };
    },
  };
}

async function* from(messages: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* messages;
}

/** For one method alone. */
function on(path: string, change: (served: Served<Peer>) => Served<Peer>) {
  return (served: Served<Peer>) => (served.shape.path === path ? change(served) : served);
}

/** Nothing follows from the end of a record. */
class Unfollowed extends Followers {
  override apply(...[raw, row]: Parameters<Followers["apply"]>): void {
    if (row.value === null) raw.delete(row.key, row.scope);
    else super.apply(raw, row);
  }
}

/** Whatever comes is made to fit. */
class Unchained extends Store {
  override apply(group: readonly CommittedEntry[], head: Uint8Array | null = null): Promise<void> {
    let before = this.head!.chain;
    const fitted = group.map(({ entry: bytes, leaves }) => {
      const { epoch, index, time, operations, control } = decodeEntry(bytes);
      const entry = chainEntry({ epoch, index, time, operations, control }, before);
      before = entry.chain;
      return { entry: encodeEntry(entry), leaves };
    });
    return super.apply(fitted, head);
  }
}

/** While it follows, whoever keeps values in memory is not told that they are others now. */
class StaleAbove extends Store {
  #listeners = 0;

  override onCommit(call: Parameters<Store["onCommit"]>[0]): () => void {
    const isFirst = this.#listeners++ === 0; // the barrier
    if (!isFirst) return super.onCommit(call);
    return super.onCommit((changed) => {
      const isOwn = ([key]: readonly [string, unknown]) =>
        !this.following || !key.startsWith("shared/sim/");
      call(new Map([...changed].filter(isOwn)));
    });
  }
}

/** While it follows, a commit is answered before it is on the disk. */
class EarlyEngine extends EngineBehind {
  readonly #disk: PowerDisk;
  readonly #at: EngineWorld;
  readonly #follows: () => boolean;
  #last: Promise<void> = Promise.resolve();

  constructor(disk: PowerDisk, at: EngineWorld, follows: () => boolean) {
    super(new MemoryEngine(new MemoryDisk(disk.rows.copy())));
    this.#disk = disk;
    this.#at = at;
    this.#follows = follows;
  }

  override async commit(batch: Batch): Promise<void> {
    const { world, life, prng } = this.#at;
    if (life.ended) return await new Promise(() => {});
    const own = copyBatch(batch);
    this.#disk.pending.push(own);
    const arrived = this.#last.then(async () => {
      await world.sleep(latencyOf(prng), life);
      this.#disk.pending.splice(this.#disk.pending.indexOf(own), 1);
      this.#disk.rows.apply(own);
    });
    this.#last = arrived;
    if (!this.#follows()) await arrived;
    else await world.sleep(0, life);
    await super.commit(own);
  }
}

/** While it follows, head and log come to the disk before the rows. */
class CursorFirst extends PowerEngine {
  readonly #follows: () => boolean;

  constructor(disk: PowerDisk, at: EngineWorld, follows: () => boolean) {
    super(disk, at);
    this.#follows = follows;
  }

  override async commit(batch: Batch): Promise<void> {
    if (!this.#follows() || batch.log.length === 0) return await super.commit(batch);
    await super.commit({ ...batch, data: [], leaves: [], sums: [] });
    const head = batch.meta.find(({ name }) => name === batch.expect.name);
    const expect = head === undefined ? batch.expect : { name: head.name, value: head.value };
    const none = { log: [], cutLogAbove: null, trimLogBelow: null, meta: [] };
    await super.commit({ ...batch, ...none, expect });
  }
}
