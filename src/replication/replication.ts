// Disaster-recovery replication of this cluster: what it is, how it becomes something else, and what works for it. Each
// change is stored before anybody hears of it, one at a time; what a crash leaves in between is finished when the
// server is unsealed the next time.

import { bytesCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { DAY, MILLISECOND, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Tx, View } from "../barrier/view.ts";
import { Recurring } from "../base/recurring.ts";
import { decodeEntryHeader } from "../storage/rows/log-entry.ts";
import type { Store } from "../storage/store.ts";
import { clusterAddressText } from "./addresses.ts";
import * as failures from "./failures.ts";
import type { KeyBundle } from "./joining/key-bundle.ts";
import { AdoptedOrphans } from "./links/adopted-orphans.ts";
import { Divergent } from "./links/divergent.ts";
import { Orphans, type OutsideRows } from "./links/orphans.ts";
import type { Links } from "./links/links.ts";
import type { Receiving } from "./links/receiving.ts";
import type { DialingWorld } from "./links/dialing.ts";
import type { Serving, ServingPort } from "./links/serving.ts";
import type { Superseded } from "./links/superseded.ts";
import type { Reached } from "./links/join.ts";
import { promotionChecks, type PromotionFacts, promotionRefusal, skipped } from "./roles/checks.ts";
import {
  rehearsalReport,
  type RehearsalReport,
  type Rehearsed,
  rehearsed,
} from "./roles/rehearsal.ts";
import {
  after,
  follows,
  isFenced,
  isOlder,
  type Epoch,
  type Joined,
  type Primary,
  type Promoting,
  type Role,
  type Secondary,
} from "./roles/role.ts";
import { StoredRole } from "./roles/stored-role.ts";
import type { Finished } from "./stream/sender.ts";
import { TreeWork } from "./tree-work.ts";
import { ReplicationFigures } from "./figures.ts";
import { ClusterStatus, type ClusterStatusOptions } from "./status/cluster-status.ts";

const WARN_SKEW = 30n; // seconds

/** Until then another cluster led: `since` by its clock, `at` by the clock here. */
export interface TookOver {
  readonly since: Instant;
  readonly at: Instant;
}

/** What becomes of the rooms when the role changes. */
export interface HouseSteps {
  /** Waits for the requests that are being answered, for a while. */
  drained(): Promise<void>;
  /** Those rest that would change the data. */
  yield(): Promise<void>;
  /** Those close that have nothing to do where the data is another cluster's. */
  leave(): Promise<void>;
  /** All of them open and lead. */
  takeOver(): Promise<void>;
  /** Nothing can be promised any more. */
  seal(): void;
}

export interface ReplicationOptions extends DialingWorld {
  readonly store: Store;
  readonly barrier: Barrier;
  /** Of core/replication/dr/. */
  readonly view: View;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  readonly clusterId: () => string;
  readonly apiAddress: () => string;
  readonly clusterAddress: () => string;
  readonly port: () => ServingPort | null;
  readonly house: HouseSteps;
  readonly statusAccess: ClusterStatusOptions["statusAccess"];
  /** Whether another cluster that proves to lead the set is believed. */
  readonly acceptFence: boolean;
  /** Signs for a rehearsal. */
  readonly sign: (report: RehearsalReport) => Promise<{ readonly id: string }>;
  /** Installs keys of the set here. `mayGiveUp`: keys that only this cluster has made go, where a token of the primary says
   *  so. */
  readonly takeKeys: (
    bundle: KeyBundle,
    options?: { readonly mayGiveUp?: boolean },
  ) => Promise<void>;
  /** In the transaction in which this cluster stops being a secondary. */
  readonly revokeOperationTokens: (tx: Tx) => void;
  /** Ceremonies that are under way end: what they would make is for another role. */
  readonly dropAttempts: () => Promise<void>;
  /** Whether an audit device can be written, or none is configured. */
  readonly audits: () => boolean;
  /** What of the data stands for something outside. */
  readonly outside: OutsideRows;
}

/** What is written in the transaction of a change besides. */
export type Also = (tx: Tx) => void;

/** What a change tells of itself. */
export interface Changed {
  readonly warnings: readonly string[];
}

/** A rehearsal, and the signed report of it; null where it could not be signed. */
export interface SignedRehearsal extends Rehearsed {
  readonly evidence: string | null;
}

export class Replication {
  readonly #options: ReplicationOptions;
  readonly #log: Log;
  readonly #role: StoredRole;
  readonly #figures = new ReplicationFigures();
  readonly divergent: Divergent;
  readonly #orphans: Orphans;
  readonly #adopted: AdoptedOrphans;
  readonly trees: TreeWork;
  readonly status: ClusterStatus;
  #links: Links | null = null;
  #serving: Serving | null = null;
  #superseded: Superseded | null = null;
  #receiving: Receiving | null = null;
  #changing: Promise<unknown> | null = null;
  #lastHeard: Instant | null = null;
  /** By the steady clock: when the last entry of another cluster came, or this one began to follow. */
  #came: Nanos;
  #unwatch = () => {};
  #tookOver: TookOver | null = null;
  #goesOnAt: Instant | null = null;
  readonly #fencing: Recurring;
  readonly #tidying: Recurring;
  /** Takes over what this cluster has given up itself, where it leads again before anybody has that. */
  readonly #taking: Recurring;

  constructor(options: ReplicationOptions) {
    this.#options = options;
    this.#log = options.log.child("replication");
    this.#role = new StoredRole(options.view);
    this.divergent = new Divergent(options.view.sub("divergent/"), options.clock);
    const { view, barrier, outside, clock, timers } = options;
    const log = this.#log;
    this.#came = clock.elapsed();
    this.#orphans = new Orphans({
      view: view.sub("orphans/"),
      local: barrier.view("local/"),
      outside,
      timers,
      log,
    });
    this.#adopted = new AdoptedOrphans({ view, outside, clock, log });
    this.#taking = new Recurring({
      trouble: "could not take over what this cluster has made outside and given up",
      run: (isOpen) => this.#takeOwn(isOpen),
      pause: { first: SECOND, max: MINUTE },
      timers,
      log,
    });
    this.trees = new TreeWork({
      ...options,
      figures: this.#figures,
      hasReplicas: () => (this.#serving?.known.length ?? 0) > 0 || this.mode === "secondary",
      replicas: () => this.#serving?.replicas() ?? [],
      follows: () => this.#receiving?.status.state === "stream-wals",
      refetch: () => this.#receiving?.mend() ?? false,
    });
    this.status = new ClusterStatus(options, {
      role: () => this.#role.now,
      serving: () => this.#serving,
      receiving: () => this.#receiving,
      trees: this.trees,
      divergent: this.divergent,
      orphans: this.#orphans,
      adopted: this.#adopted,
      figures: this.#figures,
      unpromotable: () => this.#unpromotable(),
    });
    this.#tidying = new Recurring({
      trouble: "could not remove what was given up long ago",
      run: () => this.divergent.tidy(),
      period: DAY,
      timers: options.timers,
      log: this.#log,
    });
    this.#fencing = new Recurring({
      trouble: "the primary of before has not heard yet that this cluster leads",
      run: () => this.#fenceFormer(),
      period: 15n * SECOND,
      pause: { first: SECOND, max: 60n * SECOND },
      timers: options.timers,
      log: this.#log,
    });
  }

  // --- what it is ---

  get role(): Role {
    return this.#role.now;
  }

  get mode(): "disabled" | "primary" | "secondary" {
    const { mode } = this.#role.now;
    return mode === "demoting" ? "primary" : mode;
  }

  /** Whether the role changes at this moment: nothing but its status is answered then. */
  get changing(): boolean {
    return this.#changing !== null;
  }

  /** When this cluster took the place of another, as far as its log tells; null where it never has. */
  get tookOver(): TookOver | null {
    return this.#tookOver;
  }

  /** How late it is by the log of whom it takes the place of; null but while it does. */
  get goesOnAt(): Instant | null {
    return this.#goesOnAt;
  }

  /** What of the log others need; null where nobody does. */
  get retention() {
    return this.#serving?.retention ?? null;
  }

  // --- life ---

  /** With the keys, and before any room: what the store is to be. Whether its data is another cluster's. */
  async enter(): Promise<{ readonly following: boolean; readonly secondary: boolean }> {
    const role = this.#role.load();
    const promoted = this.#hasBegunEpoch(role);
    const following = follows(role) && !promoted;
    const { store } = this.#options;
    this.#tookOver = following ? null : storedPromotion(this.#options);
    this.#came = this.#options.clock.elapsed();
    if (following) await store.follow();
    else if (store.following) await store.lead(); // it was sealed in another role
    return { following, secondary: following && !isFenced(role) };
  }

  /** Finishes what a crash has left, and begins to work. */
  async lead(): Promise<void> {
    this.#orphans.load();
    this.#adopted.load();
    await this.#finishChange();
    const role = this.#role.now;
    if (!follows(role)) this.#taking.open();
    if (role.mode === "primary") await (isFenced(role) ? this.#tellWhoLeads() : this.#serve());
    if (role.mode === "secondary" && role.id !== "") await this.#receive();
    this.#tidying.open();
  }

  async rest(): Promise<void> {
    await this.#tidying.close();
    await this.trees.close();
    await this.#taking.close();
    await this.#stopServing("this cluster rests");
    await this.#stopReceiving();
  }

  async #finishChange(): Promise<void> {
    const role = this.#role.now;
    const { store } = this.#options;
    if (role.mode === "demoting") {
      const links = await this.#load();
      await this.#endDemotion(links);
      this.#log.info("finished a demotion", { index: String(store.index) });
    }
    if (role.mode !== "secondary" || role.promoting === null) return;
    if (this.#hasBegunEpoch(role)) {
      if (role.promoting.leaves === true) await this.#becomeAlone();
      else await this.#becomePrimary(role);
      this.#log.info("finished a change of the role that a crash had interrupted");
    } else {
      await this.#role.step({ do: "stay" });
      this.#log.warn(
        "a change of the role had not begun when the server ended; this is a secondary as before",
      );
    }
  }

  /** Of a promotion or a leave that a crash has interrupted. */
  #hasBegunEpoch(role: Role): boolean {
    const { store, clusterId } = this.#options;
    const last = store.timeline?.epochs.at(-1);
    if (role.mode !== "secondary" || role.promoting === null || last === undefined) return false;
    return last.cluster === clusterId() && last.epoch > role.promoting.logEpoch;
  }

  // --- primary ---

  async enablePrimary(address: string): Promise<Changed> {
    return await this.#alone(async () => {
      const { store, clusterId, port, clock, random } = this.#options;
      const set = random.uuid();
      const step = {
        do: "enable-primary",
        set,
        cluster: clusterId(),
        address: addressOf(address),
        first: firstOf(store),
      } as const;
      after(this.#role.now, step);
      if (port() === null) throw failures.noClusterPort();
      const links = await this.#load();
      const material = await links.makePrimary({ set, kind: "dr" }, { clock, random });
      await this.#role.step(step, (tx) => {
        links.enablePrimary(tx, material);
        links.forgetFormer(tx);
      });
      await this.#serve();
      this.#tell("role-changed", { mode: "primary", set });
      return { warnings: ["this cluster is a primary now: give each secondary a token"] };
    });
  }

  /** Throws where this cluster is no primary. */
  async primary(): Promise<Serving> {
    const { now } = this.#role;
    if (now.mode === "demoting") throw failures.roleChanging();
    if (now.mode !== "primary") throw failures.notPrimary();
    if (this.#serving === null) throw isFenced(now) ? failures.fenced() : failures.noClusterPort();
    return this.#serving;
  }

  async disablePrimary(): Promise<Changed> {
    return await this.#alone(async () => {
      after(this.#role.now, { do: "disable-primary" });
      const wasFenced = isFenced(this.#role.now);
      const links = await this.#load();
      await this.#fencing.close(); // whom it has followed is another set's
      await this.#role.step({ do: "disable-primary" }, (tx) => {
        links.forgetPrimary(tx);
        links.forgetFormer(tx);
      });
      await this.#stopServing("replication is disabled");
      if (wasFenced) await this.#leadAgain();
      this.#tell("role-changed", { mode: "disabled" });
      return {
        warnings: [
          "this cluster replicates to nobody any more; secondaries that join it again lose their data first",
        ],
      };
    });
  }

  /** The last write is behind it when this resolves. */
  async demote(): Promise<Changed> {
    return await this.#alone(async () => {
      const { store, house } = this.#options;
      after(this.#role.now, { do: "demote" });
      const wasFenced = isFenced(this.#role.now);
      const links = await this.#load();
      await house.drained();
      const finished = await this.#orSeal(async () => {
        await this.#taking.close();
        await house.yield();
        await this.#role.step({ do: "demote" });
        await this.#follow();
        // Who has heard of a later primary waits for nothing from this one.
        const reached = wasFenced ? null : ((await this.#serving?.finish()) ?? null);
        await this.#stopServing("the primary was demoted");
        await this.#endDemotion(links);
        await house.leave();
        return reached;
      });
      const final = String(store.index);
      await this.#options.dropAttempts();
      this.#tell("role-changed", { mode: "secondary", final });
      return { warnings: demotionWarnings(final, finished) };
    });
  }

  /** What was issued for the way there is not taken for the way back: a ticket would make two primaries. */
  async #endDemotion(links: Links): Promise<void> {
    const { store, view, revokeOperationTokens } = this.#options;
    await this.#role.step({ do: "demoted", final: String(store.index) }, (tx) => {
      links.forgetPrimary(tx);
      links.forgetFormer(tx);
      revokeOperationTokens(tx.on(view));
    });
  }

  /** Somebody else leads the set by now: nothing is written here any more, also after a crash, when this resolves. */
  async fence(epoch: Epoch): Promise<void> {
    await this.#alone(async () => {
      await this.#role.step({ do: "fence", epoch });
      await this.#orSeal(async () => {
        await this.#taking.close();
        await this.#follow();
        await this.#options.house.yield();
      });
      this.#tell("fenced", { epoch: epoch.number, cluster: epoch.cluster });
    });
  }

  async #dismiss(): Promise<void> {
    try {
      await this.#alone(async () => {
        if (!isFenced(this.#role.now)) return;
        await this.#stopServing("another cluster was promoted");
        await this.#tellWhoLeads();
      });
    } catch (error) {
      this.#log.warn("a fenced primary still serves", { cause: describe(error) });
    }
  }

  // --- secondary ---

  rehearse(): Rehearsed {
    return rehearsed(this.#facts(this.#secondary()), this.#receiving?.apiAddress ?? "");
  }

  /** The same, and signed for: whoever has to show later that it was tried has something in hand. */
  async rehearseSigned(): Promise<SignedRehearsal> {
    const role = this.#secondary();
    const facts = this.#facts(role);
    const found = rehearsed(facts, this.#receiving?.apiAddress ?? "");
    const { clock, sign } = this.#options;
    try {
      const { id } = await sign(rehearsalReport(found, role, facts, clock.now()));
      return { ...found, evidence: id };
    } catch (error) {
      this.#log.warn("a rehearsal could not be signed for", { cause: describe(error) });
      return { ...found, evidence: null };
    }
  }

  async promote({
    force,
    address,
  }: {
    readonly force: boolean;
    readonly address: string;
  }): Promise<Changed> {
    const usual = addressOf(address);
    const role = this.#secondary();
    const checks = promotionChecks(this.#facts(role));
    const refusal = promotionRefusal(checks, force);
    if (refusal !== null) throw refusal;
    const skew = this.#receiving?.status.clockSkew ?? 0n;
    return await this.#alone(async () => {
      const { port } = this.#options;
      if (port() === null) throw failures.noClusterPort();
      const time = await this.#beginOwnEpoch({ address: usual });
      await this.#orSeal(() => this.#becomePrimary(this.#secondary()));
      await this.#takeOver(time);
      await this.#serve();
      await this.#rotate();
      await this.#options.dropAttempts();
      this.#tell("role-changed", { mode: "primary", set: role.set });
      return {
        warnings: [
          ...(force ? skipped(checks) : []),
          ...skewWarnings(skew),
          "this cluster is the primary now: issue new tokens to the other secondaries",
        ],
      };
    });
  }

  async disableSecondary(): Promise<Changed> {
    return await this.#alone(async () => {
      const { store } = this.#options;
      this.#secondary();
      if (store.adopting !== null) throw failures.halfCopied();
      const time = await this.#beginOwnEpoch({ address: "", leaves: true });
      await this.#orSeal(() => this.#becomeAlone());
      await this.#takeOver(time);
      await this.#options.dropAttempts();
      this.#tell("role-changed", { mode: "disabled" });
      return {
        warnings: [
          "this cluster is on its own now, with the data that it had; joining a primary again takes the place of all of it",
        ],
      };
    });
  }

  /** Another primary, or the same with another token: its data stays. Keys that only this cluster has made go. */
  async updatePrimary(
    joined: Joined,
    { upstream, bundle }: Reached,
    also: Also = () => {},
  ): Promise<Changed> {
    return await this.#alone(async () => {
      const links = await this.#load();
      const step = { do: "update-primary", joined } as const;
      after(this.#role.now, step); // it took its time to reach it: what this cluster is may have changed
      await this.#stopReceiving();
      try {
        await this.#options.takeKeys(bundle, { mayGiveUp: true });
        await this.#role.step(step, (tx) => {
          links.putUpstream(tx, upstream);
          also(tx);
        });
      } catch (error) {
        await this.#receiveAgain();
        throw error;
      }
      await this.#receive();
      return { warnings: [`this cluster follows the primary at ${joined.address} from now on`] };
    });
  }

  /** The same primary at another address. */
  async movePrimary(address: string, also: Also = () => {}): Promise<Changed> {
    return await this.#alone(async () => {
      await this.#role.step({ do: "move-primary", address }, also);
      await this.#stopReceiving();
      await this.#receive();
      return { warnings: [`this cluster follows the primary at ${address} from now on`] };
    });
  }

  async forgetPrimary(also: Also = () => {}): Promise<Changed> {
    return await this.#alone(async () => {
      const links = await this.#load();
      this.#secondary();
      await this.#stopReceiving();
      await this.#role.step({ do: "forget-primary" }, (tx) => {
        links.forgetUpstream(tx);
        also(tx);
      });
      return { warnings: ["this cluster has no primary now: it keeps its data and waits for one"] };
    });
  }

  /** Begins anew, whatever it waits for. */
  async recover(): Promise<Changed> {
    return await this.#alone(async () => {
      const { now } = this.#role;
      if (now.mode === "disabled") throw failures.notPrimary();
      if (isFenced(now)) throw failures.fenced();
      if (now.mode === "secondary") await this.#receiveAgain();
      else {
        await this.#stopServing("replication begins anew");
        await this.#serve();
      }
      return { warnings: ["replication begins anew"] };
    });
  }

  // --- what a promotion goes by ---

  /** By what is in memory: whether an entry opens is looked at by those who promote. */
  #unpromotable(): readonly string[] {
    const role = this.#role.now;
    if (role.mode !== "secondary") return [];
    const checks = promotionChecks(this.#facts(role, () => null));
    return checks.flatMap(({ name, ok }) => (ok ? [] : [name]));
  }

  #facts(role: Secondary, opens = () => this.#opens()): PromotionFacts {
    const { store, audits, clock } = this.#options;
    const status = this.#receiving?.status ?? null;
    this.#lastHeard = status?.lastHeartbeat ?? this.#lastHeard;
    const since = this.#lastHeard ?? status?.startedAt ?? null;
    const connected = status?.connectionState === "ready";
    const silence = since === null ? 0n : clock.now() - since;
    const finalPlace = status?.final?.index ?? null;
    return {
      opens: opens(),
      copied: role.copied,
      between:
        store.adopting !== null ? "states" : status?.isConsistent === false ? "indexes" : null,
      equal: status?.isUnmended === true ? false : null,
      applied: store.index,
      announced: status?.highestAnnounced ?? 0n,
      final: finalPlace ?? (role.final === null ? null : BigInt(role.final)),
      silentFor: connected ? null : Number(silence / 1_000_000_000n),
      hasPrimary: role.id !== "",
      audits: audits(),
      changing: this.changing,
    };
  }

  /** Whether an entry of the data opens with the keys that are here. */
  #opens(): boolean | null {
    const { barrier } = this.#options;
    try {
      const [found] = barrier.view("shared/").records("", bytesCodec, { limit: 1 });
      return found === undefined ? null : true;
    } catch (error) {
      if (error instanceof Failure) return false;
      throw error;
    }
  }

  // --- performing ---

  /** From here on the log is this cluster's own; where that fails, it is a secondary as before. Gives the time of the log. */
  async #beginOwnEpoch(what: Omit<Promoting, "logEpoch">): Promise<Instant | null> {
    const { store, clusterId } = this.#options;
    const receiving = this.#receiving;
    await this.#stopReceiving();
    const logEpoch = store.timeline?.epochs.at(-1)?.epoch ?? 0;
    await this.#role.step({ do: "promoting", promoting: { ...what, logEpoch } });
    const time = this.#timeOfLog(receiving);
    try {
      await store.lead();
      await store.startEpoch(clusterId());
      return time;
    } catch (error) {
      await store.follow();
      await this.#role.step({ do: "stay" });
      await this.#receiveAgain();
      throw error;
    }
  }

  async #becomeAlone(): Promise<void> {
    const { revokeOperationTokens, view } = this.#options;
    const links = await this.#load();
    await this.#role.step({ do: "disable-secondary" }, (tx) => {
      links.forgetUpstream(tx);
      revokeOperationTokens(tx.on(view));
    });
  }

  async #becomePrimary(role: Secondary): Promise<void> {
    const { store, clusterId, revokeOperationTokens, clock, random, view } = this.#options;
    const links = await this.#load();
    const material = await links.makePrimary({ set: role.set, kind: "dr" }, { clock, random });
    const step = { do: "promote", cluster: clusterId(), first: firstOf(store) } as const;
    const addresses = [...(role.known ?? []), role.address];
    await this.#role.step(step, (tx) => {
      links.enablePrimary(tx, material);
      links.keepFormer(tx, addresses, { isHeard: role.final !== null });
      revokeOperationTokens(tx.on(view));
    });
  }

  async #serve(): Promise<void> {
    const { port: found } = this.#options;
    const port = found();
    if (port === null) {
      this.#log.error("this cluster is a primary, and has no cluster port: nobody can come", {
        remedy: "add cluster_address to a listener",
      });
      return;
    }
    const links = await this.#load();
    const role = () => {
      const { now } = this.#role;
      if (now.mode === "primary" || now.mode === "demoting")
        return { ...now, mode: "primary" } as Primary;
      throw failures.notPrimary();
    };
    this.#serving = links.serving({ ...this.#options, figures: this.#figures }, port, role, {
      superseded: (epoch) => {
        this.#log.error("a secondary has heard of a later primary than this one", { epoch });
      },
      adopted: this.#adopted,
      fenced: (epoch) => this.#heardOf(epoch),
    });
    this.#serving.open();
    this.#options.store.takeAtMost(() => this.#serving?.transactionBytes ?? null);
    this.status.open();
    if (links.storedFormer(this.#options.view) !== null) this.#fencing.open();
  }

  /** Nothing is sent any more. */
  async #tellWhoLeads(): Promise<void> {
    const { now } = this.#role;
    const port = this.#options.port();
    if (port === null || now.mode !== "primary") return;
    const links = await this.#load();
    this.#superseded = links.superseded(this.#options, port, now, {
      fenced: (epoch) => this.#heardOf(epoch),
    });
    this.#superseded.open();
  }

  /** Somebody has proved to lead in this epoch. Gives the one that leads as far as is known here. */
  async #heardOf(epoch: Epoch): Promise<Epoch> {
    const { now } = this.#role;
    if (now.mode !== "primary" && now.mode !== "demoting") throw failures.notPrimary();
    const known = now.fenced ?? now.epoch;
    if (now.mode !== "primary" || !isOlder(known, epoch) || this.#keepsOn(epoch)) return known;
    await this.fence(epoch); // whoever hears that it was taken is sure of it
    this.#dismissSoon();
    return epoch;
  }

  /** Whether this cluster leads all the same: its operators have said that they decide. */
  #keepsOn({ number: epoch, cluster }: Epoch): boolean {
    if (this.#options.acceptFence) return false;
    const remedy = "demote this cluster, or disable its role";
    this.#log.error("another cluster of the set leads by now, and accept_fence is off", {
      epoch,
      cluster,
      remedy,
    });
    return true;
  }

  /** Later: the answer leaves by a session that ends with it. */
  #dismissSoon(): void {
    this.#options.timers.after(100n * MILLISECOND, () => void this.#dismiss());
  }

  /** The primary of before is to hear of it, however long it was away. Where another cluster was promoted as well, it
   *  knows of both, and one of the two gives way. */
  async #fenceFormer(): Promise<void> {
    const { view } = this.#options;
    const links = await this.#load();
    const former = links.storedFormer(view);
    const role = this.#role.now;
    if (former === null || role.mode !== "primary" || former.set !== role.set) return;
    const leading = await links.fence(this.#options, former, role.epoch);
    if (leading === null && former.isHeard) return; // it is something else by now
    if (leading === null) throw failures.formerUnreachable();
    if (isOlder(role.epoch, leading)) {
      if (this.#keepsOn(leading)) return;
      await this.fence(leading);
      return this.#dismissSoon();
    }
    if (former.isHeard) return;
    await view.write((tx) => links.formerHeard(tx), { essential: true });
    this.#log.info("the primary of before has heard that this cluster leads");
  }

  async #takeOwn(isOpen: () => boolean): Promise<void> {
    const orphans = this.#orphans;
    const { clusterId } = this.#options;
    for (let rows = orphans.batch(); isOpen() && rows.length > 0; rows = orphans.batch()) {
      await this.#adopted.take(rows, clusterId());
      await orphans.settle(rows);
    }
  }

  async #stopServing(reason: string): Promise<void> {
    await this.#fencing.close();
    await this.status.close();
    this.#superseded?.close();
    this.#superseded = null;
    const serving = this.#serving;
    this.#serving = null;
    await serving?.close(reason);
  }

  async #receive(): Promise<void> {
    const links = await this.#load();
    const upstream = links.storedUpstream(this.#options.view);
    if (upstream === null) throw failures.primaryUnknown();
    const surplus = { divergent: this.divergent, orphans: this.#orphans };
    const world = { ...this.#options, figures: this.#figures };
    this.#receiving = links.receiving(world, this.#role, surplus, upstream);
    this.#receiving.open();
    this.status.open();
    this.#unwatch();
    this.#watchLog();
  }

  /** Entries that come are told by their index alone: some change no row. */
  #watchLog(): void {
    const { store, clock } = this.#options;
    this.#unwatch = store.onIndex(store.index + 1n, () => {
      this.#came = clock.elapsed();
      this.#watchLog();
    });
  }

  async #stopReceiving(): Promise<void> {
    await this.status.close();
    const receiving = this.#receiving;
    this.#receiving = null;
    this.#lastHeard = receiving?.status.lastHeartbeat ?? this.#lastHeard;
    const final = receiving?.status.final ?? null;
    await receiving?.close();
    this.#unwatch();
    const { now } = this.#role;
    const isOver = final !== null && this.#options.store.index >= final.index;
    if (isOver && now.mode === "secondary" && now.final !== String(final.index)) {
      await this.#role.step({ do: "ended", final: String(final.index) });
    }
  }

  async #receiveAgain(): Promise<void> {
    await this.#stopReceiving();
    const { now } = this.#role;
    if (now.mode === "secondary" && now.id !== "") await this.#receive();
  }

  /** How much others have sealed under the present data key is known to the primary of before alone. */
  async #rotate(): Promise<void> {
    try {
      await this.#options.barrier.rotate();
    } catch (error) {
      this.#log.warn("could not make a new data key after the promotion; rotate by hand", {
        cause: describe(error),
      });
    }
  }

  /** The data is this cluster's alone again. */
  async #leadAgain(): Promise<void> {
    await this.#options.store.lead();
    await this.#takeOver(null);
  }

  /** The rooms open: the data is this cluster's from here on. `time`: by the log of who led before; null: nobody did. */
  async #takeOver(time: Instant | null): Promise<void> {
    const { house, clock } = this.#options;
    if (time !== null) this.#tookOver = { since: time, at: clock.now() };
    this.#goesOnAt = time;
    try {
      await this.#orSeal(() => house.takeOver());
    } finally {
      this.#goesOnAt = null;
    }
    this.#taking.open();
  }

  async #follow(): Promise<void> {
    const { store, clock } = this.#options;
    await store.follow();
    this.#came = clock.elapsed(); // its last entry is of now
    this.#tookOver = null;
  }

  /** The time of the last entry, and what has passed since it came. After a copy there may be none: then what the primary
   *  itself has said. */
  #timeOfLog(receiving: Receiving | null): Instant | null {
    const { store, clock } = this.#options;
    const time = entryTime(store, store.index);
    if (time === null) return receiving?.timeThere ?? null;
    return time + clock.elapsed() - this.#came;
  }

  /** Half of a change is no role: what was stored is finished when the cluster is unsealed. */
  async #orSeal<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#log.error("could not go over to the new role; sealing", {
        cause: describe(error),
      });
      this.#options.house.seal();
      throw error;
    }
  }

  /** One change at a time. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#changing !== null) throw failures.roleChanging();
    const running = work();
    this.#changing = running.catch(() => {});
    try {
      return await running;
    } finally {
      this.#changing = null;
    }
  }

  #secondary(): Secondary {
    const { now } = this.#role;
    if (now.mode !== "secondary") throw failures.notSecondary();
    return now;
  }

  async #load(): Promise<Links> {
    this.#links ??= (await import("./links/links.ts")).links;
    return this.#links;
  }

  #tell(event: string, fields: Readonly<Record<string, string | number>>): void {
    this.#log.info("replication changed", { event: `replication.${event}`, ...fields });
  }
}

/** Of the last time that this cluster took over, where the log still reaches back so far. */
function storedPromotion({ store, clusterId }: ReplicationOptions): TookOver | null {
  const last = store.timeline?.epochs.at(-1);
  if (last?.cluster !== clusterId()) return null;
  const first = BigInt(last.first);
  const [since, at] = [entryTime(store, first - 1n), entryTime(store, first)];
  return since === null || at === null ? null : { since, at };
}

function entryTime(store: Pick<Store, "logs">, index: bigint): Instant | null {
  const [row] = index < 1n ? [] : store.logs(index, 1);
  return row?.index === index ? decodeEntryHeader(row.entry).time : null;
}

/** In its one form; empty where nobody has said one. */
function addressOf(text: string): string {
  if (text === "") return "";
  const address = clusterAddressText(text);
  if (address === null) throw failures.addressUnusable();
  return address;
}

/** Tokens and certificates end by the clock of whoever looks at them. */
function skewWarnings(skew: Nanos): string[] {
  const seconds = skew / SECOND;
  if (seconds <= WARN_SKEW && seconds >= -WARN_SKEW) return [];
  const where = seconds > 0n ? "behind" : "ahead of";
  const by = seconds > 0n ? seconds : -seconds;
  return [
    `the clock here is ${by} seconds ${where} that of the primary of before: tokens end by this one from now on`,
  ];
}

function demotionWarnings(final: string, finished: Finished | null): string[] {
  const gone = `this cluster is a secondary without a primary now; its last entry is ${final}`;
  if (finished === null) return [gone];
  const { acknowledged, missing } = finished;
  return [
    gone,
    ...(acknowledged.length > 0 ? [`everything is on: ${acknowledged.join(", ")}`] : []),
    ...(missing.length > 0
      ? [
          `NOT everything is on: ${missing.join(", ")}; what is missing there is on this cluster alone`,
        ]
      : []),
  ];
}

/** Of the present epoch of the log. */
function firstOf(store: Pick<Store, "timeline">): string {
  return store.timeline?.epochs.at(-1)?.first ?? "0";
}
