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
import { ChangingPrimary } from "./links/changing-primary.ts";
import { Divergent } from "./links/divergent.ts";
import type { Links } from "./links/links.ts";
import { Orphans } from "./links/orphans.ts";
import type { Serving } from "./links/serving.ts";
import { firstOfEpoch, type TookOver } from "./log-times.ts";
import type { LinkedOptions, ReplicationOptions } from "./options.ts";
import { BoundWriting } from "./roles/bound-writing.ts";
import { type Also, type Changed, Changes } from "./roles/changes.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import { after, follows, isFenced, type Epoch, type Role } from "./roles/role.ts";
import { StoredRole } from "./roles/stored-role.ts";
import { besideWarning, clusterText, demotionWarnings, unawareWarnings } from "./roles/warnings.ts";
import { ClusterStatus } from "./status/cluster-status.ts";
import { DISABLED } from "./stream/goodbyes.ts";
import { type Promotion, TakingOver } from "./taking-over.ts";
import { TreeWork } from "./tree-work.ts";

const FENCED = {
  event: "replication.fenced",
  remedy: "demote this cluster, and let it follow that one (update-primary)",
};

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
  readonly #changingPrimary: ChangingPrimary;
  #links: Links | null = null;
  /** Who leads instead of this one, and where that was heard from. */
  #fencedBy: { readonly cluster: string; readonly address: string } | null = null;
  readonly #tidying: Recurring;
  readonly #bound: BoundWriting;
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
    const parts = this.#parts();
    this.#bound = new BoundWriting({
      ...parts,
      stop: async () => {
        await this.#taking.close();
        await options.house.yield();
      },
      goOn: () => this.#takingOver.leadAgain(),
    });
    this.#leading = new Leading({
      ...parts,
      adopted: this.#adopted,
      lease: { reached: () => this.#bound.reached(), release: () => this.#bound.release() },
      fence: (epoch, by) => this.fence(epoch, by),
    });
    this.#following = new Following({
      ...parts,
      surplus: { divergent: this.divergent, orphans: this.#orphans },
    });
    const [leading, following] = [this.#leading, this.#following];
    const taken = () => this.#taking.open();
    this.#takingOver = new TakingOver({ ...parts, leading, following, taken });
    this.#changingPrimary = new ChangingPrimary({ ...parts, following });
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
    return await this.#takingOver.enter(role, { isStopped: this.#bound.enter(role) });
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
    this.#bound.open();
  }

  /** No change of the role is under way when this resolves, and none begins before it leads again. */
  async settle(): Promise<void> {
    await this.#changes.close();
  }

  async rest(): Promise<void> {
    await this.#changes.ended();
    await this.#bound.close();
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

  /** Another primary, or the same with another token: its data stays. */
  async updatePrimary(...change: Parameters<ChangingPrimary["follow"]>): Promise<Changed> {
    return await this.#changingPrimary.follow(...change);
  }

  /** The same primary at another address. */
  async movePrimary(address: string, also: Also = () => {}): Promise<Changed> {
    return await this.#changingPrimary.move(address, also);
  }

  async forgetPrimary(also: Also = () => {}): Promise<Changed> {
    return await this.#changingPrimary.forget(also);
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

  async #load(): Promise<Links> {
    this.#links ??= (await import("./links/links.ts")).links;
    return this.#links;
  }
}
