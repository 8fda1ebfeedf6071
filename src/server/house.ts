// The house: the store, the barrier, the rooms and the pipeline. Everything that goes when the data is exchanged
// for other data, in one value; nothing outside keeps a part of it.

import type { Capability } from "@holdfast/shared/endpoint/access";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Operation } from "@holdfast/shared/endpoint/request";
import { describe } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { Barrier } from "../barrier/barrier.ts";
import { Followers } from "../barrier/followers.ts";
import { FairTurns } from "../base/fair-turns.ts";
import { Pipeline } from "../core/pipeline.ts";
import { Running } from "../core/running.ts";
import type { ForwardedRequests } from "../forwarding/answering.ts";
import type { Primary } from "../forwarding/primary.ts";
import { type SharingSet, StateMarks } from "../forwarding/consistency.ts";
import { SendingToPrimary } from "../forwarding/sending.ts";
import { HouseLife } from "../house/life.ts";
import type { Readings } from "../house/readings.ts";
import type { Room } from "../house/room.ts";
import type { HouseSteps } from "../replication/options.ts";
import { WITHHELD_KEY } from "../replication/both-kinds.ts";
import { forksOf } from "../replication/roles/role.ts";
import { OutboundCalls } from "../outbound/outbound-calls.ts";
import type { StorageEngine } from "../storage/engines/engine.ts";
import { Store } from "../storage/store.ts";
import { CubbyholeContents } from "../wrapping/cubbyhole-contents.ts";
import { DescribedMounts } from "./described-mounts.ts";
import { builtInTypes } from "./engine-types.ts";
import { barrierPart, storagePart } from "./foundations.ts";
import type { Ground, PathQueries, ProcessGround } from "./ground.ts";
import { buildRooms, type Rooms } from "./rooms.ts";
import { takeForwardedUse } from "../forwarding/forwarded-uses.ts";
import { PrimaryRegion } from "./primary-region.ts";
import { MountedPlaces } from "./places/rule-places.ts";
import { whoGetsWhat } from "./who-gets-what.ts";

/** Running requests have this long to end when the node seals. */
const SEAL_GRACE = 10n * SECOND;

export class House {
  readonly store: Store;
  readonly barrier: Barrier;
  readonly rooms: Rooms;
  /** In the order in which they open. */
  readonly parts: readonly Room[];
  readonly life: HouseLife;
  /** For whoever applies shared rows of another cluster. */
  readonly followers: Followers;
  readonly endpoints: readonly Served[];
  readonly pipeline: Pipeline;
  /** For whoever serves secondaries that leave shared data to this cluster. */
  readonly forwarded: ForwardedRequests;
  readonly running: Running;
  readonly readings: Partial<Readings>;
  readonly #outbound: OutboundCalls;
  readonly #states: StateMarks;
  readonly #host: ProcessGround;
  readonly #region: PrimaryRegion;
  #following = false; // the data is another cluster's, or is not to be changed any more

  constructor(host: ProcessGround, engine: StorageEngine) {
    this.#host = host;
    const primary = () => this.#primary;
    const { config, world, log, dev } = host;
    const { clock, timers, random, net } = world;
    const { maxEntryBytes } = config.storage;
    const stored = { engine, clock, timers, log: log.child("storage"), maxEntryBytes };
    this.store = host.witnessed?.newStore(stored) ?? new Store(stored);
    const { store } = this;
    this.#states = new StateMarks({ log: store, primary, timers, set: () => this.#sharingSet });
    this.barrier = new Barrier({
      store,
      clock,
      timers,
      random,
      log: log.child("barrier"),
      cacheBytes: config.cacheBytes,
    });
    const { barrier } = this;
    this.running = new Running(clock, timers);
    this.#outbound = new OutboundCalls({
      allow: config.outboundAllow,
      dev: dev !== undefined,
      timers,
      net,
    });
    const views = {
      shared: barrier.view("shared/"),
      local: barrier.view("local/"),
      node: barrier.view("core/"),
    };
    const routing = this.#pathQueries();
    const engineTypes = [...builtInTypes(), ...host.engineTypes];
    host.instruments.engines.declare(engineTypes);
    const ground: Ground = {
      host,
      engineTypes,
      store,
      barrier,
      views,
      running: this.running,
      turns: new FairTurns({ clock, timers }),
      outbound: this.#outbound,
      cubbyholes: new CubbyholeContents(views.local),
      places: new MountedPlaces({
        mounts: () => this.rooms.mounts.mounts,
        namespaces: () => this.rooms.namespaces.namespaces,
        declared: routing.declared,
        canonical: routing.canonical,
      }),
      routing,
      hooks: {
        created: (tx) => this.parts.forEach((room) => room.created?.(tx)),
        opened: () => this.#opened(),
        closing: () => this.#closing(host),
      },
      declarations: async (caller, namespace, generic, sees) =>
        caller === null ? this.endpoints : await described.in(namespace, generic, sees),
      roleSteps: this.#roleSteps,
      primary,
      followers: () => this.followers,
      forwarded: () => this.forwarded,
      all: () => this.parts,
    };
    this.rooms = buildRooms((rooms) => whoGetsWhat(rooms, ground));
    this.parts = [
      storagePart(store, host, () => this.rooms.replication.kinds.retention, WITHHELD_KEY),
      barrierPart(barrier),
      ...Object.values(this.rooms),
      ...host.furtherRooms.map((make) => make(views)),
    ];
    this.life = new HouseLife(this.parts);
    this.followers = new Followers(
      views.shared,
      this.parts.flatMap(({ followers = [] }) => followers),
    );
    this.readings = Object.assign({}, ...this.parts.map(({ metrics = {} }) => metrics));
    this.endpoints = this.parts.flatMap(({ endpoints }) => endpoints);
    const described = new DescribedMounts({
      mounts: this.rooms.mounts.mounts,
      own: this.endpoints,
      timers,
    });
    this.#region = new PrimaryRegion(this.rooms.replication.performance, {
      store,
      timers,
      clock,
    });
    this.pipeline = this.#newPipeline(host, ground);
    this.forwarded = {
      core: this.pipeline,
      shared: () => store.head?.lastPerf ?? 0n,
      attests: (member) => this.rooms.replication.performance.attests(member),
      clusterOf: (member) => this.rooms.replication.performance.clusterOf(member),
      takeUse: async (uuid, what, sender) => {
        const { mounts, audit, tokens, replication } = this.rooms;
        const withheld = await replication.performance.withheldFrom(sender.member);
        if (withheld?.mounts.has(uuid) === true) return null;
        const parts = {
          mounts: mounts.mounts,
          audit: audit.audit,
          attempts: tokens.memberAttempts,
          clock,
          random,
        };
        return takeForwardedUse(parts, { uuid, what }, sender);
      },
      knows: async (hash, member) => {
        const { seal, tokens, replication } = this.rooms;
        if (seal.keeper.sealed || store.leavesShared) return null;
        const withheld = await replication.performance.withheldFrom(member);
        const namespace = tokens.tokens.namespaceOfGlobal(hash);
        return namespace !== null && withheld?.namespaces.has(namespace) !== true;
      },
    };
  }

  /** Who writes what is shared; null where this cluster does. */
  get #primary(): Primary | null {
    const { standing } = this.#host;
    return standing.primary?.() ?? (this.store.leavesShared ? this.#region : null);
  }

  get #sharingSet(): SharingSet | null {
    const { role, writtenBy: of } = this.rooms.replication.performance;
    if (role.mode === "disabled") return null;
    const isWrittenHere = role.mode !== "secondary" || (role.id === "" && role.led === true);
    return { id: role.set, epoch: role.epoch.number, forks: forksOf(role), isWrittenHere, of };
  }

  /** With an auto seal, unseals. */
  start(): Promise<void> {
    return this.rooms.seal.keeper.start();
  }

  /** Requests that wait for something are answered, since they would be waited for. */
  interrupt(): Promise<void> {
    return this.life.interrupt();
  }

  /** Nothing of it writes or calls outside from here on, until it goes on. */
  rest(): Promise<void> {
    return this.life.rest({ drained: () => this.#quiet() });
  }

  /** As it was before it rested. A house that cannot go on seals. */
  async goOn(): Promise<void> {
    const { keeper } = this.rooms.seal;
    if (keeper.sealed || this.life.leading) return;
    try {
      await this.#leadIfMeant();
    } catch (error) {
      this.#host.log.error("could not go on after a rest; sealing", { cause: describe(error) });
      void keeper.seal(); // in a turn of its own
    }
  }

  async stop(): Promise<void> {
    await this.rooms.seal.keeper.seal();
    this.#outbound.close(); // engines are closed by now
    await this.store.close();
  }

  async #opened(): Promise<void> {
    const { following, secondary } = await this.rooms.replication.kinds.enter();
    this.#following = following;
    this.#states.open(this.barrier.handOver().treeKey);
    await this.life.open({ following: secondary });
    try {
      await this.#leadIfMeant();
    } catch (error) {
      await this.life.close().catch(() => {}); // the first cause is the one to tell
      throw error;
    }
  }

  /** Whoever leads a cluster is the primary of its data, but where that, or what is shared of it, is another cluster's. */
  async #leadIfMeant(): Promise<void> {
    if (!this.#host.leads()) return;
    await this.life.lead({ primary: !this.store.leavesShared, following: this.#following });
  }

  /** What becomes of the rooms when the role of the cluster changes. */
  get #roleSteps(): HouseSteps {
    return {
      drained: async () => {
        const interrupted = this.life.interrupt(); // what only waits is answered
        await this.#drained();
        await interrupted;
      },
      yield: async () => {
        this.#following = true;
        await this.life.yield();
      },
      leave: () => this.life.leave(),
      takeOver: async () => {
        this.#following = false;
        await this.life.takeOver({ primary: !this.store.leavesShared });
      },
      seal: () => void this.rooms.seal.keeper.seal(), // in a turn of its own
    };
  }

  async #closing({ log }: ProcessGround): Promise<void> {
    try {
      await this.rest();
    } catch (error) {
      log.error("could not come to rest in good order", { cause: describe(error) });
    }
    await this.life.close();
    this.#states.close();
  }

  /** What a change of the role opens and closes would not be seen by whoever rests meanwhile. */
  async #quiet(): Promise<void> {
    await this.#drained();
    await this.rooms.replication.replication.settle();
  }

  async #drained(): Promise<void> {
    const left = await this.running.drained(SEAL_GRACE);
    if (left === 0) return;
    this.#host.log.warn("coming to rest while requests still run", { requests: left });
  }

  #newPipeline(
    { world, log, standing, witnessed, config }: ProcessGround,
    { turns }: Ground,
  ): Pipeline {
    const { store } = this;
    const { sharedWait } = config.replication;
    const { clock, timers } = world;
    const {
      seal,
      tokens,
      namespaces,
      mounts,
      leases,
      wrapping,
      policies,
      audit,
      quotas,
      snapshots,
    } = this.rooms;
    const { keeper } = seal;
    const { replication, kinds } = this.rooms.replication;
    const primary = () => this.#primary;
    const sending = new WeakMap<Primary, SendingToPrimary>();
    const sendingTo = (primary: Primary) => {
      const known =
        sending.get(primary) ?? new SendingToPrimary(primary, () => keeper.clusterId, sharedWait);
      sending.set(primary, known);
      return known;
    };
    return new Pipeline({
      endpoints: this.endpoints,
      node: {
        get initialised() {
          return keeper.initialised;
        },
        get sealed() {
          return keeper.sealed;
        },
        get drSecondary() {
          const isSecondary = standing.drMode === "secondary" || replication.mode === "secondary";
          return isSecondary || kinds.isCopying;
        },
        get copying() {
          return kinds.isCopying;
        },
        get changing() {
          return kinds.isChanging;
        },
        get role() {
          return standing.role;
        },
        get index() {
          return store.index;
        },
      },
      tokens: {
        find: (secret) => wrapping.wrapping.find(secret), // a wrapping token may come as a JWT
        hasExpired: (secret) => tokens.tokens.hasExpired(secret),
        use: (caller) => tokens.tokens.use(caller),
        underWay: (caller) => tokens.tokens.underWay(caller),
        spent: (caller) => tokens.tokens.spent(caller),
        awaited: (secret, address, signal) => tokens.unknown.awaited(secret, address, signal),
        onChange: (caller, call) => tokens.tokens.onChange(caller, call),
      },
      operations: this.rooms.replication.operations,
      namespaces: namespaces.namespaces,
      mounts: mounts.mounts,
      leases: leases.leases,
      logins: tokens.logins,
      wrapping: wrapping.wrapping,
      decisions: policies.rights,
      governance: policies.governing,
      audit: audit.audit,
      quotas: quotas.quotas,
      attempts: tokens.attempts,
      memberAttempts: tokens.memberAttempts,
      loaded: snapshots.loaded,
      elsewhere: {
        get primary() {
          const known = primary();
          return known === null ? null : sendingTo(known);
        },
        get isStale() {
          const { maxGlobalTokenStaleness: most } = config.replication;
          const known = most === 0n ? null : primary();
          return known !== null && (known.age === null || known.age > most);
        },
        get lacksRoom() {
          return primary()?.lacksRoom ?? false;
        },
        get withheld() {
          return kinds.withheld.count === 0 ? null : kinds.withheld.now;
        },
        withheldFrom: async (member) => await kinds.performance.withheldFrom(member),
      },
      consistency: this.#states,
      awaited: sharedWait,
      region: () => seal.region.name,
      running: this.running,
      turns,
      timers,
      clock,
      log: log.child("core"),
      witness: witnessed?.witness,
    });
  }

  #pathQueries(): PathQueries {
    const routing = () => this.pipeline.routing;
    return {
      declared: (namespace, segments, operation) =>
        routing().declared(namespace, segments, verbFor(operation)),
      canonical: (namespace, segments) => routing().canonical(namespace, segments),
      dataAt: (namespace, segments, operation, fields) =>
        routing().dataAt(namespace, segments, verbFor(operation), fields),
      mountAt: (namespace, segments) => routing().mountAt(namespace, segments),
    };
  }
}

/** What a request for that capability is, on the wire. */
function verbFor(capability: Exclude<Capability, "sudo">): Operation {
  if (capability === "create") return "update";
  return capability === "scan" ? "list" : capability;
}
