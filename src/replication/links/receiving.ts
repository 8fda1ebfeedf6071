// A secondary at work: it finds its primary, follows its log, takes over rows where that is not enough, and fetches keys.
// What it has to remember lies in rows of this cluster alone; whom it follows, and what that tells of others, is beside
// (`whom-followed.ts`, `set-learned.ts`). Loaded when a cluster first has something to do with others.

import { describe } from "@holdfast/shared/failure";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Random } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { Recurring } from "../../base/recurring.ts";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { placesIn } from "../applied/applied-place.ts";
import { SurplusRows } from "../cascades/surplus-rows.ts";
import { logStand } from "../cascades/log-stand.ts";
import { isCopying } from "../data/shared-data.ts";
import { peerUnproven } from "../failures.ts";
import type { ReplicationFigures } from "../figures.ts";
import type { Heard } from "../heard.ts";
import { fetchCertificate, fetchKeys, sendOrphans } from "../joining/calls.ts";
import { showKeysVersion } from "../joining/key-bundle.ts";
import { type Membership, putMembership, storedMembership } from "../joining/membership.ts";
import { isRenewalDue } from "../joining/secondaries.ts";
import type { ReplicationOptions } from "../options.ts";
import { putMark, storedMark } from "../stream/mark.ts";
import { addressesOf, type Secondary, surplusOf } from "../roles/role.ts";
import { noAddress } from "../stream/failures.ts";
import {
  logReceiver,
  type Receiver,
  type ReceiverStatus,
  sharedReceiver,
} from "../stream/receiver.ts";
import { MAX_EVACUATIONS } from "../stream/messages.ts";
import {
  type CallOutcome,
  type Connection,
  EVENT,
  type LinkPorts,
  type ReceiverPorts,
} from "../stream/receiving.ts";
import type { SetFromAbove } from "../topology/set-members.ts";
import { linkTo } from "./dialing.ts";
import type { Divergent } from "./divergent.ts";
import type { Orphans } from "./orphans.ts";
import { SetLearned, type SetLearnedWorld } from "./set-learned.ts";
import type { Upstream } from "./upstream.ts";
import { secondaryIn, WhomFollowed, type WhomFollowedWorld } from "./whom-followed.ts";

const UNREACHED = "the primary was not reached";

export interface LinkFailure {
  readonly at: Instant;
  readonly message: string;
}

export interface ReceivingWorld extends WhomFollowedWorld, SetLearnedWorld {
  readonly barrier: Barrier;
  /** Of those that are of this cluster alone. */
  readonly own: View;
  readonly divergent: Divergent;
  readonly orphans: Orphans;
  readonly heard: Heard;
  readonly random: Random;
  readonly figures: ReplicationFigures;
  readonly apiAddress: () => string;
  readonly region: () => string;
  readonly takeKeys: ReplicationOptions["takeKeys"];
  readonly followers?: ReplicationOptions["followers"];
  readonly evacuations?: ReplicationOptions["evacuations"];
  readonly countLeases?: ReplicationOptions["countLeases"];
  readonly withheld?: ReplicationOptions["withheld"];
  readonly around?: ReplicationOptions["around"];
  /** It has another certificate from here on. */
  readonly renewed: (member: Membership) => void;
}

export class Receiving {
  readonly #world: ReceivingWorld;
  #upstream: Upstream;
  readonly #receiver: Receiver;
  readonly #renewing: Recurring;
  readonly #handing: Recurring;
  readonly #whom: WhomFollowed;
  readonly #learned: SetLearned;
  readonly #ahead: SurplusRows | null = null;
  readonly #closing = new AbortController();
  readonly #closed = Promise.withResolvers<never>();
  #mark: bigint | null;
  #lastFailure: LinkFailure | null = null;
  #connection: Connection | null = null;

  constructor(world: ReceivingWorld, upstream: Upstream) {
    this.#world = world;
    this.#upstream = upstream;
    const { store, clock, timers, log, random, barrier, view, own } = world;
    this.#closed.promise.catch(() => {}); // who waits for it hears of it
    this.#mark = storedMark(own);
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
    this.#learned = new SetLearned(world);
    this.#whom = new WhomFollowed(world, {
      member: () => this.#upstream.member,
      ahead: () => this.#ahead,
      goBack: (last) => {
        this.#receiver.goBack(last);
        world.heard.goBack(last);
      },
      nameOf: (cluster) => this.#learned.nameOf(cluster),
      expect: () => this.expect(),
      closing: this.#closing.signal,
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
      accept: (answer) => this.#whom.accept(answer),
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
        if (outcome.kind === "refuses") this.#whom.ask();
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
      learned: this.#learned.learn,
      ...(world.around === undefined
        ? {}
        : {
            around: { ...world.around, learned: (members) => this.#learned.learnMembers(members) },
          }),
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

  /** Of whom the primary has told, and how long ago; null where it has not. */
  get fromAbove(): SetFromAbove | null {
    return this.#learned.fromAbove;
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
    return this.#learned.apiAddress;
  }

  open(): void {
    this.#receiver.open();
    this.#renewing.open();
    this.#handing.open();
    this.#whom.open();
  }

  async close(): Promise<void> {
    const reason = peerUnproven("this cluster stops to receive");
    this.#closing.abort(reason);
    this.#closed.reject(reason);
    await this.#renewing.close();
    await this.#whom.close();
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
    return secondaryIn(this.#world.role);
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
}
