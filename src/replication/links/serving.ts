// A primary at work: its set is served at the cluster port, secondaries are greeted and sent everything, and who is
// revoked is gone. Loaded when a cluster first has something to do with others.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { View } from "../../barrier/view.ts";
import { Recurring } from "../../base/recurring.ts";
import type { Greeting, Hello } from "../../cluster/hello.ts";
import { isRegionName, type ReplicationKind, type SetName } from "../../cluster/names.ts";
import type { ClusterPort } from "../../cluster/port.ts";
import type { Peer } from "../../cluster/verify.ts";
import type { Served, ServiceTable } from "@holdfast/shared/grpc/method";
import type { Replica } from "../../storage/repair/heal.ts";
import type { Store } from "../../storage/store.ts";
import { usableAddresses } from "../addresses.ts";
import { invariant } from "@holdfast/shared/invariant";
import * as failures from "../failures.ts";
import { Filters } from "../filters/filters.ts";
import { comingFilters } from "../filters/stored-filters.ts";
import type { Around, Filtering } from "../options.ts";
import type { ReplicationFigures } from "../figures.ts";
import { AuthorityHolders } from "../cascades/authority-holders.ts";
import { joiningCalls, type JoiningPorts } from "../joining/calls.ts";
import { primaryItself, regionTaken } from "../joining/failures.ts";
import { CountedElsewhere } from "../joining/counted-elsewhere.ts";
import { readKeysVersion, showKeysVersion } from "../joining/key-bundle.ts";
import { epochProof } from "../joining/proofs.ts";
import {
  type KnownSecondary,
  type LogStand,
  storedRevokedClusters,
} from "../joining/primary-rows.ts";
import { Secondaries } from "../joining/secondaries.ts";
import type { Epoch, Primary } from "../roles/role.ts";
import type { AdoptedOrphans } from "./adopted-orphans.ts";
import { transactionBytesOf } from "../stream/decision.ts";
import type { LeaseQuestion, LeasesOfMembers } from "../sending/counting-leases.ts";
import type { Evacuations } from "../stream/evacuated.ts";
import { type Finished, Sender } from "../stream/sender.ts";
import type { MemberStatus } from "../stream/members.ts";
import { type Sibling, SIBLING_ADDRESSES, TOLD_REVOKED } from "../stream/messages.ts";
import { knownBefore, storedSiblings } from "./upstream.ts";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";

/** What a primary needs of the port. */
export type ServingPort = Pick<ClusterPort, "serve" | "revoke" | "refuseOnly" | "forget">;

/** Whoever is there has come by then, also one that was refused before: that tries once in a minute, and a little more. */
const COMING = 2n * MINUTE;

/** Of entries that a secondary says to have sealed. */
const MAX_COUNT = 2n ** 48n;

export interface ServingWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly barrier: Barrier;
  /** Of the rows of that kind. */
  readonly view: View;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly figures: ReplicationFigures;
  readonly version: string;
  readonly clusterId: () => string;
  readonly apiAddress: () => string;
  readonly clusterAddress: () => string;
  readonly region: () => string;
  /** How many are admitted. Default: fifty. */
  readonly maxSecondaries?: number;
  /** Requests that members of the other kind send on. Default: none are taken. */
  readonly forwarded?: () => readonly Served<Peer>[];
  /** What filters speak of. Default: nothing is ever withheld. */
  readonly filtering?: Filtering;
  /** Which share of its time this process has worked of late. Default: it has plenty. */
  readonly utilization?: () => number;
  /** Somebody speaks of a later epoch of the set. */
  readonly superseded: (epoch: number) => void;
  /** Another cluster of the set says to lead in this epoch, and has proved it. Gives the one that leads as far as is known
   *  here. */
  readonly fenced: JoiningPorts["fenced"];
  readonly signedEpoch?: JoiningPorts["signedEpoch"];
  /** Of the rows of the other kind, whose authority members have. Default: they have none. */
  readonly besideView?: View;
  /** Where those are that stand in for this cluster. Default: nobody does. */
  readonly standIns?: () => readonly string[];
  /** The clusters of the set that are known here. Default: nobody is told of any. */
  readonly around?: Around;
  /** Whether this cluster leads still. */
  readonly leads: () => boolean;
  /** Of those that have followed the primary of before beside this one, and that primary itself. Whether there was one. */
  readonly revokeFormer: (isMeant: (sibling: Sibling) => boolean) => Promise<boolean>;
  readonly adopted: AdoptedOrphans;
  /** What this primary may do goes by who is heard of. */
  readonly lease: {
    readonly reached: () => void;
    /** Nobody that has ever come is left. */
    readonly release: () => Promise<void>;
  };
}

export class Serving {
  readonly #world: ServingWorld;
  readonly #port: ServingPort;
  readonly #secondaries: Secondaries;
  readonly #holders: AuthorityHolders;
  readonly #sender: Sender;
  readonly #filters: Filters | null;
  readonly #renewing: Recurring;
  readonly #elsewhere: CountedElsewhere;
  readonly #counting: Recurring;
  readonly #set: string;
  readonly #role: () => Primary;
  readonly #since: Nanos;
  #transactionBytes: number | null = null;

  constructor(world: ServingWorld, port: ServingPort, role: () => Primary) {
    this.#world = world;
    this.#port = port;
    this.#role = role;
    this.#set = role().set;
    this.#since = world.clock.elapsed();
    const { kind, view, clock, random, store, timers, log, version } = world;
    const { filtering, besideView, maxSecondaries } = world;
    const hasFilters = filtering !== undefined && kind === "performance";
    this.#secondaries = new Secondaries({
      view,
      kind,
      clock,
      random,
      knownBefore,
      ...(hasFilters ? { coming: comingFilters } : {}),
      ...(maxSecondaries === undefined ? {} : { maxSecondaries }),
      ...(besideView === undefined ? {} : { besideView }),
    });
    this.#holders = new AuthorityHolders({ ...world, secondaries: this.#secondaries });
    const ports = {
      epoch: () => this.epoch.number,
      epochFirst: () => this.epoch.first,
      epochProof: () =>
        epochProof(this.#secondaries.material.authority.key, { ...this.#name, epoch: this.epoch }),
      keysVersion: () => showKeysVersion(world.barrier.keysVersion),
      clusterId: world.clusterId(),
      version,
      apiAddress: world.apiAddress,
      clusterAddresses: () => this.addresses,
      isKnown: (id: string) => this.#secondaries.known().some((one) => one.id === id),
      known: () => this.#secondaries.known().map(({ id }) => id),
      joined: () =>
        this.#secondaries
          .known()
          .filter(({ used }) => used !== null)
          .map(({ id }) => id),
      confirm: async (hello: Hello, peer: Peer) => {
        const { clusterId, isTrial, formers, region, publicKey } = hello;
        if (clusterId === world.clusterId()) throw primaryItself();
        if (kind === "performance" && region === world.region()) throw regionTaken();
        const named = kind === "performance" && isRegionName(region) ? region : "";
        const stand = kind === "performance" ? standOf(hello) : null;
        if (isTrial) {
          this.#secondaries.mayCome(peer, clusterId, { formers, region: named, stand, publicKey });
          return;
        }
        await this.#secondaries.confirm(peer, clusterId, {
          transactionBytes: transactionBytesOf(hello.limits),
          addresses: usableAddresses(hello.clusterAddresses).slice(0, SIBLING_ADDRESSES),
          formers,
          region: named,
          stand,
        });
        this.#transactionBytes = this.#leastBytes();
        this.#filters?.membersChanged();
      },
      siblings: (id: string) => this.#siblingsOf(id),
      ...(world.around === undefined ? {} : { around: world.around.members }),
      failover: () => (kind === "performance" ? (world.standIns?.() ?? []) : []),
      revoked: () => this.#secondaries.revokedSerials().slice(-TOLD_REVOKED),
      revokedClusters: () => (kind === "performance" ? storedRevokedClusters(view) : []),
      superseded: world.superseded,
      reached: world.lease.reached,
    };
    this.#filters = !hasFilters
      ? null
      : new Filters({
          ...filtering,
          store,
          view,
          clock,
          timers,
          log,
          known: (reads) => this.#secondaries.known(reads),
          set: () => this.#set,
        });
    this.#sender = new Sender({
      ...(this.#filters === null ? {} : { filters: this.#filters }),
      kind,
      store,
      clock,
      timers,
      log,
      ports,
      figures: world.figures,
      ...(world.utilization === undefined ? {} : { utilization: world.utilization }),
    });
    this.#elsewhere = new CountedElsewhere(world.barrier);
    this.#counting = new Recurring({
      trouble: "could not count what secondaries have sealed",
      run: async () => {
        this.#countSealed();
        if (this.#world.leads()) await this.markRevoked();
      },
      period: 5n * SECOND,
      timers,
      log,
    });
    this.#renewing = new Recurring({
      trouble: "could not renew the certificate of the cluster port",
      run: async () => {
        const issued = await this.#secondaries.renewServer();
        if (issued === null) return;
        this.open();
        const fields = { event: "replication.certificate-renewed", kind };
        log.info("the cluster port has another certificate of the set", {
          ...fields,
          expires: showTime(issued.expires),
        });
      },
      period: 12n * HOUR,
      timers,
      log,
    });
  }

  get #name(): SetName {
    return { set: this.#set, kind: this.#world.kind };
  }

  get epoch(): Epoch {
    return this.#role().epoch;
  }

  /** Where secondaries are told to come. */
  get addresses(): readonly string[] {
    const { address } = this.#role();
    const own = address === "" ? this.#world.clusterAddress() : address;
    return own === "" ? [] : [own];
  }

  /** Throws where members of this kind are always sent everything. */
  get filters(): Filters {
    invariant(this.#filters !== null, "filters are of performance replication");
    return this.#filters;
  }

  /** How many mounts and namespaces a member is not sent. */
  withheldFrom(id: string): number {
    return this.#filters?.countOf(id) ?? 0;
  }

  get secondaries(): Secondaries {
    return this.#secondaries;
  }

  get known(): readonly string[] {
    return this.#secondaries.known().map(({ id }) => id);
  }

  members(): readonly MemberStatus[] {
    return this.#sender.members();
  }

  /** What members have given by mounts that go. */
  get evacuations(): Evacuations {
    return this.#sender.evacuations;
  }

  /** What members have given by a mount, below a place. */
  leasesElsewhere(question: LeaseQuestion): Promise<LeasesOfMembers> {
    return this.#sender.leasesElsewhere(question);
  }

  /** Those that were there once, and have not come since this began, though there was time. */
  absent(): readonly string[] {
    if (this.#world.clock.elapsed() - this.#since < COMING) return [];
    const met = new Set(this.members().map(({ id }) => id));
    const gone = this.#secondaries.known().filter(({ id, used }) => used !== null && !met.has(id));
    return gone.map(({ id }) => id);
  }

  /** What one transaction may have, so that every known secondary can take it; null where none has come. */
  get transactionBytes(): number | null {
    return this.#transactionBytes;
  }

  /** Every write looks at it, so it is kept. */
  #leastBytes(): number | null {
    const all = this.#secondaries.known().flatMap(({ transactionBytes: one }) => one ?? []);
    return all.length === 0 ? null : Math.min(...all);
  }

  /** Those that can be asked for what is damaged here. */
  replicas(): readonly Replica[] {
    return this.#sender.replicas();
  }

  /** Where those are that have come once, as they have said last. */
  get places(): readonly string[] {
    const placesOf = this.#places();
    const came = this.#secondaries.known().filter(({ used }) => used !== null);
    return [...new Set(came.flatMap(placesOf))];
  }

  #places(): (one: KnownSecondary) => readonly string[] {
    const said = new Map(
      this.members().map((one) => [one.id, usableAddresses(one.clusterAddresses)]),
    );
    return ({ id, addresses }) => {
      const now = said.get(id) ?? [];
      return (now.length > 0 ? now : addresses).slice(0, SIBLING_ADDRESSES);
    };
  }

  /** By whom a member can be told who leads, where this cluster cannot: those that are known now. */
  #siblingsOf(id: string): Sibling[] {
    const placesOf = this.#places();
    const others = this.#secondaries.known().filter((one) => one.id !== id && one.used !== null);
    return others.map((one) => ({
      addresses: placesOf(one),
      serials: one.certificates.map(({ serial }) => serial),
      id: one.id,
      cluster: one.clusterId,
      digests: digestsOf(one),
    }));
  }

  /** Under the data key that all of them share. Who is gone is noticed on the way. */
  #countSealed(): void {
    this.#sender.tellNews();
    for (const { id, keysVersion, encryptions } of this.#sender.members()) {
      const term = readKeysVersion(keysVersion)?.term;
      const count = encryptions < MAX_COUNT ? Number(encryptions) : Number(MAX_COUNT);
      if (term !== undefined) this.#elsewhere.note(id, { term, encryptions: count });
    }
  }

  /** What of the log they need; see storage/trimming.ts. */
  get retention() {
    return this.#sender.retention;
  }

  /** Also with another certificate of the port: then sessions begin anew. */
  open(): void {
    this.#transactionBytes = this.#leastBytes();
    const { authority, server } = this.#secondaries.material;
    this.#port.serve({
      ...this.#name,
      authority: authority.certificate,
      certificate: server.certificate,
      key: server.key,
      table: this.#table,
      greet: (hello, peer) => this.#greet(hello, peer),
      isReplaced: (peer, cluster) =>
        this.#world.kind === "performance" && this.#secondaries.isReplaced(peer, cluster),
      revoked: this.#secondaries.revokedSerials(),
    });
    this.#filters?.open();
    this.#renewing.open();
    this.#counting.open();
  }

  /** Durable, then it is told, then its sessions are cut, and only then does this resolve. Gives the ids that were revoked: with that
   *  of a cluster go those that it had before, since their certificates are its own as well. None where nobody is known by that name. */
  async revoke(named: string): Promise<readonly string[]> {
    const id = this.#idOf(named);
    const known = this.#secondaries.known();
    const isMeant = meantBy(named, id, known);
    const revoked: string[] = [];
    const ids = [...idsBefore(id, known), id];
    for (const one of ids) {
      const serials = await this.#secondaries.revoke(one);
      if (serials.length > 0) revoked.push(one);
      await this.#sender.drop(one, "revoked");
      this.#elsewhere.forget(one);
      for (const serial of serials) this.#port.revoke(this.#name, serial);
    }
    this.#transactionBytes = this.#leastBytes();
    if (this.#secondaries.known().every(({ used }) => used === null)) {
      await this.#world.lease.release();
      await this.markRevoked();
    }
    const isFormer = await this.#world.revokeFormer(isMeant);
    // Last: what it withholds does not leave because it goes, and nobody stays connected because it cannot.
    for (const one of ids) {
      await this.#filters?.forget(one, known.find((other) => other.id === one)?.clusterId ?? "");
    }
    return revoked.length === 0 && isFormer ? [id] : revoked;
  }

  /** In the other kind, before anybody is heard there: who could not be marked when it was revoked. What fails is done later. */
  async markRevoked(): Promise<void> {
    try {
      await this.#secondaries.markRevoked();
    } catch (error) {
      this.#world.log.warn("could not write down who is revoked among those that share data", {
        cause: describe(error),
      });
    }
  }

  /** By its own id; else by that of its cluster, by the one that it had at the primary of before, or by that of the set where it is
   *  the only one, which status shows under similar names. */
  #idOf(named: string): string {
    const known = this.#secondaries.known();
    if (known.some(({ id }) => id === named)) return named;
    const before = storedSiblings(this.#world.view).filter(({ id }) => id === named);
    const clusters = [named, ...before.map(({ cluster }) => cluster)];
    const ofCluster = known.filter(
      (one) => one.clusterId !== "" && clusters.includes(one.clusterId),
    );
    const meant = named === this.#set ? known : ofCluster;
    if (meant.length > 1) throw failures.ambiguousSecondary();
    return meant[0]?.id ?? named;
  }

  /** The last entry is written: who has it within ten seconds. */
  finish(): Promise<Finished> {
    return this.#sender.finish();
  }

  async close(reason: string): Promise<void> {
    await this.#renewing.close();
    await this.#counting.close();
    await this.#sender.close(reason);
    this.#filters?.close();
    this.#port.forget(this.#name);
  }

  async #greet(hello: Hello, peer: Peer): Promise<Greeting> {
    const { kind, region } = this.#world;
    const holder = kind === "performance" ? this.#holders.greet(hello, peer) : null;
    if (holder !== null) return holder;
    const greeting = await this.#sender.greet(hello, peer);
    return kind === "performance" ? { ...greeting, region: region() } : greeting;
  }

  get #table(): ServiceTable<Peer> {
    const { barrier, store, random, fenced, leads, adopted, signedEpoch } = this.#world;
    const own = joiningCalls(this.#name, {
      secondaries: this.#secondaries,
      heard: this.#holders,
      ...(signedEpoch === undefined ? {} : { signedEpoch }),
      barrier,
      store,
      random,
      checkEpoch: (number) => {
        if (number !== this.epoch.number) {
          throw failures.epochSuperseded(number, this.epoch.number);
        }
      },
      fenced,
      leads,
      adopt: (rows, from) => adopted.take(rows, from),
    });
    const further = this.#world.kind === "performance" ? (this.#world.forwarded?.() ?? []) : [];
    const all = [...own, ...further].map((one) => [one.shape.path, one] as const);
    return new Map([...this.#sender.table, ...all]);
  }
}

/** Of the log of whoever comes; null where it says nothing of it. */
function standOf({ logEpoch: epoch, logFirst: first }: Hello): LogStand | null {
  return epoch > 0 && /^\d{1,20}$/.test(first) ? { epoch, first } : null;
}

/** Of each of its certificates in their order, empty where it is not known: the others are still told apart. */
function digestsOf({ certificates }: KnownSecondary): string[] {
  const all = certificates.map(({ digest }) => digest ?? "");
  return all.some((digest) => digest !== "") ? all : [];
}

/** By which the same cluster came before it came by this one. */
function idsBefore(id: string, known: readonly KnownSecondary[]): string[] {
  const { clusterId, used } = known.find((one) => one.id === id) ?? {};
  if (clusterId === undefined || clusterId === "" || used === null) return [];
  const before = known.filter(
    (one) => one.clusterId === clusterId && one.used !== null && one.used < used!,
  );
  return before.map((one) => one.id);
}

/** Who of those that the primary of before knew is revoked with this one: the same cluster. Where no cluster has come by that name:
 *  the one that was known there by it. Nobody who follows here under another name. */
function meantBy(named: string, id: string, known: readonly KnownSecondary[]) {
  const cluster = known.find((one) => one.id === id)?.clusterId ?? "";
  const others = new Set(known.flatMap((one) => (one.id === id ? [] : one.clusterId)));
  others.delete("");
  const isOne = (sibling: Sibling) =>
    cluster === ""
      ? sibling.id === named || sibling.cluster === named
      : sibling.cluster === cluster;
  return (sibling: Sibling) => isOne(sibling) && !others.has(sibling.cluster);
}
