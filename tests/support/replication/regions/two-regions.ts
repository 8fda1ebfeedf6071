// Two whole servers in this process, one of which leaves shared data to the other: a link in memory carries requests,
// and every entry of the first is applied by the second, unless a test holds them back. The second has a store of its own,
// with the keys and the shared rows of the first.

import type { KeyObject } from "node:crypto";
import { alloc } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { MemoryCarrier, STRAIGHT, type Way } from "../../../../src/cluster/memory-carrier.ts";
import { CarriedLink } from "../../../../src/cluster/peer-link.ts";
import type { Peer } from "../../../../src/cluster/verify.ts";
import { PROTOCOL } from "../../../../src/cluster/hello.ts";
import { forwardServices } from "../../../../src/forwarding/answering.ts";
import { callsOver, type Primary } from "../../../../src/forwarding/primary.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { SystemClock } from "../../../../src/system/clock.ts";
import { SystemTimers } from "../../../../src/system/timers.ts";
import { MemoryDisk, MemoryEngine } from "../../../../src/storage/engines/memory.ts";
import { decodeEntry, type LogEntry } from "../../../../src/storage/rows/log-entry.ts";
import { Store } from "../../../../src/storage/store.ts";
import { fakeWorld } from "../../fake-world.ts";
import {
  type Opened,
  startPlainServer,
  type TestServer,
  type TestServerOptions,
} from "../../servers/test-server.ts";
import type { Ends } from "../../servers/started-server.ts";
import { elsewhere } from "../../stores/witnessed-writes.ts";

export const MEMBER = "region-b";
/** A bug that runs of many tests must find. */
const PLANT = process.env["HOLDFAST_TESTS_PLANT"];
const ALL = { from: "", to: null, limit: Infinity };
export const PEER: Peer = {
  set: "11111111-2222-4333-8444-555555555555",
  kind: "performance",
  id: MEMBER,
  serial: "01",
  expires: 10_000_000_000n * SECOND,
};

/** What the second region has of the first. */
class FirstRegion implements Primary {
  readonly region = "a";
  readonly epoch = 1;
  applied = 0n;
  isTorn = false;
  isRunning = true;
  age: Nanos | null = 0n;
  lacksRoom = false;
  lastSuccess: Instant | null = null;
  lastError: Primary["lastError"] = null;
  /** How long somebody waited for what has not come: nobody does here for longer than a turn, where that is set. */
  waited: Nanos | null = null;
  hurries = false;
  readonly #calls: Pick<Primary, "call" | "takeUse" | "knows">;
  readonly #waiting = new Set<() => void>();

  constructor(calls: Pick<Primary, "call" | "takeUse" | "knows">) {
    this.#calls = calls;
  }

  call(...args: Parameters<Primary["call"]>): ReturnType<Primary["call"]> {
    return this.#calls.call(...args);
  }

  takeUse(...args: Parameters<Primary["takeUse"]>): ReturnType<Primary["takeUse"]> {
    return this.#calls.takeUse(...args);
  }

  knows(...args: Parameters<Primary["knows"]>): ReturnType<Primary["knows"]> {
    return this.#calls.knows(...args);
  }

  whole(): Promise<boolean> {
    return Promise.resolve(!this.isTorn);
  }

  reach(index: bigint): void {
    this.applied = index;
    this.lastSuccess = new SystemClock().now();
    for (const look of this.#waiting) look();
  }

  async appliedUpTo(index: bigint, within: Nanos, signal: AbortSignal): Promise<boolean> {
    if (this.applied >= index) return true;
    if (this.hurries) {
      this.waited = within;
      return false;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (this.applied >= index) resolve();
    };
    this.#waiting.add(look);
    signal.addEventListener("abort", () => resolve(), { once: true });
    const timer = new SystemTimers().after(within, resolve);
    await promise;
    timer.cancel();
    this.#waiting.delete(look);
    return this.applied >= index;
  }
}

export class TwoRegions {
  readonly a: TestServer;
  b: TestServer;
  /** Of the first token, which is global. */
  readonly root: string;
  readonly shares: readonly string[];
  readonly primary: FirstRegion;
  readonly #carrier: MemoryCarrier;
  readonly #link: CarriedLink;
  readonly #entries: LogEntry[];
  isAlone = false;
  #held = false;
  #applying: Promise<void> = Promise.resolve();

  constructor(
    servers: { readonly a: TestServer; readonly b: TestServer },
    { token, shares }: Opened,
    primary: FirstRegion,
    link: { readonly carrier: MemoryCarrier; readonly link: CarriedLink },
    entries: LogEntry[],
  ) {
    this.a = servers.a;
    this.b = servers.b;
    this.root = token;
    this.shares = shares;
    this.primary = primary;
    this.#carrier = link.carrier;
    this.#link = link.link;
    this.#entries = entries;
  }

  /** What the first has written does not come to the second, until `release`. */
  hold(): void {
    this.#held = true;
  }

  async release(): Promise<void> {
    this.#held = false;
    await this.apply();
  }

  /** Everything that there is now. */
  apply(): Promise<void> {
    if (this.#held) return this.#applying;
    this.#applying = this.#applying.then(() => this.#applyAll());
    return this.#applying;
  }

  async #applyAll(): Promise<void> {
    const { store, followers } = this.b.server;
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      const { index, operations } = entry;
      const shared = operations.filter((operation) => operation.class === "shared");
      if (shared.length > 0) {
        await store.writeApplied((tx) => {
          for (const operation of shared) {
            if (PLANT !== "no-followers") followers.apply(tx, operation);
            else if (operation.value === null) tx.delete(operation.key, operation.scope);
            else tx.put(operation.key, operation.value, operation.scope);
          }
        });
      }
      this.primary.reach(index);
    }
  }

  #next(): LogEntry | undefined {
    return this.#held ? undefined : this.#entries.shift();
  }

  /** The second writes what is shared itself from here on, and nothing comes to it. */
  alone(): void {
    this.hold();
    this.b.server.store.leaveShared(false);
    this.isAlone = true;
  }

  /** Nobody reaches the first region from here on, until it is joined again. */
  async cut(): Promise<void> {
    this.#carrier.cut();
    await this.#link.close();
  }

  async join(): Promise<void> {
    await this.#link.open({ clusterId: "b", version: "1.2.3" });
  }

  async stop(): Promise<void> {
    await this.cut();
    this.hold(); // the first may still end something when the second has stopped
    await this.#applying;
    await this.b.stop();
    await this.a.stop();
  }
}

export interface Regions {
  readonly way?: Way;
  readonly a?: TestServerOptions;
  readonly b?: TestServerOptions;
}

export async function twoRegions(
  t: Ends,
  { way = STRAIGHT, a: first = {}, b: second = {} }: Regions = {},
): Promise<TwoRegions> {
  const disk = new MemoryDisk();
  const a = await startPlainServer({
    ...first,
    disk,
    settings: { region: "a", ...first.settings },
  });
  const opened = await a.open();
  const prepared = await secondOf({ a, disk, opened }, new MemoryDisk(), way);
  const b = await startPlainServer({
    ...second,
    ...prepared.options,
    settings: { region: "b", ...second.settings },
  });
  await b.unseal(opened.shares);
  const regions = await prepared.begin(b);
  t.after(() => regions.stop());
  return regions;
}

export interface Second {
  /** What the second server is started with. */
  readonly options: Required<Pick<TestServerOptions, "disk" | "standing">>;
  /** When it is unsealed. */
  begin(b: TestServer): Promise<TwoRegions>;
}

/** Fills a disk for the second region, and links it to the first. */
export async function secondOf(
  first: { readonly a: TestServer; readonly disk: MemoryDisk; readonly opened: Opened },
  disk: MemoryDisk,
  way: Way = STRAIGHT,
): Promise<Second> {
  const { a, opened } = first;
  const entries: LogEntry[] = [];
  const { forwarded, store, barrier } = a.server;
  const world = { clock: new SystemClock(), timers: new SystemTimers() };
  const takeUse: typeof forwarded.takeUse = (...use) => elsewhere(() => forwarded.takeUse(...use));
  const table = serviceTable(forwardServices({ ...forwarded, takeUse }));
  const set = {
    table,
    greet: async () => ({ clusterId: "a", protocol: PROTOCOL, version: "1.2.3" }),
    isRevoked: () => false,
  };
  const carrier = new MemoryCarrier(set, PEER, world, way);
  const link = new CarriedLink(carrier, PEER);
  await link.open({ clusterId: "b", version: "1.2.3" });
  const primary = new FirstRegion(callsOver(() => link));
  let begun: TwoRegions | null = null;
  const began = store.index;
  store.onLog((rows) => {
    for (const { entry } of rows) entries.push(decodeEntry(entry));
    void begun?.apply();
  });
  const followed = await fill(disk, first.disk, barrier.handOver().treeKey, a.server.followers);
  return {
    options: {
      disk,
      standing: {
        role: "active",
        drMode: "disabled",
        primary: () => (begun?.isAlone === true ? null : primary),
      },
    },
    begin: async (b) => {
      b.server.store.leaveShared(true);
      await b.server.store.writeApplied((tx) => {
        for (const row of followed) b.server.followers.apply(tx, row);
      });
      primary.reach(began);
      begun = new TwoRegions({ a, b }, opened, primary, { carrier, link }, entries);
      await begun.apply();
      return begun;
    },
  };
}

/** A new store with the keys and the shared rows of another one. Gives those from which others follow: they are applied. */
async function fill(
  disk: MemoryDisk,
  from: MemoryDisk,
  treeKey: KeyObject,
  { folders }: { readonly folders: readonly string[] },
): Promise<readonly Row[]> {
  const source = new MemoryEngine(from);
  const scopes = new Map(source.leaves(null, Infinity).map(({ key, scope }) => [key, scope]));
  const rows = source
    .rows(ALL)
    .filter(({ key }) => key.startsWith("shared/") || key.startsWith("core/"))
    .map(({ key, value }) => ({ key, value, scope: scopes.get(key) ?? alloc(16) }));
  const follow = folders.map(
    (folder) => new RegExp(`^shared/${folder.replace("*", "[^/]+")}[^/]+$`),
  );
  const isFollowed = ({ key }: { readonly key: string }) => follow.some((one) => one.test(key));
  const store = new Store({ engine: new MemoryEngine(disk), ...fakeWorld() });
  const identity = { lineage: Buffer.from("the second region".slice(0, 16)), cluster: "b" };
  await store.create(treeKey, identity, (tx) => {
    for (const row of rows) if (!isFollowed(row)) tx.put(row.key, row.value, row.scope);
  });
  return rows.filter(isFollowed);
}

interface Row {
  readonly key: string;
  readonly value: Uint8Array;
  readonly scope: Uint8Array;
}
