// The side of a primary: greets secondaries, sends them rows and the log, and keeps the book of them. It only reads
// the store. Who may come and what the epoch is are the business of whoever makes it.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos, Timers } from "@holdfast/shared/world";
import { type Greeting, type Hello, PROTOCOL, REPLACED } from "../../cluster/hello.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { Peer } from "../../cluster/verify.ts";
import {
  type Call,
  serveBidirectional,
  serveUnary,
  type ServiceTable,
  serviceTable,
} from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { mountScope } from "../../barrier/scope.ts";
import { encodeTimeline } from "../../storage/rows/head.ts";
import type { Replica } from "../../storage/repair/heal.ts";
import type { Store } from "../../storage/store.ts";
import type { ReplicationFigures } from "../figures.ts";
import { PerMinute } from "../per-minute.ts";
import { type Decision, factsOf, sentDecision } from "./decision.ts";
import { measure } from "./echo-times.ts";
import {
  CountingLeases,
  type LeaseQuestion,
  type LeasesOfMembers,
} from "../sending/counting-leases.ts";
import { Evacuations, type Heard } from "./evacuated.ts";
import type { MemberFilter, MemberFilters } from "../filters/filters.ts";
import { LEAVING, LogSession } from "./log-session.ts";
import { CommitTimes } from "./commit-times.ts";
import { LogTail } from "./log-tail.ts";
import { leftIds, Member, type MemberStatus } from "./members.ts";
import * as messages from "./messages.ts";
import { readableMembers, sentMembers } from "../topology/set-members.ts";
import { Questions } from "./questions.ts";
import { mayLeave, type SentPart, sentTo } from "../sending/sent-part.ts";
import { isSlotOf } from "../../storage/rows/merkle.ts";
import { servedRows } from "../sending/serving-rows.ts";

const FINISH: Nanos = 10n * SECOND;
const MAX_MEMBERS = 128; // of those that came since we lead: some have been revoked since
const WARN_SKEW: Nanos = 2n * SECOND;
const CONNECTED = "replication.secondary-connected";
const DISCONNECTED = "replication.secondary-disconnected";

/** What a sender is told by those around it. */
export interface SenderPorts {
  /** Of the set. */
  readonly epoch: () => number;
  /** Its first index, as the proof has it. */
  readonly epochFirst: () => string;
  /** For members that follow an earlier epoch: that the present one is no stranger's. */
  readonly epochProof: () => Uint8Array;
  readonly keysVersion: () => string;
  readonly clusterId: string;
  readonly version: string;
  readonly apiAddress: () => string;
  readonly clusterAddresses: () => readonly string[];
  readonly isKnown: (id: string) => boolean;
  /** All that may come, whether they have come or not. */
  readonly known: () => readonly string[];
  /** Of those the ones that have come once. */
  readonly joined: () => readonly string[];
  /** Looks at who has come, beyond its certificate; throws where it is not taken. Of a trial nothing is kept. */
  readonly confirm: (hello: Hello, peer: Peer) => Promise<void>;
  /** The members that have come once, without the one of this id. Default: none is known. */
  readonly siblings?: (id: string) => readonly messages.Sibling[];
  /** Where those are that stand in for this cluster. Default: nobody does. */
  readonly failover?: () => readonly string[];
  /** Clusters that are not believed to lead. Default: none is named. */
  readonly revokedClusters?: () => readonly string[];
  /** All clusters of the set that are known here. Default: nobody is told of any. */
  readonly around?: () => readonly messages.SetMember[];
  /** Serials of those that are members no more, the latest. Default: none is known. */
  readonly revoked?: () => readonly string[];
  /** A member that follows was heard of. */
  readonly reached?: () => void;
  /** A member speaks of a later epoch than ours: somebody else leads by now. */
  readonly superseded: (epoch: number) => void;
}

export interface SenderParts {
  /** Of the members. Default: they stand in for this cluster, and are sent everything. */
  readonly kind?: ReplicationKind;
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly ports: SenderPorts;
  readonly figures?: ReplicationFigures;
  /** Which share of its time this process has worked of late. Default: it has plenty. */
  readonly utilization?: () => number;
  /** What members are not sent. Default: they are sent all that their kind is. */
  readonly filters?: MemberFilters;
}

/** Who has the last entry of all. */
export interface Finished {
  readonly index: bigint;
  readonly acknowledged: readonly string[];
  readonly missing: readonly string[];
  /** From whom something is withheld. */
  readonly filtered: readonly string[];
}

export class Sender {
  readonly #store: Store;
  readonly #parts: SenderParts;
  readonly #ports: SenderPorts;
  readonly #sent: SentPart;
  readonly #isShared: boolean;
  readonly #tail: LogTail;
  readonly #times: CommitTimes;
  readonly #members = new Map<string, Member>();
  readonly #waiting = new Set<() => void>(); // for acknowledgements
  readonly #questions: Questions;
  readonly #counting: CountingLeases;
  /** What a member can cause to be written into the log of this server, of each kind. */
  readonly #lines: PerMinute;
  #final: messages.Place | null = null;
  #announced = "[]"; // whom members were told of last
  #isClosed = false;
  readonly #unwatch: () => void;
  readonly table: ServiceTable<Peer>;
  /** What members have given by mounts that go. */
  readonly evacuations: Evacuations;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#ports = parts.ports;
    const { kind = "dr" } = parts;
    this.#sent = sentTo(kind);
    this.#isShared = kind === "performance";
    this.#tail = new LogTail(parts.store);
    this.#questions = new Questions(parts.timers);
    this.#counting = new CountingLeases(parts.timers);
    this.#lines = new PerMinute(parts.clock, 1);
    this.#times = new CommitTimes(parts.store, parts.clock);
    this.evacuations = new Evacuations(() => this.#heard(), parts.timers);
    this.table = this.#served();
    this.#unwatch = parts.filters?.onChange(() => this.#wakeAll()) ?? (() => {});
  }

  /** As a served set wants it. */
  readonly greet = async (hello: Hello, peer: Peer): Promise<Greeting> => {
    const { ports } = this.#parts;
    this.#assertKnown(peer);
    if (hello.epoch > ports.epoch()) this.#supersede(hello.epoch, peer);
    await ports.confirm(hello, peer);
    this.#assertKnown(peer); // it took its time
    await this.#parts.filters?.ready();
    const decision = this.#decide(hello, peer);
    if (!hello.isTrial) this.#take(hello, peer, decision);
    return {
      epoch: ports.epoch(),
      epochProof: ports.epochProof(),
      epochFirst: ports.epochFirst(),
      timeline: encodeTimeline(this.#store.timeline!),
      clusterId: ports.clusterId,
      protocol: PROTOCOL,
      version: ports.version,
      decision: sentDecision(decision),
      keysVersion: ports.keysVersion(),
      head: this.#store.index,
      time: this.#parts.clock.now(),
      withheld: this.#parts.filters?.countFor(peer.id, hello.clusterId) ?? 0,
    };
  };

  /** Entries that speak of mounts which were gone before their places were read cannot be judged: then rows are compared. */
  #decide(hello: Hello, { id }: Peer): Decision {
    const { filters } = this.#parts;
    const decision = this.#sent.decide(hello, factsOf(this.#store));
    if (decision.kind !== "resume" || filters === undefined) return decision;
    const isKnown = filters.of(id) === null || hello.cursor!.index >= filters.since;
    return isKnown ? decision : { kind: "diff" };
  }

  #take(hello: Hello, peer: Peer, decision: Decision): void {
    const member = this.#meet(hello, peer);
    if (hello.cursor !== null) this.#parts.figures?.met(decision);
    this.tellNews();
    this.#tellMembers();
    if (decision.kind === "resume") member.acknowledge(hello.cursor!.index);
    // A copy goes on: it will need the log from where it began.
    if (decision.kind === "copy" && hello.half !== null) {
      member.pin(this.#sent.anchorOf(hello) + 1n);
    }
  }

  /** Everybody that came since we lead, by id. */
  members(): MemberStatus[] {
    const now = this.#parts.clock.now();
    const { index } = this.#store;
    const waiting = (after: bigint) => this.#times.waiting(after);
    return Array.from(this.#members.values(), (member) => member.status(now, index, waiting));
  }

  /** All that were there once; of one that has not come since we lead nothing is known. */
  #heard(): Heard[] {
    const met = new Map(this.members().map((one) => [one.id, one]));
    const away = { isConnected: false, evacuations: [] };
    return this.#awaited(this.#ports.joined()).map((id) => ({
      ...(met.get(id) ?? { id, ...away }),
      lacks: (mount) => this.#lacks(id, mount),
    }));
  }

  #filterOf(id: string): MemberFilter | null {
    return this.#parts.filters?.of(id) ?? null;
  }

  #lacks(id: string, mount: string): boolean {
    return this.#filterOf(id)?.lets(mountScope(mount)) === false;
  }

  /** All that were there once and are known are asked, but for those that have given nothing, and those that are not to hear what is in
   *  the mount. */
  async leasesElsewhere(question: LeaseQuestion): Promise<LeasesOfMembers> {
    const able = this.#heard().filter(
      ({ id, evacuations }) => evacuations !== null && !this.#lacks(id, question.mount),
    );
    const { index } = this.#parts.store; // a role that is deleted by now is deleted there before it is answered
    const answers = able.map(async ({ id }) => {
      const stream = this.#members.get(id)?.stream;
      const isAble = stream instanceof LogSession;
      return { id, count: isAble ? await this.#counting.ask(id, stream, question, index) : null };
    });
    const all = await Promise.all(answers);
    return {
      count: all.reduce((sum, { count }) => sum + (count ?? 0), 0),
      missing: all.flatMap(({ id, count }) => (count === null ? [id] : [])),
    };
  }

  /** Who has come and who was not heard of for too long, once each. */
  tellNews(): void {
    const { clock, log } = this.#parts;
    const now = clock.now();
    for (const member of this.#members.values()) {
      const isConnected = member.news(now);
      if (isConnected === null) continue;
      const fields = { secondary: member.id };
      if (isConnected) {
        log.info("a secondary is connected", { event: CONNECTED, ...fields });
      } else log.warn("a secondary is gone", { event: DISCONNECTED, ...fields });
    }
  }

  /** Those that follow the log now and can be asked for what is damaged here; who has most of it first. Who has shared rows alone is asked
   *  for these. */
  replicas(): Replica[] {
    const found = [...this.#members.values()].flatMap((member) => {
      const { stream, id } = member;
      // Who is not sent everything says of what it lacks that it is not there.
      const isWhole = this.#filterOf(id) === null;
      const isAble = stream instanceof LogSession && this.#ports.isKnown(id) && isWhole;
      return isAble ? [{ member, stream }] : [];
    });
    const has = ({ acknowledged }: Member) => acknowledged ?? -1n;
    return found
      .toSorted((a, b) => Number(has(b.member) - has(a.member)))
      .map(({ member, stream }) =>
        this.#sharedOf(this.#questions.replica(member.id, stream, () => this.#store.index)),
      );
  }

  #sharedOf(replica: Replica): Replica {
    if (!this.#isShared) return replica;
    const isSent = (slot: number) => this.#sent.trees.some((name) => isSlotOf(name, slot));
    return {
      name: replica.name,
      keys: async (slots) => {
        const sent = slots.filter(isSent);
        return sent.length === 0 ? [] : await replica.keys(sent);
      },
      rows: async (keys) => {
        const sent = keys.filter((key) => mayLeave(this.#sent, key));
        return sent.length === 0 ? [] : await replica.rows(sent);
      },
    };
  }

  /** All that may come, without ids that their cluster has left. */
  #awaited(ids = this.#ports.known()): readonly string[] {
    const left = this.#left();
    return ids.filter((id) => !left.has(id));
  }

  /** Each may have to take over at any moment, and is to know the others then: nobody waits for the next echo. */
  #tellMembers(): void {
    const now = JSON.stringify(this.#siblingsOf(""));
    if (now === this.#announced) return;
    this.#announced = now;
    for (const { stream } of this.#members.values()) {
      if (stream instanceof LogSession) stream.tellNews();
    }
  }

  /** By an id that its cluster has left nobody answers. */
  #siblingsOf(id: string): readonly messages.Sibling[] {
    const left = this.#left();
    return (this.#ports.siblings?.(id) ?? []).filter((one) => !left.has(one.id));
  }

  #left(): ReadonlySet<string> {
    return leftIds(this.#ports.siblings?.("") ?? [], this.members());
  }

  /** The first index that a known secondary still needs; null where there is none. One that has not come yet needs
   *  all there is: how long the log is kept at all is not decided here. */
  needed(ids = this.#awaited()): bigint | null {
    const first = this.#store.tail?.first ?? 0n;
    return least(ids.map((id) => this.#members.get(id)?.needed ?? first));
  }

  /** The first index that somebody needs who takes over rows just now; null where nobody does. */
  pinned(ids = this.#awaited()): bigint | null {
    const known = ids.map((id) => this.#members.get(id)?.pinned ?? null);
    return least(known.filter((pin) => pin !== null));
  }

  /** What the trimmer is to keep for them. */
  get retention(): { readonly acknowledged: bigint | null; readonly pinned: bigint | null } {
    const ids = this.#awaited();
    const needed = this.needed(ids);
    return { acknowledged: needed === null ? null : needed - 1n, pinned: this.pinned(ids) };
  }

  /** Tells it why, and sends it nothing more; resolves when it has heard. That it does not come again is not decided
   *  here. */
  async drop(id: string, reason: string): Promise<void> {
    const member = this.#members.get(id);
    this.#members.delete(id);
    this.#tellMembers();
    await this.#end(member === undefined ? [] : [member], reason);
  }

  /** Not for ever: one that does not read hears nothing. */
  async #end(members: Iterable<Member>, reason: string): Promise<void> {
    const ending = [...members].map(({ stream }) => stream?.end(reason) ?? Promise.resolve());
    const late = Promise.withResolvers<void>();
    const timer = this.#parts.timers.after(LEAVING, late.resolve);
    await Promise.race([Promise.all(ending), late.promise]);
    timer.cancel();
  }

  /**
   * The last entry has been written: everybody is told so, and has ten seconds to make it durable. Resolves
   * earlier when all that ever came have.
   */
  async finish(): Promise<Finished> {
    const { index, chain } = this.#store.head!;
    this.#final = { index, chain };
    const joined = () => this.#awaited(this.#ports.joined());
    const missing = () =>
      joined().filter((id) => (this.#members.get(id)?.acknowledged ?? -1n) < index);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#parts.timers.after(FINISH, resolve);
    const look = () => {
      if (missing().length === 0 && this.#isFinalHeard()) resolve();
    };
    this.#waiting.add(look);
    this.#wakeAll();
    look();
    await promise;
    timer.cancel();
    this.#waiting.delete(look);
    const late = missing();
    const acknowledged = joined().filter((id) => !late.includes(id));
    const filtered = joined().filter((id) => this.#filterOf(id) !== null);
    return { index, acknowledged, missing: late, filtered };
  }

  /** Everybody is told why. Nothing is sent any more. */
  async close(reason: string): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unwatch();
    this.#tail.close();
    this.#times.close();
    await this.#end(this.#members.values(), reason);
  }

  #isFinalHeard(): boolean {
    const streams = Array.from(this.#members.values(), ({ stream }) => stream);
    return streams.every((stream) => !(stream instanceof LogSession) || stream.isFinalHeard);
  }

  #wakeAll(): void {
    for (const { stream } of this.#members.values()) {
      if (stream instanceof LogSession) stream.wake();
    }
  }

  #served(): ServiceTable<Peer> {
    return serviceTable<Peer>([
      ...servedRows({
        ...this.#parts,
        sent: this.#sent,
        admit: (epoch, call) => this.#admit(epoch, call),
        filterOf: ({ id }) => this.#filterOf(id),
      }),
      serveUnary(messages.withheld, async (request, call) => this.#withheld(request, call)),
      serveBidirectional(messages.streamLog, (requests, call) => this.#stream(requests, call)),
      serveUnary(messages.healed, async (request, call) => {
        this.#questions.take(this.#admit(request.epoch, call).id, request);
        return {};
      }),
      serveUnary(messages.countedLeases, async (request, call) => {
        this.#counting.take(this.#admit(request.epoch, call).id, request);
        return {};
      }),
      serveUnary(messages.echo, async (request, call) => this.#echo(request, call)),
      serveUnary(messages.aroundMe, async ({ epoch, standIns }, call) => {
        const member = this.#admit(epoch, call);
        member.standIns(readableMembers(standIns), this.#parts.clock.now());
        return { members: sentMembers(this.#ports.around?.() ?? []) };
      }),
    ]);
  }

  #stream(
    requests: AsyncIterable<messages.ToSender>,
    call: Call<Peer>,
  ): AsyncGenerator<messages.ToReceiver> {
    const { store, clock, timers, utilization } = this.#parts;
    const member = this.#memberOf(call);
    const session = new LogSession({
      ...(utilization === undefined ? {} : { utilization }),
      store,
      tail: this.#tail,
      member,
      clock,
      timers,
      admit: (epoch) => void this.#admit(epoch, call),
      acknowledged: () => this.#waiting.forEach((look) => look()),
      final: () => this.#final,
      sharedOnly: this.#isShared,
      filter: () => this.#filterOf(member.id),
    });
    return session.run(requests, call.signal);
  }

  #withheld(
    { epoch, version }: { readonly epoch: number; readonly version: string },
    call: Call<Peer>,
  ): messages.WithheldAnswer {
    const filter = this.#filterOf(this.#admit(epoch, call).id);
    const now = filter?.version ?? "";
    const isSame = version === now;
    const placesIn = (of: ReadonlyMap<string, string> | undefined) =>
      isSame
        ? []
        : Array.from(of ?? [], ([id, path]) => ({ id, path })).slice(0, messages.MAX_WITHHELD);
    return {
      version: now,
      isSame,
      mounts: placesIn(filter?.present.mounts),
      namespaces: placesIn(filter?.present.namespaces),
    };
  }

  #echo(request: messages.EchoSent, call: Call<Peer>): messages.EchoAnswer {
    const { clock, log } = this.#parts;
    const t1 = clock.now();
    const member = this.#admit(request.epoch, call);
    const measured = request.before === null ? null : measure(request.before);
    const isApart = measured !== null && (measured.skew > WARN_SKEW || measured.skew < -WARN_SKEW);
    if (isApart && this.#lines.take(`clock ${member.id}`) === 0) {
      log.warn("the clock of a secondary is not ours", {
        secondary: member.id,
        skew_ms: Number(measured.skew / 1_000_000n),
      });
    }
    member.echo(request, measured, t1, call.peer.from);
    const from = member.doubledFrom(t1);
    if (member.isDoubled(t1) && this.#lines.take(`double ${member.id}`) === 0) {
      log.error("two clusters come by turns as one secondary: one is a copy of the other", {
        event: "replication.secondary-duplicated",
        secondary: member.id,
        ...(from.length === 0 ? {} : { from: from.join() }),
        remedy: "stop the copy; it joins with an empty data directory and a token of its own",
      });
    }
    this.#ports.reached?.();
    this.#tellMembers();
    this.evacuations.heard();
    return {
      epoch: this.#ports.epoch(),
      t1,
      t2: clock.now(),
      head: this.#store.index,
      apiAddress: this.#ports.apiAddress(),
      clusterAddresses: this.#ports.clusterAddresses(),
      keysVersion: this.#ports.keysVersion(),
      siblings: this.#siblingsOf(member.id),
      revoked: this.#ports.revoked?.() ?? [],
      failover: (this.#ports.failover?.() ?? []).slice(0, messages.ADDRESSES),
      revokedClusters: (this.#ports.revokedClusters?.() ?? []).slice(-messages.TOLD_REVOKED),
    };
  }

  #admit(epoch: number, call: Call<Peer>): Member {
    const own = this.#ports.epoch();
    const member = this.#memberOf(call);
    if (epoch > own) this.#supersede(epoch, call.peer);
    if (epoch < own) throw new StatusError(Status.aborted, `the set is in epoch ${own} by now`);
    return member;
  }

  #supersede(epoch: number, { id }: Peer): never {
    if (this.#lines.take(`epoch ${id}`) === 0) this.#ports.superseded(epoch);
    throw new StatusError(Status.failedPrecondition, "somebody else leads by now");
  }

  #memberOf({ peer }: Call<Peer>): Member {
    this.#assertKnown(peer);
    const member = this.#members.get(peer.id);
    if (member === undefined) throw new StatusError(Status.failedPrecondition, "say hello first");
    return member;
  }

  #assertKnown({ id }: Peer): void {
    // A sealed one does not know its trees.
    if (this.#isClosed || this.#store.locked) {
      throw new StatusError(Status.unavailable, "this cluster sends nothing now");
    }
    if (this.#ports.isKnown(id)) return;
    throw new StatusError(Status.permissionDenied, "no such secondary is known");
  }

  #meet(hello: Hello, { id }: Peer): Member {
    const now = this.#parts.clock.now();
    const known = this.#members.get(id);
    const isOther = hello.cursor !== null && known?.clusterId !== hello.clusterId;
    if (known !== undefined && !isOther) {
      known.greet(hello, now);
      return known;
    }
    if (this.#members.size >= MAX_MEMBERS) {
      const gone = [...this.#members.keys()].find((other) => !this.#ports.isKnown(other));
      if (gone !== undefined) this.#members.delete(gone);
    }
    // Another cluster comes in its place: the one of before is told so, and sent nothing more.
    void known?.stream?.end(REPLACED);
    const member = new Member(id, hello, now);
    this.#members.set(id, member);
    return member;
  }
}

function least(indexes: readonly bigint[]): bigint | null {
  return indexes.reduce<bigint | null>((min, one) => (min === null || one < min ? one : min), null);
}
