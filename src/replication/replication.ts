// Disaster-recovery replication of this cluster: what it is, how it becomes something else, and what works for it. Each
// change is stored before anybody hears of it, one at a time; what a crash leaves in between is finished when the
// server is unsealed the next time.

import type { Log } from "@holdfast/shared/log";
import { DAY, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import { assertCalled, namedAddress } from "./addresses.ts";
import * as failures from "./failures.ts";
import { ReplicationFigures } from "./figures.ts";
import { Following } from "./following.ts";
import { type HeardFrom, Leading } from "./leading.ts";
import { AdoptedOrphans } from "./links/adopted-orphans.ts";
import { Divergent } from "./links/divergent.ts";
import type { Reached } from "./links/join.ts";
import type { Links } from "./links/links.ts";
import { Orphans } from "./links/orphans.ts";
import type { Serving } from "./links/serving.ts";
import { firstOfEpoch, type TookOver } from "./log-times.ts";
import type { LinkedOptions, ReplicationOptions } from "./options.ts";
import { type Also, type Changed, Changes } from "./roles/changes.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import {
  after,
  follows,
  isFenced,
  isOlder,
  type Epoch,
  type Joined,
  type Role,
  type Secondary,
} from "./roles/role.ts";
import { type LedSet, PrimaryLease } from "./roles/primary-lease.ts";
import { StoredRole } from "./roles/stored-role.ts";
import {
  besideWarning,
  clusterText,
  demotionWarnings,
  refutedWarning,
  unawareWarnings,
} from "./roles/warnings.ts";
import { ClusterStatus } from "./status/cluster-status.ts";
import { DISABLED } from "./stream/goodbyes.ts";
import { type Promotion, TakingOver } from "./taking-over.ts";
import { TreeWork } from "./tree-work.ts";

const LAPSED = {
  event: "replication.lease-lapsed",
  remedy: "look at the secondaries, and whether another cluster was promoted",
};
const FENCED = {
  event: "replication.fenced",
  remedy: "demote this cluster, and let it follow that one (update-primary)",
};
const GOES_ON = { event: "replication.lease-renewed" };

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
  readonly #changes: Changes;
  readonly #leading: Leading;
  readonly #following: Following;
  readonly #takingOver: TakingOver;
  #links: Links | null = null;
  /** Who leads instead of this one, and where that was heard from. */
  #fencedBy: { readonly cluster: string; readonly address: string } | null = null;
  readonly #tidying: Recurring;
  readonly #lease: PrimaryLease;
  readonly #watching: Recurring;
  /** Takes over what this cluster has given up itself, where it leads again before anybody has that. */
  readonly #taking: Recurring;

  constructor(options: ReplicationOptions) {
    this.#options = options;
    this.#log = options.log.child("replication");
    this.#role = new StoredRole(options.view);
    this.divergent = new Divergent(options.view.sub("divergent/"), options.clock);
    const { view, barrier, outside, clock, timers } = options;
    const log = this.#log;
    this.#changes = new Changes(log, () => options.house.seal());
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
    this.#lease = new PrimaryLease({ length: options.primaryLease, view, clock, log });
    this.#watching = new Recurring({
      trouble: "could not stop or go on as primary_lease says",
      run: () => this.#keepLease(),
      period: SECOND,
      timers,
      log,
    });
    const parts = this.#parts();
    this.#leading = new Leading({
      ...parts,
      adopted: this.#adopted,
      lease: { reached: () => this.#reached(), release: () => this.#releaseLease() },
      fence: (epoch, by) => this.fence(epoch, by),
    });
    this.#following = new Following({
      ...parts,
      surplus: { divergent: this.divergent, orphans: this.#orphans },
    });
    const [leading, following] = [this.#leading, this.#following];
    const taken = () => this.#taking.open();
    this.#takingOver = new TakingOver({ ...parts, leading, following, taken });
    this.trees = new TreeWork({
      ...options,
      figures: this.#figures,
      hasReplicas: () => (leading.serving?.known.length ?? 0) > 0 || this.mode === "secondary",
      replicas: () => leading.serving?.replicas() ?? [],
      follows: () => following.receiving?.status.state === "stream-wals",
      refetch: () => following.receiving?.mend() ?? false,
    });
    this.status = new ClusterStatus(options, {
      role: () => this.#role.now,
      serving: () => leading.serving,
      receiving: () => following.receiving,
      heard: following.heard,
      trees: this.trees,
      divergent: this.divergent,
      orphans: this.#orphans,
      adopted: this.#adopted,
      figures: this.#figures,
      known: () => leading.serving?.known ?? this.#knownBefore(),
      nameOf: (cluster) => this.#nameOf(cluster),
      unpromotable: () => this.unpromotable,
    });
    this.#tidying = new Recurring({
      trouble: "could not remove what was given up long ago",
      run: () => this.divergent.tidy(),
      period: DAY,
      timers,
      log,
    });
  }

  /** Under which a cluster is known here; empty where it is not. */
  #nameOf(cluster: string): string {
    return this.#links?.nameOf(this.#options.view, cluster) ?? "";
  }

  /** One that was superseded serves nobody, and knows them still. */
  #knownBefore(): readonly string[] {
    return isFenced(this.#role.now) ? (this.#links?.known(this.#options) ?? []) : [];
  }

  /** What works with others has. */
  #parts() {
    const log = this.#log;
    const options: LinkedOptions = { ...this.#options, log, figures: this.#figures };
    return {
      options,
      role: this.#role,
      changes: this.#changes,
      links: () => this.#load(),
      nameOf: (cluster: string) => this.#nameOf(cluster),
      // It looks at those who work, and they say when it begins and ends.
      status: { open: () => this.status.open(), close: () => this.status.close() },
    };
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
    return this.#changes.isRunning;
  }

  /** When this cluster took the place of another, as far as its log tells; null where it never has. */
  get tookOver(): TookOver | null {
    return this.#takingOver.tookOver;
  }

  /** How late it is by the log of whom it takes the place of; null but while it does. */
  get goesOnAt(): Instant | null {
    return this.#takingOver.goesOnAt;
  }

  /** What of the log others need; null where nobody does. */
  get retention() {
    return this.#leading.serving?.retention ?? null;
  }

  // --- life ---

  /** With the keys, and before any room: what the store is to be. Whether its data is another cluster's. */
  async enter(): Promise<{ readonly following: boolean; readonly secondary: boolean }> {
    const role = this.#role.load();
    const led = ledBy(role);
    if (led !== null) this.#lease.load(led);
    return await this.#takingOver.enter(role, { isStopped: this.#mustStop });
  }

  /** Finishes what a crash has left, and begins to work. */
  async lead(): Promise<void> {
    this.#changes.open();
    this.trees.open();
    this.#orphans.load();
    this.#adopted.load();
    await this.#finishChange();
    const role = this.#role.now;
    if (!follows(role) && !this.#options.store.following) this.#taking.open();
    if (role.mode === "primary") await this.#leading.open();
    if (role.mode === "secondary") this.#following.heard.load();
    if (role.mode === "secondary") await this.#following.resume(role);
    this.#tidying.open();
    if (this.#lease.isOn) this.#watching.open();
  }

  /** No change of the role is under way when this resolves, and none begins before it leads again. */
  async settle(): Promise<void> {
    await this.#changes.close();
  }

  async rest(): Promise<void> {
    await this.#changes.ended();
    await this.#watching.close();
    await this.#lease.settled();
    await this.#tidying.close();
    await this.trees.close();
    await this.#taking.close();
    await this.#leading.close("this cluster rests");
    await this.#following.close();
  }

  async #finishChange(): Promise<void> {
    const role = this.#role.now;
    const { store } = this.#options;
    if (role.mode === "demoting") {
      await this.#endDemotion();
      this.#log.info("finished a demotion", { index: String(store.index) });
    }
    await this.#takingOver.finish();
  }

  // --- primary ---

  async enablePrimary(address: string): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const { store, clusterId, clusterAddress, port, clock, random } = this.#options;
      const set = random.uuid();
      const step = {
        do: "enable-primary",
        set,
        cluster: clusterId(),
        address: namedAddress(address),
        first: firstOfEpoch(store),
      } as const;
      after(this.#role.now, step);
      if (port() === null) throw failures.noClusterPort();
      assertCalled(step.address || clusterAddress());
      const links = await this.#load();
      const material = await links.makePrimary({ set, kind: "dr" }, { clock, random });
      await this.#role.step(step, (tx) => {
        links.enablePrimary(tx, material);
        links.forgetFormer(tx);
      });
      await this.#leading.open();
      this.#changes.tell("role-changed", { mode: "primary", set });
      return { warnings: ["this cluster is a primary now: give each secondary a token"] };
    });
  }

  /** Throws where this cluster is no primary. */
  async primary(): Promise<Serving> {
    return this.#leading.primary();
  }

  async disablePrimary(): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const { now } = this.#role;
      after(now, { do: "disable-primary" });
      const leader = now.mode === "primary" ? now.fenced : null;
      const beside = leader === null ? [] : [besideWarning(leader, this.#leaderText(leader))];
      const wasStopped = this.#options.store.following;
      const links = await this.#load();
      await this.#leading.forgetFormer();
      await this.#role.step({ do: "disable-primary" }, (tx) => {
        links.forgetPrimary(tx);
        links.forgetFormer(tx);
      });
      await this.#leading.close(DISABLED);
      if (wasStopped) await this.#takingOver.leadAgain();
      this.#changes.tell("role-changed", { mode: "disabled" });
      return {
        warnings: [
          "this cluster replicates to nobody any more; secondaries that join it again lose their data first",
          ...beside,
        ],
      };
    });
  }

  /** The last write is behind it when this resolves. */
  async demote(): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const { store, house } = this.#options;
      after(this.#role.now, { do: "demote" });
      const wasFenced = isFenced(this.#role.now);
      const links = await this.#load();
      await house.drained();
      const finished = await this.#changes.orSeal(async () => {
        await this.#taking.close();
        await house.yield();
        await this.#role.step({ do: "demote" });
        await this.#takingOver.yield();
        // Who has heard of a later primary waits for nothing from this one.
        const reached = wasFenced ? null : await this.#leading.finish();
        await this.#leading.close("the primary was demoted");
        await this.#endDemotion();
        await house.leave();
        await this.#stand();
        return reached;
      });
      const final = String(store.index);
      await this.#changes.orRest(() => this.#options.dropAttempts());
      this.#changes.tell("role-changed", { mode: "secondary", final });
      const former = links.storedFormer(this.#options.view);
      const unaware = former?.isHeard === false ? unawareWarnings(former.addresses) : [];
      return { warnings: [...demotionWarnings(final, finished), ...unaware] };
    });
  }

  async #stand(): Promise<void> {
    const { now } = this.#role;
    if (now.mode === "secondary") await this.#following.resume(now);
  }

  /** What was issued for the way there is not taken for the way back: a ticket would make two primaries. The authority
   *  stays until this cluster follows another: promoted again, it is whom its secondaries know, and who leads instead of it
   *  can tell it so. What is kept of the primary of before stays as well: those that have followed that one know this cluster by it,
   *  and have perhaps not heard that it has led. */
  async #endDemotion(): Promise<void> {
    const { store, view, revokeOperationTokens } = this.#options;
    await this.#role.step({ do: "demoted", final: String(store.index) }, (tx) =>
      revokeOperationTokens(tx.on(view)),
    );
  }

  /** Somebody else leads the set by now: nothing is written here any more, also after a crash, when this resolves. */
  async fence(epoch: Epoch, { name, address }: HeardFrom): Promise<void> {
    await this.#changes.own(async () => {
      await this.#role.step({ do: "fence", epoch });
      this.#fencedBy = { cluster: epoch.cluster, address };
      await this.#changes.orSeal(async () => {
        await this.#taking.close();
        await this.#takingOver.yield();
        await this.#options.house.yield();
      });
      this.#log.warn("another cluster of the set leads: nothing is written here any more", {
        ...FENCED,
        epoch: epoch.number,
        cluster: epoch.cluster,
        ...(name === "" ? {} : { name }),
        ...(address === "" ? {} : { from: address }),
      });
    });
  }

  /** By its name, and where it was heard of in this life of the server, or is known to be. */
  #leaderText({ cluster }: Epoch): string {
    const heard = this.#fencedBy?.cluster === cluster ? this.#fencedBy.address : "";
    const address = heard || (this.#links?.addressOf(this.#options.view, cluster) ?? "");
    const text = clusterText(cluster, () => this.#nameOf(cluster));
    return address === "" ? text : `${text} at ${address}`;
  }

  // --- a primary that its secondaries bind ---

  /** Whether nobody was heard of for so long that another cluster may lead. */
  get #mustStop(): boolean {
    const led = ledBy(this.#role.now);
    return led !== null && this.#lease.isLapsed(led);
  }

  #reached(): void {
    const led = ledBy(this.#role.now);
    if (led === null) return;
    this.#lease.reached(led);
    if (this.#options.store.following) this.#watching.wake();
  }

  async #releaseLease(): Promise<void> {
    await this.#lease.release();
    if (this.#lease.isOn) this.#watching.wake();
  }

  /** As after a fence nothing is written and nothing done outside; unlike then it goes on when somebody is heard of. */
  async #keepLease(): Promise<void> {
    const { store, house } = this.#options;
    const isRight = () => ledBy(this.#role.now) === null || this.#mustStop === store.following;
    await this.#changes.ownEnded(); // it may be fenced by then
    if (this.changing || isRight()) return;
    if (store.following) return await this.#goOn();
    await this.#changes.own(() =>
      this.#changes.orSeal(async () => {
        await store.follow(failures.leaseLapsed);
        this.#log.error("no secondary was heard of for the time of primary_lease", LAPSED);
        await this.#taking.close();
        await house.yield();
      }),
    );
  }

  /** Rooms that were only read close and open anew: nothing is served until they have. */
  async #goOn(): Promise<void> {
    const work = async () => {
      await this.#takingOver.leadAgain();
      this.#log.info("a secondary is heard of: this primary writes again", GOES_ON);
    };
    await this.#changes.own(work, { isShut: true });
  }

  // --- secondary ---

  /** Which checks keep it from being promoted now, as far as what is in memory tells. */
  get unpromotable(): readonly string[] {
    return this.#following.unpromotable();
  }

  /** After a look whether the primary is there, and signed for. */
  async rehearse(address: string): Promise<SignedRehearsal> {
    return await this.#takingOver.rehearse(address);
  }

  async promote(how: Promotion): Promise<Changed> {
    return await this.#takingOver.promote(how);
  }

  async disableSecondary(): Promise<Changed> {
    return await this.#takingOver.leave();
  }

  /** Another primary, or the same with another token: its data stays. Keys that only this cluster has made go. */
  async updatePrimary(
    joined: Joined,
    { upstream, bundle }: Reached,
    { force, also }: { readonly force: boolean; readonly also: Also },
  ): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const links = await this.#load();
      const step = { do: "update-primary", joined, isForced: force } as const;
      const { epoch: known } = this.#secondary();
      const knownName = this.#nameOf(known.cluster); // it goes with the primary of before
      after(this.#role.now, step); // it took its time to reach it: what this cluster is may have changed
      const { heard } = this.#following;
      const { view, takeTicketsFrom } = this.#options;
      const isBefore = isOlder(joined.epoch, known);
      const taken = (signal: AbortSignal) =>
        this.#options.takeKeys(bundle, { mayGiveUp: true, signal });
      await this.#following.apart(async () => {
        if ((await this.#changes.orRest(taken)) === "rests") throw failures.roleChanging();
        await this.#role.step(step, (tx) => {
          links.forgetPrimary(tx);
          links.forgetFormer(tx);
          links.putUpstream(tx, upstream);
          heard.forgetIn(tx);
          if (isBefore) takeTicketsFrom(tx.on(view), joined.epoch.number);
          also(tx);
        });
        heard.forget();
      });
      this.#following.candidates.led(joined.epoch.cluster);
      await this.#following.open();
      if (isBefore) links.tellRefuted(this.#log, known, joined.epoch);
      const followed = `this cluster follows the primary at ${joined.address} from now on`;
      return { warnings: [followed, ...(isBefore ? [refutedWarning(known, knownName)] : [])] };
    });
  }

  /** The same primary at another address. */
  async movePrimary(address: string, also: Also = () => {}): Promise<Changed> {
    return await this.#changes.alone(async () => {
      await this.#role.step({ do: "move-primary", address }, also);
      await this.#following.again();
      return { warnings: [`this cluster follows the primary at ${address} from now on`] };
    });
  }

  async forgetPrimary(also: Also = () => {}): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const links = await this.#load();
      this.#secondary();
      await this.#following.apart(() =>
        this.#role.step({ do: "forget-primary" }, (tx) => {
          links.forgetUpstream(tx);
          also(tx);
        }),
      );
      return { warnings: ["this cluster has no primary now: it keeps its data and waits for one"] };
    });
  }

  /** Begins anew, whatever it waits for. */
  async recover(): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const { now } = this.#role;
      if (now.mode === "disabled") throw failures.notPrimary();
      if (isFenced(now)) throw failures.fenced();
      if (now.mode === "secondary") await this.#following.again();
      else {
        await this.#leading.close("replication begins anew");
        await this.#leading.open();
      }
      return { warnings: ["replication begins anew"] };
    });
  }

  async #takeOwn(isOpen: () => boolean): Promise<void> {
    const orphans = this.#orphans;
    const { clusterId } = this.#options;
    for (let rows = orphans.batch(); isOpen() && rows.length > 0; rows = orphans.batch()) {
      await this.#adopted.take(rows, clusterId());
      await orphans.settle(rows);
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
}

/** What a primary leads; null for everybody else, and for one that was superseded. */
function ledBy(role: Role): LedSet | null {
  if (role.mode !== "primary" || isFenced(role)) return null;
  return { set: role.set, epoch: role.epoch.number };
}
