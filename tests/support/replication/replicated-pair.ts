// A primary and a secondary, each with a store of its own on a disk that outlives it, and between them a link in
// memory that can be late, lose its order among streams, and be cut. Power fails on either side whenever a test says so.

import assert from "node:assert/strict";
import type { Followers } from "../../../src/barrier/followers.ts";
import type { Hello } from "../../../src/cluster/hello.ts";
import type { AppliedParts } from "../../../src/replication/applied/applied-log.ts";
import type { MemberFilters } from "../../../src/replication/filters/filters.ts";
import type { WithheldHere } from "../../../src/replication/filters/withheld-here.ts";
import { MemoryCarrier, type Way } from "../../../src/cluster/memory-carrier.ts";
import { CarriedLink, type PeerLink } from "../../../src/cluster/peer-link.ts";
import type { ReplicationKind } from "../../../src/cluster/names.ts";
import type { Peer } from "../../../src/cluster/verify.ts";
import { type Served, serviceTable, type ServiceTable } from "@holdfast/shared/grpc/method";
import {
  logReceiver,
  type Receiver,
  sharedReceiver,
} from "../../../src/replication/stream/receiver.ts";
import type { ReceiverPorts } from "../../../src/replication/stream/receiving.ts";
import { Sender, type SenderPorts } from "../../../src/replication/stream/sender.ts";
import { storeLocked } from "../../../src/storage/failures.ts";
import { EngineError, type Limits } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import { sameTotal } from "../../../src/storage/rows/head.ts";
import { Store, type Surplus } from "../../../src/storage/store.ts";
import { type FakeWorld, fakeWorld, nextTurn } from "../fake-world.ts";
import { TREE_KEY } from "../made/made-store.ts";
import { assertSameRows } from "../stores/followed-store.ts";
import { WatchedEngine } from "../stores/watched-engine.ts";
import { assertSameShared, FOLLOWERS, rawPlaces } from "./shared-side.ts";

export const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const MARK = "core/replication/mark";
const SECOND = 1_000_000_000n;

/** What is on a disk now, for one that goes on from there. */
export function diskAsOf({ rows }: MemoryDisk): MemoryDisk {
  return new MemoryDisk(rows.copy());
}

/** A store on a disk, and the disk without it. */
export class TestNode {
  readonly world: FakeWorld;
  readonly disk: MemoryDisk;
  engine!: WatchedEngine;
  store!: Store;
  /** Of every engine that comes: how the disk is. */
  turns = 0;
  limits: Limits | null = null;

  constructor(world: FakeWorld, disk = new MemoryDisk()) {
    this.world = world;
    this.disk = disk;
    this.power();
  }

  /** The process begins, with whatever lies on the disk. */
  power(): void {
    this.engine = new WatchedEngine(new MemoryEngine(this.disk));
    this.engine.turns = this.turns;
    this.engine.limits = this.limits ?? this.engine.limits;
    this.store = new Store({ engine: this.engine, ...this.world });
  }

  /** The process is gone: what is on its way to the disk may have come there or not. */
  async crash(): Promise<void> {
    this.engine.failCommit = new EngineError("the power failed");
    this.engine.failReads = true;
    await this.engine.close();
    await nextTurn();
  }
}

/** What a primary does in the place of one of its methods; `real` is what it would do. */
export type Instead = (real: Served<Peer>) => Served<Peer>;

export interface PairOptions {
  /** Default: the secondary stands in for the primary. */
  readonly kind?: ReplicationKind;
  readonly way?: Partial<Way>;
  readonly sender?: Partial<SenderPorts>;
  readonly receiver?: Partial<ReceiverPorts>;
  /** Of a secondary that is sent shared rows alone. Default: every row has one that follows from it. */
  readonly followers?: Pick<Followers, "apply">;
  /** Of the same: how much of a comparison is kept until all of it is here. Default: as usual. */
  readonly stagedBytes?: number;
  /** Of the same: what it is not sent, at the primary, and as it knows it. Default: nothing is withheld. */
  readonly filters?: (pair: ReplicatedPair) => MemberFilters;
  readonly withheld?: (pair: ReplicatedPair) => WithheldHere;
  /** Of the same: what it has written of what is shared, while it led. Default: nothing. */
  readonly surplus?: AppliedParts["surplus"];
  /** How far the primary's clock is ahead. */
  readonly ahead?: bigint;
}

export class ReplicatedPair {
  readonly world = fakeWorld();
  primary: TestNode;
  readonly secondary: TestNode;
  sender!: Sender;
  receiver!: Receiver;
  /** Where the primary is reached: several, so that one can be wrong. */
  addresses: string[] = ["primary"];
  epoch = { primary: 1, secondary: 1 };
  keysVersion = { primary: "1", secondary: "1" };
  known: string[] = ["paris"];
  revoked = false;
  mayRewind = false;
  readonly hellos: Hello[] = [];
  readonly superseded: number[] = [];
  readonly givenUp: Surplus[] = [];
  /** By the name of the method. */
  readonly instead = new Map<string, Instead>();
  /** How often each method was called. */
  readonly calls = new Map<string, number>();
  readonly #options: PairOptions;
  #carriers = new Set<MemoryCarrier>();

  private constructor(options: PairOptions) {
    this.#options = options;
    this.primary = new TestNode(this.world);
    this.secondary = new TestNode(this.world);
  }

  /** The secondary is empty, and has a lineage of its own. Neither side speaks yet. */
  static async make(options: PairOptions = {}): Promise<ReplicatedPair> {
    const pair = new ReplicatedPair(options);
    const { primary, secondary } = pair;
    const lineage = (byte: number) => Buffer.alloc(16, byte);
    await primary.store.create(TREE_KEY, { lineage: lineage(3), cluster: "a" }, () => {});
    await secondary.store.create(TREE_KEY, { lineage: lineage(9), cluster: "b" }, () => {});
    await pair.#begin();
    pair.serve();
    pair.receive();
    return pair;
  }

  get kind(): ReplicationKind {
    return this.#options.kind ?? "dr";
  }

  /** What the store of the secondary is before it is unlocked. */
  async #begin(): Promise<void> {
    const { store } = this.secondary;
    if (this.kind === "dr") await store.follow();
    else store.leaveShared(true);
  }

  /** The secondary has everything and then leads by itself: what it writes there nobody else has. Neither side speaks after that. */
  async parted(write: (store: Store) => Promise<unknown>): Promise<void> {
    this.receiver.open();
    await this.atRest();
    await this.receiver.close();
    const { store } = this.secondary;
    await store.lead();
    await store.startEpoch("b");
    await write(store);
    await store.follow();
  }

  serve(): void {
    const { clock } = this.world;
    const { ahead = 0n, filters } = this.#options;
    this.sender = new Sender({
      kind: this.kind,
      ...(filters === undefined ? {} : { filters: filters(this) }),
      store: this.primary.store,
      ...this.world,
      clock: { now: () => clock.now() + ahead, elapsed: () => clock.elapsed() },
      ports: this.#sending(),
    });
  }

  receive(): void {
    const { store } = this.secondary;
    const { followers = FOLLOWERS, stagedBytes, withheld, surplus } = this.#options;
    const staged = {
      ...(stagedBytes === undefined ? {} : { stagedBytes }),
      ...(withheld === undefined ? {} : { withheld: withheld(this) }),
      ...(surplus === undefined ? {} : { surplus }),
    };
    const parts = { store, ...this.world, ports: this.#receiving(store) };
    this.receiver =
      this.kind === "dr"
        ? logReceiver(parts)
        : sharedReceiver({ ...parts, followers, places: rawPlaces(store), ...staged });
  }

  #sending(): SenderPorts {
    return {
      epoch: () => this.epoch.primary,
      epochFirst: () => "1",
      epochProof: () => Buffer.from("proof"),
      keysVersion: () => this.keysVersion.primary,
      clusterId: "0b8e2f3e-0000-4000-8000-00000000000a",
      version: "0.1.0",
      apiAddress: () => "https://a:8200",
      clusterAddresses: () => ["https://a:8201"],
      isKnown: (id) => this.known.includes(id),
      known: () => this.known,
      joined: () => this.known,
      confirm: async (hello) => void this.hellos.push(hello),
      superseded: (epoch) => void this.superseded.push(epoch),
      ...this.#options.sender,
    };
  }

  #receiving(store: Store): ReceiverPorts {
    return {
      open: (address) => this.link(address),
      addresses: () => this.addresses,
      self: () => ({
        clusterId: "0b8e2f3e-0000-4000-8000-00000000000b",
        version: "0.1.0",
        apiAddress: "https://b:8200",
        clusterAddresses: ["https://b:8201"],
      }),
      epoch: () => this.epoch.secondary,
      accept: async ({ epoch }) => {
        this.epoch.secondary = epoch;
      },
      keys: async () => {
        this.keysVersion.secondary = this.keysVersion.primary;
      },
      keysVersion: () => this.keysVersion.secondary,
      encryptions: () => 7n,
      marks: {
        read: () => {
          const bytes = store.get(MARK);
          return bytes === null ? null : BigInt(Buffer.from(bytes).toString());
        },
        write: async (index) => {
          if (store.locked) throw storeLocked(); // it is sealed, where there is a barrier
          await store.write((tx) =>
            index === null ? tx.delete(MARK) : tx.put(MARK, Buffer.from(String(index))),
          );
        },
      },
      mayRewind: () => this.mayRewind,
      giveUp: async (surplus) => void this.givenUp.push(surplus),
      rewound: async () => {
        this.mayRewind = false;
      },
      ended: async () => {},
      learned: () => {},
      ...this.#options.receiver,
    };
  }

  /** A link to whoever serves now. */
  link(address: string, id = "paris"): PeerLink {
    const peer: Peer = {
      ...SET,
      kind: this.kind,
      id,
      serial: "4a",
      expires: this.world.clock.now() + 10n ** 18n,
    };
    const way: Way = {
      connect: async () => {
        if (address !== "primary") throw new Error("there is nobody");
      },
      pass: async () => {},
      ...this.#options.way,
    };
    const set = { table: this.#table(), greet: this.sender.greet, isRevoked: () => this.revoked };
    const carrier = new MemoryCarrier(set, peer, this.world, way);
    this.#carriers.add(carrier);
    return new CarriedLink(carrier, peer);
  }

  #table(): ServiceTable<Peer> {
    const served = Array.from(this.sender.table.values(), (real): Served<Peer> => {
      const name = real.shape.path.split("/").at(-1)!;
      const counted: Served<Peer> = {
        shape: real.shape,
        run: (requests, call) => {
          this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
          return real.run(requests, call);
        },
      };
      return this.instead.get(name)?.(counted) ?? counted;
    });
    return serviceTable(served);
  }

  cut(): void {
    for (const carrier of this.#carriers) carrier.cut();
    this.#carriers.clear();
  }

  async crashSecondary(): Promise<void> {
    const gone = this.receiver;
    await this.secondary.crash();
    await gone.close();
    this.secondary.power();
    await this.#begin();
    this.secondary.store.unlock(TREE_KEY);
    this.receive();
    this.receiver.open();
  }

  async crashPrimary(): Promise<void> {
    await this.#primaryGone();
    this.primary.power();
    this.primary.store.unlock(TREE_KEY);
    this.serve();
  }

  /** One that has what a disk of the primary had at some time takes its place, and writes on as this cluster. */
  async replacePrimary(disk: MemoryDisk, cluster: string): Promise<void> {
    await this.#primaryGone();
    this.primary = new TestNode(this.world, disk);
    const { store } = this.primary;
    store.unlock(TREE_KEY);
    await store.startEpoch(cluster);
    this.epoch.primary++;
    this.serve();
  }

  async #primaryGone(): Promise<void> {
    const gone = this.sender;
    await this.primary.crash();
    this.cut();
    void gone.close("gone");
  }

  put(key: string, value = "1", scope = 0): Promise<void> {
    return this.primary.store.write((tx) =>
      tx.put(key, Buffer.from(value), Buffer.alloc(16, scope)),
    );
  }

  /** Time passes until both hold the same and say so. */
  async atRest(): Promise<void> {
    for (let i = 0; i < 200; i++) {
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      if (this.isAtRest) break;
      await this.world.timers.advance(SECOND);
    }
    const { status } = this.receiver;
    assert.ok(
      this.isAtRest,
      `${JSON.stringify(status, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))}`,
    );
    if (this.kind === "performance") {
      return assertSameShared(this.secondary.engine, this.primary.engine);
    }
    assertSameRows(this.secondary.engine, this.primary.engine);
    assert.deepEqual(this.secondary.store.differsFrom(this.primary.store.headBytes!), []);
  }

  get isAtRest(): boolean {
    const { state, isConsistent, lastSyncError } = this.receiver.status;
    const { store } = this.secondary;
    const { index, head, headBytes } = this.primary.store;
    const [member] = this.sender.members();
    const isFollowing = state === "stream-wals" && isConsistent && lastSyncError === null;
    if (!isFollowing || member?.acknowledged !== index) return false;
    if (this.kind === "performance") return sameTotal(store.head!.shared, head!.shared);
    return store.index === index && store.differsFrom(headBytes!).length === 0;
  }

  async close(): Promise<void> {
    await this.receiver.close();
    void this.sender.close("the test is over");
  }
}
