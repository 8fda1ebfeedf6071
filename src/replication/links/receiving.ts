// A secondary at work: it finds its primary, follows its log, takes over rows where that is not enough, and fetches keys.
// What it has to remember lies in rows of this cluster alone. Loaded when a cluster first has something to do with others.

import { X509Certificate } from "node:crypto";
import { base64 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { Recurring } from "../../base/recurring.ts";
import type { HelloAnswer } from "../../cluster/hello.ts";
import { isClusterId, isRegionName, isSerial, type ReplicationKind } from "../../cluster/names.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import type { Store } from "../../storage/store.ts";
import {
  clusterAddressText,
  isCalled,
  parseClusterAddress,
  usableAddresses,
  usableApiAddress,
} from "../addresses.ts";
import { placesIn } from "../applied/applied-place.ts";
import { SurplusRows } from "../cascades/surplus-rows.ts";
import { logStand } from "../cascades/log-stand.ts";
import { TellingFormer } from "../cascades/telling-former.ts";
import { isCopying } from "../data/shared-data.ts";
import { peerUnproven } from "../failures.ts";
import type { ReplicationFigures } from "../figures.ts";
import type { Heard } from "../heard.ts";
import { fetchCertificate, fetchKeys, sendOrphans } from "../joining/calls.ts";
import { showKeysVersion } from "../joining/key-bundle.ts";
import { type Membership, putMembership, storedMembership } from "../joining/membership.ts";
import {
  isRevoked,
  putRevokedClusters,
  putRevokedThere,
  storedRevokedThere,
} from "../joining/primary-rows.ts";
import { isRenewalDue } from "../joining/secondaries.ts";
import { provesEpoch } from "../joining/proofs.ts";
import type { ReplicationOptions } from "../options.ts";
import { putMark, storedMark } from "../stream/mark.ts";
import {
  addressesOf,
  after,
  type Epoch,
  isNext,
  isOlder,
  type Secondary,
  surplusOf,
} from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { readDecision } from "../stream/decision.ts";
import { noAddress } from "../stream/failures.ts";
import {
  logReceiver,
  type Receiver,
  type ReceiverStatus,
  sharedReceiver,
} from "../stream/receiver.ts";
import { ADDRESSES, MAX_EVACUATIONS, type SetMember, type Sibling } from "../stream/messages.ts";
import {
  type CallOutcome,
  type Connection,
  EVENT,
  type LinkPorts,
  type ReceiverPorts,
} from "../stream/receiving.ts";
import type { SetFromAbove } from "../topology/set-members.ts";
import { type DialingWorld, linkTo } from "./dialing.ts";
import type { Divergent } from "./divergent.ts";
import { type Answered, exchange, tellDisowned, tellSuperseded, tellUnclaimed } from "./fencing.ts";
import type { Orphans } from "./orphans.ts";
import { readable } from "./siblings.ts";
import {
  putSiblings,
  putSiblingsRevoked,
  storedSiblings,
  storedSiblingsRevoked,
  type Upstream,
} from "./upstream.ts";

/** The other secondaries, and the certificates of those that are none any more. */
interface Siblings {
  readonly siblings: readonly Sibling[];
  readonly revoked: readonly string[];
}

const UNREACHED = "the primary was not reached";

export interface LinkFailure {
  readonly at: Instant;
  readonly message: string;
}

export interface ReceivingWorld extends DialingWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly barrier: Barrier;
  readonly signedEpoch?: (epoch: Epoch) => Uint8Array;
  /** Of the rows of that kind. */
  readonly view: View;
  /** Of those that are of this cluster alone. */
  readonly own: View;
  readonly role: StoredRole;
  readonly divergent: Divergent;
  readonly orphans: Orphans;
  readonly heard: Heard;
  readonly random: Random;
  readonly log: Log;
  readonly figures: ReplicationFigures;
  readonly version: string;
  readonly clusterId: () => string;
  readonly apiAddress: () => string;
  readonly clusterAddress: () => string;
  readonly region: () => string;
  readonly takeKeys: ReplicationOptions["takeKeys"];
  readonly takeTicketsFrom: ReplicationOptions["takeTicketsFrom"];
  readonly followers?: ReplicationOptions["followers"];
  readonly evacuations?: ReplicationOptions["evacuations"];
  readonly countLeases?: ReplicationOptions["countLeases"];
  readonly withheld?: ReplicationOptions["withheld"];
  readonly around?: ReplicationOptions["around"];
  /** It has another certificate from here on. */
  readonly renewed: (member: Membership) => void;
  /** The primary has told whom it has revoked, and it is stored. */
  readonly revoked: () => void;
}

export class Receiving {
  readonly #world: ReceivingWorld;
  #upstream: Upstream;
  readonly #receiver: Receiver;
  readonly #renewing: Recurring;
  readonly #handing: Recurring;
  readonly #asking: Recurring;
  readonly #telling: TellingFormer;
  readonly #ahead: SurplusRows | null = null;
  readonly #closing = new AbortController();
  readonly #closed = Promise.withResolvers<never>();
  #mark: bigint | null;
  #apiAddress = "";
  #lastFailure: LinkFailure | null = null;
  #siblings: Siblings;
  #connection: Connection | null = null;
  #isLogged = false;
  #fromAbove: (Omit<SetFromAbove, "ago"> & { readonly at: Nanos }) | null = null;

  constructor(world: ReceivingWorld, upstream: Upstream) {
    this.#world = world;
    this.#upstream = upstream;
    const { store, clock, timers, log, random, barrier, view, own } = world;
    this.#closed.promise.catch(() => {}); // who waits for it hears of it
    this.#mark = storedMark(own);
    this.#siblings = { siblings: storedSiblings(view), revoked: storedSiblingsRevoked(view) };
    this.#renewing = new Recurring({
      trouble: "could not renew the certificate of this secondary",
      run: () =>
        this.#renew().catch((error: unknown) => {
          if (!this.#closing.signal.aborted) throw error;
        }),
      period: 12n * HOUR,
      timers,
      log,
    });
    this.#handing = new Recurring({
      trouble: "could not hand over to the primary what was made outside and is given up",
      run: (isOpen) => this.#handOver(isOpen),
      pause: { first: SECOND, max: MINUTE },
      timers,
      log,
    });
    this.#asking = new Recurring({
      trouble: "could not find out who leads the set",
      run: () => this.#askWhoLeads(),
      atOnce: false,
      timers,
      log,
    });
    this.#telling = new TellingFormer({
      timers,
      log,
      exchange: (addresses) =>
        exchange(addresses, this.#upstream.member, this.#role.epoch, world, {
          signal: this.#closing.signal,
        }),
    });
    const ports: LinkPorts = {
      open: (address) => linkTo(address, this.#upstream.member, world),
      expires: () => this.#upstream.member.expires,
      addresses: () => addressesOf(this.#role),
      self: () => ({
        clusterId: world.clusterId(),
        version: world.version,
        apiAddress: world.apiAddress(),
        clusterAddresses: [world.clusterAddress()].filter((address) => address !== ""),
        region: world.region(),
        ...(world.kind === "performance" ? logStand(store) : {}),
      }),
      epoch: () => this.#role.epoch.number,
      accept: (answer) => this.#accept(answer),
      keys: (link) => this.#fetchKeys(link),
      // Who stands in for the primary may have made others of the same number.
      keysVersion: () => (this.#role.keysDue ? "" : showKeysVersion(barrier.keysVersion)),
      encryptions: () => BigInt(barrier.ownEncryptions),
      evacuations: () =>
        isCopying(this.#role) ? null : (world.evacuations?.() ?? []).slice(0, MAX_EVACUATIONS),
      ...(world.countLeases === undefined ? {} : { countLeases: world.countLeases }),
      heard: (time) => {
        world.heard.note(time, this.#receiver.status.highestAnnounced);
      },
      called: (outcome) => {
        world.heard.called(outcome);
        if (outcome.kind !== "takes") this.#note(outcome);
        if (outcome.kind === "refuses") this.#asking.wake();
      },
      compared: (isEqual) => {
        world.heard.compared(isEqual);
        if (isEqual) this.#settle();
      },
      met: (connection) => {
        this.#connection = connection;
        if (connection !== null) this.#handing.wake();
      },
      ended: (final) => this.#end(final.index),
      learned: (apiAddress, clusterAddresses, others) => {
        this.#learn(apiAddress, clusterAddresses, others.failover);
        this.#learnSiblings(others);
        this.#learnRevoked(others.revokedClusters);
      },
      ...(world.around === undefined
        ? {}
        : { around: { ...world.around, learned: (members) => this.#learnMembers(members) } }),
    };
    const parts = {
      store,
      clock,
      timers,
      log,
      figures: world.figures,
      announced: world.heard.announced,
      random,
    };
    if (world.kind === "dr") {
      this.#receiver = logReceiver({ ...parts, ports: { ...ports, ...this.#ofWholeLog() } });
      return;
    }
    const places = placesIn({ own, view });
    const ahead = new SurplusRows({ own, places, divergent: world.divergent, store });
    this.#ahead = ahead;
    const followers = ahead.before(world.followers!());
    this.#receiver = sharedReceiver({
      ...parts,
      ports,
      followers,
      places,
      surplus: {
        keep: () => this.#keepSurplus(),
        over: async () => void (await world.role.step({ do: "rewound" })),
      },
      ...(world.withheld === undefined ? {} : { withheld: world.withheld }),
    });
  }

  #learnMembers(members: readonly SetMember[]): void {
    this.#fromAbove = { by: this.#role.epoch.cluster, at: this.#world.clock.elapsed(), members };
  }

  /** Of whom the primary has told, and how long ago; null where it has not. */
  get fromAbove(): SetFromAbove | null {
    const from = this.#fromAbove;
    if (from === null) return null;
    return { ...from, ago: this.#world.clock.elapsed() - from.at };
  }

  #settle(): void {
    this.#ahead?.settle().catch((error: unknown) => {
      const { log } = this.#world;
      log.warn("could not write down that all was given up", { cause: describe(error) });
    });
  }

  /** Of a log of its own what is shared, since the primary of now parted from it. */
  async #keepSurplus(): Promise<boolean> {
    const { store, divergent, log } = this.#world;
    const found = surplusOf(this.#role);
    if (found === null) return false;
    const { led } = found;
    const [until, kept] = [BigInt(led.until), store.tail!.first - 1n];
    const wanted = found.fork ?? BigInt(led.since) - 1n;
    const fork = wanted > kept ? wanted : kept;
    const epoch = store.timeline!.epochs.at(-1)!.epoch;
    const count = await divergent.keepShared(store, { fork, until, epoch });
    const fields = { event: `${EVENT}.divergence-detected`, fork: String(fork), head: led.until };
    const isUnknown = wanted < kept && wanted < until;
    if (count > 0 && found.fork === null) {
      log.warn("it is not known what of these the primary has: all are kept", { ...fields, count });
    } else if (count > 0) {
      log.warn("shared entries here are not those of the primary", { ...fields, count });
    }
    if (isUnknown) {
      log.warn(
        "entries that only this cluster had are not in its log any more: nobody can list them",
        {
          ...fields,
          fork: String(wanted),
        },
      );
    }
    return true;
  }

  /** What only matters where the log here is that of the primary. */
  #ofWholeLog(): Omit<ReceiverPorts, keyof LinkPorts> {
    const { store, divergent, orphans, role } = this.#world;
    return {
      marks: {
        read: () => this.#mark,
        write: (index) => this.#writeMark(index),
      },
      mayRewind: () => this.#role.mayRewind,
      giveUp: async (surplus) => {
        await divergent.keep(store, surplus);
        await orphans.keep(surplus.keys);
        this.#handing.wake();
      },
      giveUpAll: async () => {
        if (!this.#hasLed) return;
        await orphans.keepAll();
        this.#handing.wake();
      },
      rewound: async () => void (await role.step({ do: "rewound" })),
    };
  }

  /** Until the primary has them, whatever comes between: they are kept here before anything is given up. */
  async #handOver(isOpen: () => boolean): Promise<void> {
    const { orphans, barrier, random, log } = this.#world;
    const connection = this.#connection;
    if (connection === null) return; // the next one is told of
    const { link, epoch } = connection;
    const { member } = this.#upstream;
    for (let rows = orphans.batch(); isOpen() && rows.length > 0; rows = orphans.batch()) {
      const by = { epoch, rootKey: barrier.rootKey, random };
      const { adopted, known, left } = await sendOrphans(link, member, rows, by);
      await orphans.settle(rows);
      const fields = { event: "replication.orphans", adopted, known, left };
      log.info("the primary has taken over what this cluster has made outside", fields);
    }
  }

  /** Only who has led since has anything of its own outside. */
  get #hasLed(): boolean {
    const { store, clusterId } = this.#world;
    return store.timeline?.epochs.at(-1)?.cluster === clusterId();
  }

  /** Another certificate, when two thirds of the present one's life are over. */
  async #renew(): Promise<void> {
    const { clock, view, kind, log } = this.#world;
    const { member } = this.#upstream;
    if (!isRenewalDue(member.expires, clock.now())) return;
    const next = await this.#fetchCertificate(member);
    const isStored = await view.write(
      (tx) => {
        if (storedMembership(tx, kind)?.serial !== member.serial) return false; // it has another primary by now, or none
        putMembership(tx, next);
        return true;
      },
      { essential: true },
    );
    if (!isStored || this.#closing.signal.aborted) return;
    this.#upstream = { ...this.#upstream, member: next };
    this.#world.renewed(next);
    const fields = { event: "replication.certificate-renewed", kind };
    log.info("has another certificate of the set", { ...fields, expires: showTime(next.expires) });
  }

  /** At one address of the primary after the other, as its log is followed: the first may be one that nobody reaches. */
  async #fetchCertificate(member: Membership): Promise<Membership> {
    const { clock, clusterId, version } = this.#world;
    const { signal } = this.#closing;
    const { epoch } = this.#role;
    let failed: unknown = noAddress();
    let isAnswer = false;
    for (const address of addressesOf(this.#role)) {
      let link: PeerLink | null = null;
      try {
        link = linkTo(address, member, this.#world);
        await link.open({ clusterId: clusterId(), version, epoch: epoch.number }, signal);
        return await fetchCertificate(link, member, epoch.number, clock);
      } catch (error) {
        signal.throwIfAborted();
        // What one address has answered says more than that nobody is at another.
        if (!isAnswer) failed = error;
        isAnswer ||= link?.hasMet === true;
      } finally {
        await link?.close();
      }
    }
    throw failed;
  }

  get status(): ReceiverStatus {
    return this.#receiver.status;
  }

  /** To the primary; null while there is none. */
  get link(): PeerLink | null {
    return this.#connection?.link ?? null;
  }

  /** Whether requests can be sent on to it now. */
  get takesRequests(): boolean {
    return (this.link?.closed ?? null) !== null;
  }

  /** Whether something that it has written waits here for room on the disk. */
  get lacksRoom(): boolean {
    return this.#receiver.lacksRoom;
  }

  /** When the primary was heard of last; null where it never was. */
  get lastHeard(): Instant | null {
    return this.#world.heard.last;
  }

  /** When it was last called in vain, and why; null where it never was. */
  get lastFailure(): LinkFailure | null {
    return this.#lastFailure;
  }

  #note(outcome: Exclude<CallOutcome, { readonly kind: "takes" }>): void {
    const message = outcome.kind === "refuses" ? outcome.reason : outcome.seen?.text;
    this.#lastFailure = { at: this.#world.clock.now(), message: message ?? UNREACHED };
  }

  /** Of the primary, as it says itself. */
  get apiAddress(): string {
    return this.#apiAddress;
  }

  open(): void {
    this.#receiver.open();
    this.#renewing.open();
    this.#handing.open();
    this.#asking.open();
    this.#telling.open();
  }

  async close(): Promise<void> {
    const reason = peerUnproven("this cluster stops to receive");
    this.#closing.abort(reason);
    this.#closed.reject(reason);
    await this.#renewing.close();
    await this.#asking.close();
    await this.#telling.close();
    const handing = this.#handing.close(); // what it waits for ends with the receiver
    await this.#receiver.close();
    await handing;
  }

  /** Calls the primary now, however long it would wait to do so by itself. */
  async look(): Promise<void> {
    await this.#receiver.look();
  }

  /** The primary is to hear soon how this cluster is. */
  tell(): void {
    this.#receiver.tell();
  }

  /** The primary has said that it is there. */
  expect(): void {
    this.#receiver.expect();
  }

  /** What is damaged here is fetched; false where the primary is not reached. */
  mend(): boolean {
    return this.#receiver.mend();
  }

  get #role(): Secondary {
    const { now } = this.#world.role;
    if (now.mode !== "secondary") throw peerUnproven("this cluster is no secondary any more");
    return now;
  }

  /** A later epoch of the same authority is proved by it; an earlier one is a primary that was superseded. */
  async #accept(answer: HelloAnswer): Promise<void> {
    const known = this.#role.epoch;
    const epoch = epochOf(answer);
    // One that refuses sends nothing, and its reason says more.
    if (isOlder(epoch, known) && readDecision(answer.decision)?.kind === "refuse") return;
    const heard = { do: "heard", epoch, known: this.#role.known ?? [] } as const;
    after(this.#role, heard, this.#upstream.member.kind); // throws where it is older
    if (isOlder(known, epoch)) await this.#hearEpoch(answer, epoch);
    else if (this.#world.kind === "performance" && this.#role.superseded === true) {
      await this.#hearFollowed(answer, epoch);
    }
    await this.#hearRegion(answer.region);
  }

  /** Of performance replication another cluster may have begun it, which stands in for the one that was followed: by the same authority. */
  async #hearEpoch(answer: HelloAnswer, epoch: Epoch): Promise<void> {
    const { role, kind } = this.#world;
    const proof = this.#proofOf(answer, epoch);
    const now = this.#role;
    const { cluster: before } = now.epoch;
    const step = { do: "heard", epoch, known: now.known ?? [] } as const;
    if (kind === "dr") return void (await role.step(step));
    await role.step({ ...step, proof }, (tx) => this.#giveUp(tx, epoch));
    this.#goBack(epoch);
    if (before !== epoch.cluster) this.#tellMoved(now, epoch);
  }

  /** It was heard of before it was reached. */
  async #hearFollowed(answer: HelloAnswer, epoch: Epoch): Promise<void> {
    const { role } = this.#world;
    const proof = this.#proofOf(answer, epoch);
    const now = this.#role;
    await role.step({ do: "followed", epoch, proof }, (tx) => this.#giveUp(tx, epoch));
    this.#goBack(epoch);
    this.#tellMoved(now, epoch);
  }

  #giveUp(tx: Tx, epoch: Epoch): void {
    const { log } = this.#world;
    if (this.#ahead?.beginIn(tx, epoch) !== true) return;
    log.warn("the new primary lacks entries that are here: they are given up, and kept apart", {
      event: "replication.gone-back",
      epoch: epoch.number,
      last_in_common: String(BigInt(epoch.first) - 1n),
    });
  }

  /** What the one of before has told of beyond is missing nowhere. */
  #goBack({ first }: Epoch): void {
    const last = BigInt(first) - 1n;
    this.#receiver.goBack(last);
    this.#world.heard.goBack(last);
  }

  /** Throws unless the authority that is trusted here has signed for it. */
  #proofOf({ epochProof }: HelloAnswer, epoch: Epoch): string {
    const { set, kind, authority } = this.#upstream.member;
    if (kind === "performance" && isRevoked(this.#world.view, epoch.cluster)) {
      throw peerUnproven(
        "the primary that was followed has revoked the cluster that leads in its place",
      );
    }
    if (!provesEpoch(epochProof, new X509Certificate(authority), { set, kind, epoch })) {
      throw peerUnproven("the primary names a later epoch, and no proof of it");
    }
    return base64(epochProof);
  }

  /** The one of before may be there still, and is to hear of it. */
  #tellMoved({ known, address }: Secondary, { number: epoch, cluster }: Epoch): void {
    this.#world.log.info("another cluster leads in the place of the primary, and is followed", {
      event: "replication.primary-moved",
      epoch,
      cluster,
    });
    this.#telling.tell([...new Set([...(known ?? []), address])].filter((one) => one !== ""));
  }

  /** Kept: who names it while the primary is out of reach is told that, and not that there is no such region. */
  async #hearRegion(region: string): Promise<void> {
    const { role, store } = this.#world;
    if (!isRegionName(region) || region === this.#role.region || store.locked) return;
    await role.step({ do: "named", region });
  }

  /** One that refuses may know of a later primary; or there is one known here, which it is to hear of. */
  async #askWhoLeads(): Promise<void> {
    const { role, view, log } = this.#world;
    const now = this.#role;
    const { member } = this.#upstream;
    const answer = await exchange(addressesOf(now), member, now.epoch, this.#world);
    if (answer === null) return;
    const { leading } = answer;
    if (isRefuted(now, answer)) {
      // Both say to lead. Whoever took over has said that the other one is not to be believed: operators decide.
      if (isRevoked(view, leading.cluster)) return this.#tellDisowned(now.epoch, leading);
      await this.#refute(now.epoch, leading);
    }
    if (!isNext(this.#role.epoch, leading)) return;
    if (isRevoked(view, leading.cluster)) return; // the one that refuses has not heard of that
    await role.step({ do: "superseded", epoch: leading });
    const named = this.#siblings.siblings.find((one) => one.cluster === leading.cluster);
    tellSuperseded(log, leading, named?.id ?? "");
  }

  /** Said once. */
  #tellDisowned({ number: epoch, cluster }: Epoch, former: Epoch): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    tellDisowned(this.#world.log, { epoch, cluster }, former);
  }

  /** One that the primary has revoked has said that it leads, while this cluster heard nothing else. */
  async #refute(claimed: Epoch, leading: Epoch): Promise<void> {
    const { role, view, log, takeTicketsFrom } = this.#world;
    if (this.#role.epoch !== claimed) return;
    await role.step({ do: "refuted", epoch: leading }, (tx) => {
      takeTicketsFrom(tx.on(view), leading.number);
      putRevokedClusters(tx.on(view), [claimed.cluster]);
    });
    tellUnclaimed(log, claimed, leading);
    this.expect();
  }

  async #fetchKeys(link: PeerLink): Promise<void> {
    const { keysKey, member } = this.#upstream;
    const { epoch } = this.#role;
    const bundle = await fetchKeys(link, member, keysKey, epoch.number);
    const { signal } = this.#closing;
    // A performance secondary makes no keys: those that the new primary lacks are of the one of before.
    const mayGiveUp = this.#world.kind === "performance" && this.#role.proof !== undefined;
    const taking = this.#world.takeKeys(bundle, { signal, mayGiveUp });
    // It waits for its turn with the seal, which may be waiting for us.
    await Promise.race([taking, this.#closed.promise]);
    if (this.#role.keysDue) await this.#world.role.step({ do: "keyed" });
  }

  async #writeMark(index: bigint | null): Promise<void> {
    const { own, role } = this.#world;
    const write = (tx: Tx) => putMark(tx.on(own), index);
    // Together: a crash in between would leave a whole copy that counts as none.
    if (index === null && !this.#role.copied) await role.step({ do: "copied" }, write);
    else await own.write(write, { essential: true });
    this.#mark = index;
  }

  async #end(index: bigint): Promise<void> {
    const { role, store } = this.#world;
    const final = String(index);
    if (store.locked || this.#role.final === final) return;
    await role.step({ do: "ended", final });
  }

  #learn(apiAddress: string, addresses: readonly string[], standIns: readonly string[]): void {
    const { role, log } = this.#world;
    this.#apiAddress = usableApiAddress(apiAddress);
    const { known, epoch, failover: before = [] } = this.#role;
    const clusterAddresses = addresses.filter((one) => parseClusterAddress(one) !== null);
    const failover = this.#callable(standIns);
    const isSame = known !== null && known.join() === clusterAddresses.join();
    if (isSame && failover.join() === before.join()) return;
    const where = failover.length + before.length === 0 ? {} : { failover };
    const step = { do: "heard", epoch, known: [...clusterAddresses], ...where } as const;
    role.step(step).catch((error: unknown) => {
      log.warn("could not write down where the primary is", { cause: describe(error) });
    });
  }

  /** Those that may be dialled, each once, and not this cluster itself. */
  #callable(addresses: readonly string[]): readonly string[] {
    const { kind, clusterAddress } = this.#world;
    if (kind === "dr") return []; // whoever follows the log hears of the others by name
    const own = clusterAddressText(clusterAddress());
    const all = new Set(usableAddresses(addresses.slice(0, ADDRESSES)));
    return [...all].filter((one) => one !== own && isCalled(one));
  }

  /** Who stood in for the primary has the authority still, which is trusted here. */
  #learnRevoked(ids: readonly string[]): void {
    const { view, store, log, kind } = this.#world;
    const all = ids.filter(isClusterId);
    if (kind !== "performance" || store.locked) return;
    if (all.join() === storedRevokedThere(view).join()) return;
    view
      .write((tx) => putRevokedThere(tx, all), { essential: true })
      .catch((error: unknown) => {
        log.warn("could not write down who is not to be believed", { cause: describe(error) });
      });
  }

  /** They outlive whoever has named them: they are for when it is gone. */
  #learnSiblings({ siblings, revoked: serials }: Siblings): void {
    const { view, store, log } = this.#world;
    const before = this.#siblings;
    const all = siblings.map((one) => withAddresses(readable(one), before.siblings));
    const revoked = serials.filter(isSerial);
    const named = { siblings: all, revoked };
    if (store.locked || JSON.stringify(named) === JSON.stringify(before)) return;
    this.#siblings = named;
    const isGone = (one: Sibling) => one.serials.some((serial) => revoked.includes(serial));
    const gone = clustersOf(before.siblings.filter(isGone));
    view
      .write(
        (tx) => {
          putSiblings(tx, all);
          putSiblingsRevoked(tx, revoked);
          putRevokedClusters(tx, gone, clustersOf(all));
        },
        { essential: true },
      )
      .then(() => this.#world.revoked())
      .catch((error: unknown) => {
        this.#siblings = before;
        log.warn("could not write down who else follows", { cause: describe(error) });
      });
  }
}

/** Whether the primary that is followed, which has proved to be it, leads still and has revoked the one that was taken for its
 *  successor. */
function isRefuted({ superseded, epoch }: Secondary, answer: Answered): boolean {
  const { leading, leads, cluster, isRevoked: isGone } = answer;
  const isLed = leads && cluster === leading.cluster && isOlder(leading, epoch);
  return superseded === true && isGone && isLed;
}

function clustersOf(siblings: readonly Sibling[]): readonly string[] {
  return siblings.map(({ cluster }) => cluster);
}

/** Where it was, if the primary has not met it since it began. */
function withAddresses(one: Sibling, before: readonly Sibling[]): Sibling {
  if (one.addresses.length > 0) return one;
  const same = before.find(({ serials }) => serials.some((serial) => one.serials.includes(serial)));
  return { ...one, addresses: same?.addresses ?? [] };
}

function epochOf({ epoch, clusterId, epochFirst: first }: HelloAnswer): Epoch {
  if (!/^\d{1,20}$/.test(first))
    throw peerUnproven("the primary does not say where its epoch began");
  if (!isClusterId(clusterId)) throw peerUnproven("the primary does not say which cluster it is");
  return { number: epoch, cluster: clusterId, first };
}
