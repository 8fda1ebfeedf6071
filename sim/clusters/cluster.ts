// One simulated cluster: a disk and a clock that outlive crashes, and on them, one life after the other, the production
// store, barrier and replication. The rooms above them are one that writes, and one that makes things outside and ends them.

import type { KeyObject } from "node:crypto";
import { hex } from "@holdfast/shared/bytes";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { Fields, Log } from "@holdfast/shared/log";
import { Secret } from "@holdfast/shared/secret";
import type { Instant, Nanos, Net } from "@holdfast/shared/world";
import { Barrier } from "../../src/barrier/barrier.ts";
import { type Follower, Followers } from "../../src/barrier/followers.ts";
import type { View } from "../../src/barrier/view.ts";
import type { ReplicationKind } from "../../src/cluster/names.ts";
import { secretKey } from "../../src/crypto/aead.ts";
import { Admission, type AdmissionOptions } from "../../src/replication/admission.ts";
import { BothKinds } from "../../src/replication/both-kinds.ts";
import { takeKeys } from "../../src/replication/joining/joined-keys.ts";
import { storedSiblings } from "../../src/replication/links/upstream.ts";
import type { NextData } from "../../src/replication/options.ts";
import { Replication } from "../../src/replication/replication.ts";
import { isFenced, type Role } from "../../src/replication/roles/role.ts";
import { storedMark } from "../../src/replication/stream/mark.ts";
import { custodyUnder, openRootKey, putCustody, ROOT_KEY_PATH } from "../../src/seal/custody.ts";
import { Region } from "../../src/seal/region.ts";
import { putCluster, storedCluster } from "../../src/seal/status.ts";
import { sharedPlaces } from "../../src/server/places/shared-places.ts";
import type { StorageEngine } from "../../src/storage/engines/engine.ts";
import { Store, type StoreOptions } from "../../src/storage/store.ts";
import { type Retention, trimLog } from "../../src/storage/trimming.ts";
import type { Prng } from "../prng.ts";
import { Violation } from "../state.ts";
import type { Trace } from "../trace.ts";
import { Life, SECOND, SimClock, SimRandom, SimTimers, type SimWorld } from "../world.ts";
import { altering } from "./altering.ts";
import { Clients } from "./clients.ts";
import type { Cloud } from "./cloud.ts";
import { type EngineWorld, PowerDisk, PowerEngine } from "./disk.ts";
import { Leases } from "./leases.ts";
import type { Ledger, Seen, Spot } from "./ledger.ts";
import { type Host, type PortWatch, type SimNetwork, SimPort } from "./network.ts";
import { Records } from "./regions/records.ts";

/** A known bug, in the parts of one cluster that the simulator makes. */
export interface ClusterPlant {
  readonly engine?: (disk: PowerDisk, at: EngineWorld, follows: () => boolean) => StorageEngine;
  readonly store?: (options: StoreOptions, prng: Prng) => Store;
  readonly port?: (running: () => Running | null, world: SimWorld) => PortWatch;
  readonly retention?: (retention: Retention) => Retention;
  /** What every cluster calls itself in an epoch. */
  readonly clusterId?: string;
  /** Whether the room that ends what is due goes on when it should yield. */
  readonly keepsEnding?: boolean;
  /** Whether nobody hears what a tail that is given up has made outside. */
  readonly forgetsOutside?: boolean;
  /** Who stores shared rows of another cluster, in the place of those who do. */
  readonly followers?: (shared: View, all: readonly Follower<unknown>[]) => Followers;
}

export interface ClusterOptions {
  readonly name: string;
  readonly number: number;
  /** Of the set that it is in, or "both": it may be in one of each. Default: disaster recovery. */
  readonly kind?: ReplicationKind | "both";
  readonly world: SimWorld;
  readonly network: SimNetwork;
  readonly prng: Prng;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly cloud: Cloud;
  readonly plant: ClusterPlant;
  /** Keys that operators hold, of all clusters. */
  readonly quorums: KeyObject[];
  /** Who looks on at the port. */
  readonly watch: (cluster: SimCluster) => PortWatch;
  /** These keys have become durable; null: all of them may have. */
  readonly committed?: (cluster: SimCluster, keys: Iterable<string> | null) => void;
  /** Its disk has failed, and its store has said so. */
  readonly failed: (cluster: SimCluster) => void;
  /** It joins: its log goes, and what it had listed, and no list tells of either. */
  readonly leavesBehind: (cluster: SimCluster, listed: readonly string[]) => void;
  readonly report: (violation: unknown) => void;
}

/** A process that is up and unsealed. */
export interface Running {
  readonly life: Life;
  readonly store: Store;
  readonly barrier: Barrier;
  readonly replication: Replication;
  readonly admission: Admission;
  readonly timers: SimTimers;
  readonly data: View;
  readonly records: Records;
  /** Where it may be something in sets of both kinds; `replication` and `admission` are those of disaster recovery then. */
  readonly kinds: BothKinds | null;
  /** Requests of clients that are being answered. */
  readonly requests: Set<Promise<unknown>>;
  readonly leases: Leases;
  readonly region: Pick<Region, "name">;
}

/** Certificates are made for a time, so that the clocks of all clusters begin about here. */
const BEGINS: Instant = 1_800_000_000n * BigInt(SECOND);

export class SimCluster implements Host {
  readonly name: string;
  readonly host: string;
  readonly address: string;
  readonly clock: SimClock;
  readonly seen: Seen;
  readonly #stopping = new WeakSet<Store>();
  /** What a primary was told to be durable here; null where nothing was. */
  reported: Spot | null = null;
  disk = new PowerDisk();
  life: Life | null = null;
  port: SimPort | null = null;
  running: Running | null = null;
  #latest: Running | null = null;
  sealed = false;
  /** So many times another log has begun here. */
  logs = 0;
  #lives = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly clients: Clients;
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.clients = new Clients(this, options.ledger);
    const { name, number, world, prng } = options;
    this.name = name;
    this.host = `10.0.0.${number}`;
    this.address = `https://${this.host}:8201`;
    this.clock = new SimClock(world, prng.fork("clock"));
    const skew = BigInt(prng.fork("skew").int(10 * SECOND));
    this.clock.jump(BEGINS + skew - this.clock.now());
    const nothing = { spot: null, newerTo: null, newerRows: 0 };
    this.seen = { name, ...nothing, mayGoBack: false, mayLeave: new Set() };
  }

  get role(): Role | null {
    return this.running?.replication.role ?? null;
  }

  /** The same, or what it was when it last ran. */
  get lastRole(): Role | null {
    return this.#latest?.replication.role ?? null;
  }

  get #kind(): ReplicationKind | "both" {
    return this.#options.kind ?? "dr";
  }

  /** That it has: of who stands in for another one, that one's. */
  get regionName(): string {
    return this.unsealed.region.name;
  }

  /** As it is configured. */
  get #region(): string {
    return this.#kind === "dr" ? "global" : this.name;
  }

  /** Whether all data is another cluster's. What is shared alone leaves it a log of its own. */
  #leaves(role: Role): boolean {
    return this.#kind !== "performance" && isFollowing(role);
  }

  /** Whether clients may write here, as far as it knows. */
  get leads(): boolean {
    const { running } = this;
    const role = this.role;
    if (running === null || role === null || running.replication.changing) return false;
    return (role.mode === "primary" && !isFenced(role)) || role.mode === "disabled";
  }

  get isPrimary(): boolean {
    return this.role?.mode === "primary" && this.leads;
  }

  /** Of one that may be something in sets of both kinds: what it is among those that share data. */
  get sharedRole(): Role | null {
    return this.running?.kinds?.performance.role ?? null;
  }

  /** Whether clients may write what is shared here, as far as it knows. */
  get writesShared(): boolean {
    const { running, sharedRole } = this;
    if (!this.leads || running === null || sharedRole === null) return false;
    if (running.store.following || running.store.leavesShared) return false;
    return (
      sharedRole.mode === "disabled" || (sharedRole.mode === "primary" && !isFenced(sharedRole))
    );
  }

  // --- life ---

  /** Starts a process. Does not resolve where it crashes. */
  async boot(): Promise<void> {
    const life = new Life(`${this.name} life ${++this.#lives}`);
    this.life = life;
    this.#options.network.cut(this); // whoever still waits for the process before
    this.sealed = false;
    this.#turn = Promise.resolve();
    this.#options.trace.add(`${this.name} boots`);
    await this.#open(life);
  }

  crash(how: "kill" | "power"): void {
    const { life } = this;
    if (life === null) return;
    const { prng, network, trace } = this.#options;
    trace.add(`${this.name} ${how}`);
    life.end();
    this.disk.cutPower(prng.fork(`cut ${this.#lives}`));
    this.life = null;
    this.running = null;
    this.port = null;
    // After a power failure the others find out by themselves.
    if (how === "kill") network.lost(life);
  }

  /** An empty disk: it is another cluster from now on, which has only its name from the one before. */
  begin(): void {
    this.disk = new PowerDisk();
    this.#latest = null;
    this.seen.spot = null;
    this.seen.newerTo = null;
    this.seen.mayGoBack = true;
    this.reported = null;
    this.logs++;
  }

  /** Its rows become those of another time, as when somebody has put back an old disk. */
  putBack(rows: PowerDisk["rows"]): void {
    this.disk = new PowerDisk(rows.copy());
  }

  async seal(): Promise<void> {
    const { running } = this;
    if (running === null || this.sealed) return;
    this.sealed = true;
    this.running = null;
    await rest(running);
    await close(running);
  }

  async unseal(): Promise<void> {
    const { life } = this;
    if (life === null || !this.sealed || this.running !== null) return;
    await this.#open(life);
    this.sealed = false;
  }

  async #open(life: Life, key: KeyObject | null = null): Promise<void> {
    const { world, network, prng, plant, ledger, report } = this.#options;
    const own = prng.fork(`${life.name} ${ledger.size}`);
    const timers = new SimTimers(world, life);
    const random = new SimRandom(own.fork("random"));
    const log = this.#log();
    let follows = () => false;
    const engine = this.#engine(this.disk, life, own, () => follows());
    const stored: StoreOptions = { engine, clock: this.clock, timers, log };
    const store = plant.store?.(stored, own.fork("store")) ?? new Store(stored);
    follows = () => store.following;
    this.#watchStop(store);
    const barrier = new Barrier({
      store,
      clock: this.clock,
      timers,
      random,
      log,
      cacheBytes: 65536,
    });
    const { disk } = this;
    void store.failed.then((cause) => {
      if (life.ended) return;
      if (disk.hasFailed) this.#options.failed(this);
      else report(new Violation(`the storage of ${this.name} failed`, { cause }));
    });
    if (store.initialised) this.#unseal(store, barrier, key);
    else await this.#create(barrier, random);
    const node = barrier.view("core/");
    const data = barrier.view("shared/sim/");
    const records = new Records(barrier.view("shared/"), barrier.view("local/"));
    const region = this.#regionOf(barrier, log);
    const leases = this.#leases(barrier, timers, life);
    const requests = new Set<Promise<unknown>>();
    this.port = new SimPort(this.#watches(own));
    const takeKeysHere = { store, barrier, random };
    const needs: Needs = {
      acceptFence: true,
      primaryLease: 0n,
      sign: async () => ({ id: "" }), // evidence is another room's
      store,
      barrier,
      region: () => region.name,
      configuredRegion: this.#region,
      followers: () => {
        const [shared, all] = [barrier.view("shared/"), [records]];
        return plant.followers?.(shared, all) ?? new Followers(shared, all);
      },
      clock: this.clock,
      timers,
      random,
      net: NO_NET,
      log,
      version: "0.1.0",
      carrierTo: (at, member) => network.carrierTo(this, life, timers, at, member),
      clusterId: () => plant.clusterId ?? storedCluster(node).id,
      apiAddress: () => "",
      clusterAddress: () => this.address,
      port: () => this.port,
      house: {
        drained: async () => void (await Promise.allSettled(requests)),
        yield: () => leases.close(),
        leave: async () => {},
        takeOver: async () => {
          await region.lead();
          leases.open();
        },
        seal: () => {
          if (disk.hasFailed || life.ended) return; // it is over with this process
          report(new Violation(`${this.name} could not open what its role needs`));
        },
      },
      statusAccess: "open",
      takeKeys: (bundle, how) =>
        this.#inTurn(async () => {
          await takeKeys(bundle, takeKeysHere, null, how);
        }),
      revokeOperationTokens: () => {},
      takeTicketsFrom: () => {},
      dropAttempts: async () => {},
      audits: () => true,
      outside: leases.outside,
      declaresAudit: () => true,
      wrapAddress: "",
      isDev: true,
      spendTicket: () => {},
      exchange: (joined) => this.exchange(joined, life, own),
      cluster: () => storedCluster(node),
      sealKey: () => null,
      wrap: () => {
        throw new Violation("nothing is wrapped here");
      },
      calls: () => {
        throw new Violation("nobody calls an API here");
      },
      files: { read: () => null, list: () => [] },
      carry: async () => {},
    };
    const { kinds, replication, admission, enter, lead } = this.#parts(needs, barrier);
    const { following } = await enter();
    const dr = barrier.view("core/replication/dr/");
    const look = (changing: boolean) => {
      // Kept for when it leads: by then the mark may have gone.
      if (store.following && !barrier.sealed) this.seen.newerTo = storedMark(dr);
      this.observe(store, replication.role, changing);
    };
    look(isFenced(replication.role)); // what it has written before
    const { committed = () => {} } = this.#options;
    committed(this, null);
    const isEnding = endings(store);
    store.onCommit((changed) => {
      committed(this, changed.keys());
      const ends = isFenced(replication.role) && isEnding();
      look(replication.changing || ends);
    });
    const running: Running = {
      life,
      store,
      barrier,
      replication,
      admission,
      kinds,
      timers,
      data,
      records,
      requests,
      leases,
      region,
    };
    if (life.ended) return;
    this.running = this.#latest = running;
    await lead();
    if (!following && !this.#leaves(replication.role)) {
      await region.lead();
      leases.open();
    }
    this.#checkReported();
  }

  /** Who looks on at its port: a sender that is not right is innermost, but where what leaves it is looked at. */
  #watches(own: Prng): PortWatch[] {
    const { plant, world, watch } = this.#options;
    const alters = altering(own.fork("altering"));
    const planted = plant.port === undefined ? [] : [plant.port(() => this.running, world)];
    return this.#kind === "both"
      ? [...planted, watch(this), alters]
      : [alters, ...planted, watch(this)];
  }

  /** What it is among others. */
  #parts(needs: Needs, barrier: Barrier) {
    const kind = this.#kind;
    const [node, local] = [barrier.view("core/"), barrier.view("local/")];
    if (kind === "both") {
      const filtering = {
        source: sharedPlaces(barrier.view("shared/")),
        beside: { find: () => null },
      };
      const kinds = new BothKinds({ ...needs, node, local, filtering });
      const { dr: replication, drAdmission: admission } = kinds;
      return {
        kinds,
        replication,
        admission,
        enter: () => kinds.enter(),
        lead: () => kinds.lead(),
      };
    }
    const rows = `${kind === "dr" ? "core" : "local"}/replication/${kind}/`;
    const own = node.sub(`replication/${kind}/`);
    const options = { ...needs, kind, rows, view: barrier.view(rows), own };
    const replication = new Replication(options);
    const admission = new Admission({ ...options, replication });
    return {
      kinds: null,
      replication,
      admission,
      enter: () => replication.enter(),
      lead: () => replication.lead(),
    };
  }

  /** Clusters of one set alone have a name each, and store none. */
  #regionOf(barrier: Barrier, log: Log): Pick<Region, "name" | "lead"> {
    const configured = this.#region;
    if (this.#kind !== "both") return { name: configured, lead: async () => {} };
    const region = new Region({ local: barrier.view("local/"), configured, log });
    region.open();
    return region;
  }

  #engine(disk: PowerDisk, life: Life, own: Prng, follows: () => boolean): StorageEngine {
    const { world, plant, report } = this.#options;
    const at = { world, life, prng: own.fork("disk"), report };
    return plant.engine?.(disk, at, follows) ?? new PowerEngine(disk, at);
  }

  #leases(barrier: Barrier, timers: SimTimers, life: Life): Leases {
    const { world, cloud, plant, report } = this.#options;
    return new Leases({
      name: this.name,
      life,
      local: barrier.view("local/"),
      timers,
      world,
      cloud,
      mayEnd: () => {
        const { running, role } = this;
        return role === null || running!.replication.changing || !this.#leaves(role);
      },
      keeps: plant.keepsEnding ?? false,
      forgets: plant.forgetsOutside ?? false,
      report,
    });
  }

  async #create(barrier: Barrier, random: SimRandom): Promise<void> {
    const { quorums } = this.#options;
    const [rootKey, treeKey, unseals] = [random, random, random].map((from) =>
      secretKey(from.bytes(32)),
    ) as [KeyObject, KeyObject, KeyObject];
    quorums.push(unseals);
    const id = random.uuid();
    const scheme = { shares: 1, threshold: 1, pgpFingerprints: [] };
    const config = { type: "shamir", scheme, nonce: "", created: this.clock.now() } as const;
    const identity = { lineage: random.bytes(16), cluster: id };
    await barrier.create({ rootKey, treeKey }, identity, (tx, raw) => {
      putCustody(tx, raw, random, custodyUnder({ key: unseals, config }, rootKey, null));
      putCluster(tx, { id, name: this.name });
    });
  }

  #unseal(store: Store, barrier: Barrier, key: KeyObject | null): void {
    const { quorums } = this.#options;
    const rootKey =
      key ??
      quorums
        .map((quorum) => openRootKey(store, ROOT_KEY_PATH, quorum))
        .find((found) => found !== null);
    if (rootKey === undefined || !barrier.unseal(rootKey)) {
      throw new Violation(`no key opens ${this.name}`);
    }
    barrier.activate();
  }

  /** Other data takes the place of what is here, all at once. `rested`: it is made from what is here, which rests before that. */
  async exchange(
    joined: NextData,
    life: Life,
    own: Prng,
    rested: (() => void) | null = null,
  ): Promise<void> {
    const disk = new PowerDisk();
    const engine = this.#engine(disk, life, own.fork("exchange"), () => true);
    await joined.fill(engine, new AbortController().signal);
    let key = rested === null ? await joined.finish(engine) : null;
    const { running } = this;
    if (running === null) throw new NotThere(`${this.name} was sealed meanwhile`);
    this.running = null;
    await rest(running);
    try {
      if (rested !== null) key = await joined.finish(engine);
    } catch (error) {
      await close(running);
      await this.#open(life);
      throw error;
    }
    rested?.();
    const listed = [...listedBy(running)];
    await close(running);
    this.disk = disk;
    if (rested === null) this.#options.leavesBehind(this, listed);
    this.seen.spot = null; // another log begins
    this.seen.newerTo = null;
    this.logs++;
    this.seen.mayGoBack = true;
    this.reported = null;
    await this.#open(life, key);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work);
    this.#turn = next.catch(() => {});
    return next;
  }

  // --- what is seen ---

  /** From when it takes nothing more of its own until what it has taken is durable. */
  #watchStop(store: Store): void {
    const follow = store.follow.bind(store);
    store.follow = async (refused) => {
      this.#stopping.add(store);
      try {
        await follow(refused);
      } finally {
        this.#stopping.delete(store);
      }
    };
  }

  observe(store: Store, role: Role, changing = false): void {
    const { ledger, report } = this.#options;
    // Who is fenced serves until its store has stopped: what was under way by then is an entry of its own.
    const isStopping = isFenced(role) && (!store.following || this.#stopping.has(store));
    const leads = changing || isStopping || !this.#leaves(role) || isPromoting(role);
    try {
      ledger.observe(this.seen, store, leads);
    } catch (error) {
      report(error);
    }
  }

  /** What somebody was told to be durable here, is: also after a crash. */
  #checkReported(): void {
    const { ledger, report } = this.#options;
    const { reported, seen } = this;
    if (reported === null || seen.spot === null) return;
    if (ledger.isBefore(reported, seen.spot) || ledger.mayPart(seen, reported, seen.spot)) return;
    report(
      new Violation(
        `${this.name} has said that entry ${reported.index} is durable, and has ${seen.spot.index}`,
      ),
    );
  }

  /** Whether its primary has told it of that one. */
  knows(other: SimCluster): boolean {
    const view = this.unsealed.barrier.view("core/replication/dr/");
    return storedSiblings(view).some(({ addresses }) => addresses.includes(other.address));
  }

  get clusterId(): string {
    return storedCluster(this.unsealed.barrier.view("core/")).id;
  }

  hasLease(id: string): boolean {
    return this.unsealed.leases.has(id);
  }

  async trim(prng: Prng): Promise<void> {
    const { running } = this;
    if (running === null || running.store.adopting !== null) return;
    const { store, timers, kinds, replication } = running;
    const retention = {
      ...(kinds ?? replication).retention,
      minEntries: BigInt(prng.chance(0.3) ? prng.int(6) : 20 + prng.int(200)),
    };
    const planted = this.#options.plant.retention?.(retention) ?? retention;
    await trimLog(store, { clock: this.clock, timers }, planted);
  }

  // --- operators ---

  /** A token for that cluster, sealed to a key of its own. */
  async tokenFor(
    other: SimCluster,
    id: string,
    kind: ReplicationKind = this.#ownKind,
  ): Promise<Secret<string>> {
    const publicKey = await other.admissionOf(kind).generatePublicKey();
    const request = { id, ttl: TTL, publicKey };
    const { data } = await this.admissionOf(kind).secondaryToken(request, NO_CONTEXT);
    return new Secret((data as { token: string }).token);
  }

  async join(
    primary: SimCluster,
    id: string,
    kind: ReplicationKind = this.#ownKind,
  ): Promise<void> {
    const token = await primary.tokenFor(this, id, kind);
    const joining = await this.admissionOf(kind).enableSecondary({ ...UNWRAPPING, token }, NEVER);
    await joining.exchange();
  }

  async follow(
    primary: SimCluster,
    id: string,
    kind: ReplicationKind = this.#ownKind,
    force = false,
  ): Promise<void> {
    const token = await primary.tokenFor(this, id, kind);
    // What is shared alone comes beside a log of its own, and changes no entry of it.
    if (this.#kind !== "both" || kind === "dr") {
      this.seen.mayGoBack = true;
      this.reported = null;
    }
    await this.admissionOf(kind).changePrimary(
      { ...UNWRAPPING, token, addresses: [], force },
      { signal: NEVER, caller: null },
    );
  }

  /** Of the set of disaster recovery. Gives what it warns of. */
  async promote(force: boolean): Promise<readonly string[]> {
    const { seen, name } = this;
    seen.newerRows = 0;
    const { warnings } = await this.unsealed.replication.promote({ force, address: "" });
    if (seen.newerRows > 0 && !warnings.join().includes('without the check "whole"')) {
      throw new Violation(`${name} was promoted with rows newer than its log, and does not say so`);
    }
    return warnings;
  }

  admissionOf(kind: ReplicationKind): Admission {
    const { kinds, admission } = this.unsealed;
    return kind === "performance" && kinds !== null ? kinds.performanceAdmission : admission;
  }

  get #ownKind(): ReplicationKind {
    return this.#kind === "performance" ? "performance" : "dr";
  }

  get unsealed(): Running {
    if (this.running === null) throw new NotThere(`${this.name} is not there`);
    return this.running;
  }

  get keysVersion(): string {
    const { generation, term } = this.unsealed.barrier.keysVersion;
    return `${generation}.${term}`;
  }

  describe(): string {
    const { name, role, running } = this;
    if (running === null) return `${name} is not there`;
    const { head } = running.store;
    const at = head === null ? "?" : `${head.index} ${hex(head.chain).slice(0, 8)}`;
    const behind = running.replication.status.attention.behind.map(({ text }) => text).join();
    return `${name}: ${JSON.stringify(role)} at ${at}, keys ${this.keysVersion} ${behind}`;
  }

  #log(): Log {
    const { report } = this.#options;
    const quiet = () => {};
    const look = (message: string, fields: Fields = {}) => {
      if (!DAMAGE.some((text) => message.startsWith(text))) return;
      const parts = Object.entries(fields).map(([key, value]) => `${key}=${String(value)}`);
      report(new Violation(`${this.name} logs: ${message} ${parts.join()}`));
    };
    const log: Log = { debug: quiet, info: quiet, warn: look, error: look, child: () => log };
    return log;
  }
}

/** Nobody damages a disk here: whoever finds damage has made it. */
const DAMAGE = [
  "the data here differs",
  "rows that were taken over do not add up",
  "damage in storage",
  "the trees do not add up",
  "a watcher failed",
  "could not trim",
];

/** Someone was wanted who is sealed or down. */
export class NotThere extends Error {}

/** What replication is handed, of whatever kind. */
type Needs = Omit<
  AdmissionOptions,
  "kind" | "view" | "own" | "rows" | "replication" | "beside" | "changes" | "trees" | "withheld"
>;

const TTL: Nanos = 1_800_000_000_000n;
const NEVER = new AbortController().signal;
const UNWRAPPING = {
  apiAddress: "",
  caFile: "",
  caPath: "",
  caPem: "",
  clientCertPem: "",
} as const;
const NO_CONTEXT = null as unknown as RequestContext; // of a wrapping, and nothing is wrapped
const NO_NET: Net = {
  connect: () => {
    throw new Violation("there is no network but the simulated one");
  },
} as unknown as Net;

/** What it has given up and keeps yet, by index and time. */
export function* listedBy({ replication: { divergent } }: Running): Generator<string> {
  for (const { id } of divergent.tails()) {
    for (const { index, time } of divergent.entries(id, { after: 0n, max: 100_000 })) {
      yield `${index} ${time}`;
    }
  }
}

/** In the order of a house: a change of the role that is under way, of either kind, opens rooms, and would open one behind whoever has closed it. */
async function rest({ leases, requests, kinds, replication }: Running): Promise<void> {
  await Promise.allSettled(requests);
  await replication.settle();
  await leases.close();
  await (kinds ?? replication).rest();
}

async function close({ barrier, store }: Running): Promise<void> {
  await barrier.seal();
  await store.close();
}

function isPromoting(role: Role): boolean {
  return role.mode === "secondary" && role.promoting !== null;
}

/** Whether a store takes writes of its own, or is about to write the last of them: what it took before it was told to follow it writes yet. */
function endings(store: Store): () => boolean {
  const follow = store.follow.bind(store);
  let open = 0;
  store.follow = async (refused) => {
    open++;
    try {
      await follow(refused);
    } finally {
      open--;
    }
  };
  return () => !store.following || open > 0;
}

function isFollowing(role: Role): boolean {
  return role.mode === "secondary" || role.mode === "demoting" || isFenced(role);
}
