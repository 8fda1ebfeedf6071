// Replication of one kind in this cluster: what it is, how it becomes something else, and what works for it. Each
// change is stored before anybody hears of it, one at a time; what a crash leaves in between is finished when the
// server is unsealed the next time.

import { EMPTY } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import { DAY } from "@holdfast/shared/text/duration";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { Replica } from "../storage/repair/heal.ts";
import type { Tx } from "../barrier/view.ts";
import { assertCalled, namedAddress } from "./addresses.ts";
import { wasTorn } from "./applied/applied-place.ts";
import { isTorn, writtenBy } from "./applied/how-far.ts";
import type { StandIn } from "./cascades/standing-in.ts";
import type { DataSteps, Entered } from "./data/data-steps.ts";
import * as failures from "./failures.ts";
import { ReplicationFigures } from "./figures.ts";
import { FirstCopy } from "./data/first-copy.ts";
import { filterNotOwn } from "./filters/failures.ts";
import type { Withheld } from "./filters/filter.ts";
import { Following } from "./following.ts";
import { type HeardFrom, Leading } from "./leading.ts";
import { ChangingPrimary } from "./links/changing-primary.ts";
import { Divergent } from "./links/divergent.ts";
import { OutsideWork } from "./links/outside-work.ts";
import type { Links } from "./links/links.ts";
import type { Receiving } from "./links/receiving.ts";
import type { Serving } from "./links/serving.ts";
import { firstOfEpoch, type TookOver } from "./data/log-times.ts";
import type { LinkedOptions, ReplicationOptions } from "./options.ts";
import { BoundWriting } from "./roles/bound-writing.ts";
import { type Also, type Changed, Changes } from "./roles/changes.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import {
  after,
  follows,
  isFenced,
  ledUntil,
  type Epoch,
  type Joined,
  type Role,
} from "./roles/role.ts";
import { StoredRole } from "./roles/stored-role.ts";
import { Successor } from "./roles/successor.ts";
import { besideWarning, demotionWarnings, unawareWarnings } from "./roles/warnings.ts";
import { SharedData } from "./data/shared-data.ts";
import { ClusterStatus } from "./status/cluster-status.ts";
import type { LeaseQuestion, LeasesOfMembers } from "./sending/counting-leases.ts";
import type { Evacuations } from "./stream/evacuated.ts";
import { DISABLED } from "./stream/goodbyes.ts";
import { type Left, type Promotion, readLeft, TakingOver } from "./taking-over.ts";
import { TreeWork } from "./tree-work.ts";
import { WholeData } from "./data/whole-data.ts";

export class Replication {
  readonly #options: ReplicationOptions;
  readonly #log: Log;
  readonly #role: StoredRole;
  readonly #figures = new ReplicationFigures();
  readonly divergent: Divergent;
  readonly #outside: OutsideWork;
  readonly trees: TreeWork;
  readonly status: ClusterStatus;
  readonly #changes: Changes;
  readonly #leading: Leading;
  readonly #following: Following;
  readonly #data: DataSteps;
  readonly #takingOver: TakingOver;
  readonly #changingPrimary: ChangingPrimary;
  #links: Links | null = null;
  readonly #successor: Successor;
  /** Who leads instead of this primary, as it heard when it was started. */
  #found: Epoch | null = null;
  #left: Left | null | undefined = undefined; // not looked at yet
  #isTakenOver = false;
  readonly #tidying: Recurring;
  readonly #bound: BoundWriting;
  readonly #firstCopy: FirstCopy;

  constructor(options: ReplicationOptions) {
    this.#options = options;
    this.#log = options.log.child("replication");
    this.#role = new StoredRole(options.view, options.kind);
    this.divergent = new Divergent(options.view.sub("divergent/"), options.clock);
    const { timers } = options;
    const log = this.#log;
    this.#changes = options.changes ?? new Changes(log, () => options.house.seal());
    this.#successor = new Successor(log);
    this.#outside = new OutsideWork(options, log);
    const { orphans, adopted } = this.#outside;
    const parts = this.#parts();
    this.#bound = new BoundWriting({
      ...parts,
      stop: async () => {
        await this.#outside.close();
        await options.house.yield();
      },
      goOn: () => this.#takingOver.leadAgain(),
    });
    this.#leading = new Leading({
      ...parts,
      adopted,
      lease: { reached: () => this.#bound.reached(), release: () => this.#bound.release() },
      fence: (epoch, by) => this.fence(epoch, by),
    });
    this.#following = new Following({
      ...parts,
      surplus: { divergent: this.divergent, orphans },
    });
    const [leading, following] = [this.#leading, this.#following];
    const taken = () => this.#outside.open();
    const Data = options.kind === "dr" ? WholeData : SharedData;
    this.#data = new Data({ ...parts, following });
    this.#firstCopy = new FirstCopy(parts);
    this.#takingOver = new TakingOver({ ...parts, leading, following, data: this.#data, taken });
    this.#changingPrimary = new ChangingPrimary({ ...parts, following });
    this.trees =
      options.trees ??
      new TreeWork({
        ...options,
        figures: this.#figures,
        // One for both kinds: the trees are of the store.
        hasReplicas: () =>
          this.hasMembers || this.mode === "secondary" || options.beside?.().hasMembers === true,
        replicas: () => [...this.replicas(), ...(options.beside?.().replicas() ?? [])],
        follows: () => following.receiving?.status.state === "stream-wals",
        refetch: () => this.refetch() || (options.beside?.().refetch() ?? false),
      });
    this.status = new ClusterStatus(options, {
      role: () => this.#role.now,
      applied: () => following.applied,
      serving: () => leading.serving,
      receiving: () => following.receiving,
      heard: following.heard,
      trees: this.trees,
      divergent: this.divergent,
      orphans,
      adopted,
      figures: this.#figures,
      known: () => leading.serving?.known ?? this.#knownBefore(),
      awaited: () => leading.awaited,
      tookOverAt: () => leading.tookOverAt ?? this.tookOver?.at ?? null,
      nameOf: (cluster) => this.#nameOf(cluster),
      unpromotable: () => this.unpromotable,
      isTorn: () => this.isTorn,
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
    const signed =
      this.#options.kind === "performance"
        ? { signedEpoch: (epoch: Epoch) => this.#signed(epoch) }
        : {};
    const options: LinkedOptions = { ...this.#options, ...signed, log, figures: this.#figures };
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

  get #now(): string {
    return showTime(this.#options.clock.now());
  }

  #signed(epoch: Epoch): Uint8Array {
    const { view, kind } = this.#options;
    return this.#links?.signedEpoch(view, kind, this.#role.now, epoch) ?? EMPTY;
  }

  // --- what it is ---

  get role(): Role {
    return this.#role.now;
  }

  get isFenced(): boolean {
    return isFenced(this.#role.now);
  }

  get mode(): "disabled" | "primary" | "secondary" {
    const { mode } = this.#role.now;
    return mode === "demoting" ? "primary" : mode;
  }

  get fencedBy(): string | null {
    const { now } = this.#role;
    return now.mode === "primary" ? (now.fenced?.cluster ?? null) : null;
  }

  /** Where its secondaries are, as far as they have said; none where it leads nobody. */
  get places(): readonly string[] {
    return this.#leading.serving?.places ?? [];
  }

  /** Whether the role changes at this moment: nothing but its status is answered then. */
  get changing(): boolean {
    return this.#changes.isRunning;
  }

  /** When this cluster took the place of another, as far as its log tells; null where it never has. */
  get tookOver(): TookOver | null {
    return this.#data.tookOver;
  }

  /** When this cluster began to write what is shared in the place of another cluster; null where it has not. */
  get sharedSince(): Instant | null {
    return this.#data.sharedSince;
  }

  /** How late it is by the log of whom it takes the place of; null but while it does. */
  get goesOnAt(): Instant | null {
    return this.#data.goesOnAt;
  }

  /** What of the log others need; null where nobody does. */
  get retention() {
    return this.#leading.serving?.retention ?? null;
  }

  /** What one transaction may have, so that every secondary can take it; null where none has come. */
  get transactionBytes(): number | null {
    return this.#leading.serving?.transactionBytes ?? null;
  }

  /** What secondaries have given by mounts that go; null where there are none. */
  get evacuations(): Evacuations | null {
    return this.#leading.serving?.evacuations ?? null;
  }

  /** Leases that secondaries have given by a mount that is shared; null where there are none. */
  async leasesElsewhere(question: LeaseQuestion): Promise<LeasesOfMembers | null> {
    return (await this.#leading.serving?.leasesElsewhere(question)) ?? null;
  }

  get hasMembers(): boolean {
    return (this.#leading.serving?.known.length ?? 0) > 0;
  }

  /** Members that can be asked for what is damaged here. */
  replicas(): readonly Replica[] {
    return this.#leading.serving?.replicas() ?? [];
  }

  /** What is damaged here is fetched from the primary; false where there is none that is reached. */
  refetch(): boolean {
    return this.#following.receiving?.mend() ?? false;
  }

  /** Names of the policies that a secondary may vouch for; null: all. */
  attests(id: string): readonly string[] | null {
    return this.#leading.serving?.secondaries.attests(id) ?? null;
  }

  /** What a secondary is not sent; null where it is sent everything, and where this cluster has none. */
  async withheldFrom(id: string): Promise<Withheld | null> {
    const { serving } = this.#leading;
    if (serving === null || this.#options.kind === "dr") return null;
    const { filters } = serving;
    await filters.ready();
    return filters.of(id)?.present ?? null;
  }

  /** Which cluster a secondary is, by its hello; null where this cluster has none. */
  clusterOf(id: string): string | null {
    return this.#leading.serving?.secondaries.clusterNamed(id) ?? null;
  }

  /** The last index of the primary that is here. */
  get applied(): bigint {
    return this.#following.applied;
  }

  /** Which primary of the set has written the last of it; 0: nobody knows. Of performance replication alone. */
  get writtenBy(): number {
    return writtenBy(this.#options, this.#role.now);
  }

  /** With whose data this cluster left its set; null where it has not. Of performance replication alone. */
  get left(): Left | null {
    if (this.#left === undefined) this.#left = readLeft(this.#options.view);
    return this.#left;
  }

  /** Whether what is shared is here in part, of different indexes of the primary's, which may not be followed any more. */
  get isTorn(): boolean {
    const { now } = this.#role;
    return now.mode === "secondary" && now.copied && isTorn(this.#options);
  }

  /** Whether it was when it was last written, by whomever: where this cluster stands in for another that is to be known before the data is its own. */
  get wasTorn(): boolean {
    return this.#options.kind === "performance" && wasTorn(this.#options);
  }

  /** Name of the region of whom this cluster follows, reached or not; empty where it follows nobody, or has not heard it. */
  get primaryRegion(): string {
    const { now } = this.#role;
    return now.mode === "secondary" ? (now.region ?? "") : "";
  }

  /** When that was last heard of, also before the start; null where it never was. */
  get lastHeard(): Instant | null {
    return this.#following.heard.last;
  }

  /** Up to when this cluster wrote what is shared itself; null where what is here is another's. */
  get ledUntil(): Instant | null {
    const until = ledUntil(this.#role.now);
    return until === "now" ? this.#options.clock.now() : parseTime(until);
  }

  /** Why it does not take this cluster any more; null where it has not said so. */
  get refusal(): string | null {
    return this.#following.heard.lastRefusal;
  }

  /** Whom this cluster follows, as it is reached now; null where it follows nobody. */
  get upstream(): Receiving | null {
    return this.#following.receiving;
  }

  // --- life ---

  /** Whom this primary has revoked while it could not write that is not believed in the other kind either. */
  async markRevoked(): Promise<void> {
    await this.#leading.serving?.markRevoked();
  }

  /** Only what it is. */
  load(): void {
    this.#role.load();
  }

  /** What is stored of it is another cluster's place. */
  forget(): void {
    this.#role.forget();
  }

  /** The place of another cluster in the set becomes this one's, with its data: what is written then. */
  async standIn(place: StandIn): Promise<(tx: Tx) => void> {
    const links = await this.#load();
    this.#isTakenOver = true;
    return await links.standingIn(this.#options, place);
  }

  /** This cluster is nothing in the set when it leaves with that data: what is written then. */
  async leaveWith(): Promise<(tx: Tx) => void> {
    const links = await this.#load();
    return (tx) => links.leavingWith(this.#options, tx);
  }

  /** With the keys, and before any room: what the store is to be. Whether its data is another cluster's. */
  async enter(): Promise<Entered> {
    this.#left = undefined;
    const role = this.#role.load();
    // Who has just taken a place over tells its members, and waits for none.
    this.#found = this.#isTakenOver ? null : await this.#leading.leaderAtStart();
    this.#isTakenOver = false;
    const isLapsed = this.#bound.enter(role);
    const lapsed = isLapsed ? failures.leaseLapsed : null;
    return await this.#data.enter(role, this.#found === null ? lapsed : failures.fenced);
  }

  /** As it was found with the keys, when nothing could be written yet. Nothing is open that would have to stop. */
  async #fenceAtStart(): Promise<void> {
    const epoch = this.#found;
    this.#found = null;
    if (epoch === null) return;
    await this.#role.step({ do: "fence", epoch, at: this.#now });
    this.#successor.tell(epoch, { name: this.#nameOf(epoch.cluster), address: "" });
  }

  /** Finishes what a crash has left, and begins to work. */
  async lead(): Promise<void> {
    this.#changes.open();
    this.#role.load(); // the other kind may have written it
    if (this.#options.trees === undefined) this.trees.open();
    this.#outside.load();
    await this.#fenceAtStart();
    await this.#finishChange();
    const role = this.#role.now;
    if (!follows(role) && !this.#options.store.following) this.#outside.open();
    if (role.mode === "primary") await this.#leading.open();
    if (role.mode === "secondary") this.#following.heard.load();
    if (role.mode === "secondary") await this.#following.resume(role);
    this.#tidying.open();
    this.#bound.open();
    if (this.#options.kind === "performance") this.#firstCopy.open();
  }

  /** No change of the role is under way when this resolves, and none begins before it leads again. */
  async settle(): Promise<void> {
    await this.#changes.close();
  }

  async rest(): Promise<void> {
    await this.#changes.ended();
    await this.close();
  }

  /** Nothing of it works any more, also while the other kind changes. */
  async close(): Promise<void> {
    await this.#firstCopy.close();
    await this.#bound.close();
    await this.#tidying.close();
    if (this.#options.trees === undefined) await this.trees.close();
    await this.#outside.close();
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
      const { kind, store, clusterId, clusterAddress, port, clock, random } = this.#options;
      const set = random.uuid();
      const step = {
        do: "enable-primary",
        set,
        cluster: clusterId(),
        address: namedAddress(address),
        first: firstOfEpoch(store),
      } as const;
      after(this.#role.now, step, kind);
      if (port() === null) throw failures.noClusterPort();
      assertCalled(step.address || clusterAddress());
      const links = await this.#load();
      const material = await links.makePrimary({ set, kind }, { clock, random });
      await this.#role.step(step, (tx) => {
        links.enablePrimary(tx, material);
        links.forgetFormer(tx);
      });
      await this.#leading.open();
      this.#changes.tell("role-changed", { kind: this.#options.kind, mode: "primary", set });
      return { warnings: ["this cluster is a primary now: give each secondary a token"] };
    });
  }

  /** Throws where this cluster is no primary. */
  async primary(): Promise<Serving> {
    return this.#leading.primary();
  }

  /** What is withheld from this secondary, as its primary has told it. Throws where it is none, or goes by another id. */
  withheldHere(id: string): Withheld {
    const { withheld, clusterId, kind } = this.#options;
    const { now } = this.#role;
    if (now.mode !== "secondary" || withheld === undefined) throw failures.notSecondary(kind);
    if (id !== now.id && id !== clusterId() && id !== now.set) throw filterNotOwn();
    return withheld.now;
  }

  async disablePrimary(): Promise<Changed> {
    return await this.#changes.alone(async () => {
      const { now } = this.#role;
      after(now, { do: "disable-primary" }, this.#options.kind);
      const leader = now.mode === "primary" ? now.fenced : null;
      const beside = leader === null ? [] : [besideWarning(leader, this.#leaderText(leader))];
      const wasStopped = this.#data.isStopped;
      const links = await this.#load();
      await this.#leading.forgetFormer();
      await this.#role.step({ do: "disable-primary" }, (tx) => {
        links.forgetPrimary(tx);
        links.forgetFormer(tx);
      });
      await this.#leading.close(DISABLED);
      if (wasStopped) await this.#takingOver.leadAgain();
      this.#changes.tell("role-changed", { kind: this.#options.kind, mode: "disabled" });
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
      const { store, house, kind, beside } = this.#options;
      after(this.#role.now, { do: "demote" }, kind);
      // What it was among those that share data went with the rest.
      if (kind === "performance" && beside?.().isFenced === true) throw failures.fencedAltogether();
      const wasFenced = isFenced(this.#role.now);
      const links = await this.#load();
      await house.drained();
      const finished = await this.#changes.orSeal(async () => {
        await this.#outside.close();
        await this.#data.yield();
        await this.#role.step({ do: "demote" });
        await this.#data.follow();
        // Who has heard of a later primary waits for nothing from this one.
        const reached = wasFenced ? null : await this.#leading.finish();
        await this.#leading.close("the primary was demoted");
        await this.#endDemotion();
        await this.#data.stay();
        await this.#stand();
        return reached;
      });
      const final = String(store.index);
      await this.#changes.orRest(() => this.#options.dropAttempts());
      this.#changes.tell("role-changed", { kind: this.#options.kind, mode: "secondary", final });
      const former = links.storedFormer(this.#options.view, this.#options.kind);
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
    const step = { do: "demoted", final: String(store.index), at: this.#now } as const;
    await this.#role.step(step, (tx) => revokeOperationTokens(tx.on(view)));
  }

  /** Somebody else leads the set by now: nothing is written here any more, also after a crash, when this resolves. */
  async fence(epoch: Epoch, by: HeardFrom): Promise<void> {
    await this.#changes.own(
      async () => {
        await this.#role.step({ do: "fence", epoch, at: this.#now });
        this.#successor.heard(epoch, by);
        await this.#changes.orSeal(async () => {
          await this.#outside.close();
          await this.#data.stop();
        });
        this.#successor.tell(epoch, by);
      },
      { isShut: this.#options.kind === "performance" },
    );
  }

  #leaderText(epoch: Epoch): string {
    const address = this.#links?.addressOf(this.#options.view, epoch.cluster) ?? "";
    return this.#successor.text(epoch, { name: (cluster) => this.#nameOf(cluster), address });
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
    const changed = await this.#takingOver.leave();
    this.#left = undefined;
    return changed;
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
      if (now.mode === "disabled") throw failures.notPrimary(this.#options.kind);
      if (isFenced(now)) throw failures.fenced(this.#options.kind);
      if (now.mode === "secondary") await this.#following.again();
      else {
        await this.#leading.close("replication begins anew");
        await this.#leading.open();
      }
      return { warnings: ["replication begins anew"] };
    });
  }

  /** Other data takes the place of this cluster's, which becomes a secondary with it. */
  async join(joined: Joined, exchange: () => Promise<void>): Promise<void> {
    await this.#changes.last(async () => {
      after(this.#role.now, { do: "join", joined }, this.#options.kind);
      await exchange();
    });
  }

  async #load(): Promise<Links> {
    this.#links ??= (await import("./links/links.ts")).links;
    return this.#links;
  }
}
