// A secondary among others: whom it follows, what it has heard of that one, how late it is by the log that comes, and what a
// promotion goes by.

import { base64 } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { appliedHere, isTorn } from "./applied/how-far.ts";
import * as failures from "./failures.ts";
import { Heard } from "./heard.ts";
import type { FencePorts } from "./joining/calls.ts";
import type { Found } from "./links/asking.ts";
import type { Beside } from "./links/beside.ts";
import type { Divergent } from "./links/divergent.ts";
import type { Answered } from "./links/fencing.ts";
import type { Links } from "./links/links.ts";
import type { Orphans } from "./links/orphans.ts";
import type { Receiving } from "./links/receiving.ts";
import type { Superseded } from "./links/superseded.ts";
import type { Upstream } from "./links/upstream.ts";
import { entryTime } from "./data/log-times.ts";
import { storedMark } from "./stream/mark.ts";
import type { LinkedOptions } from "./options.ts";
import type { Changes } from "./roles/changes.ts";
import { type Candidacy, Candidates } from "./roles/candidates.ts";
import { promotionChecks, type PromotionFacts, type SiblingFacts } from "./roles/checks.ts";
import { rehearsalReport, rehearsed, type SignedRehearsal } from "./roles/rehearsal.ts";
import { addressesOf, type Epoch, isNext, type Secondary } from "./roles/role.ts";
import type { StoredRole } from "./roles/stored-role.ts";
import { PerMinute } from "./per-minute.ts";
import { SILENCE } from "./silence.ts";
import type { ClusterStatus } from "./status/cluster-status.ts";

/** For a primary to say that it leads still. */
const LED_WITHIN: Nanos = 3n * SECOND;
/** Of one cluster, in a minute. */
const RETURNS = 6;

export interface FollowingParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  /** Where it goes what only this cluster has. */
  readonly surplus: { readonly divergent: Divergent; readonly orphans: Orphans };
  readonly links: () => Promise<Links>;
  /** Under which a cluster is known here; empty where it is not. */
  readonly nameOf: (cluster: string) => string;
  readonly status: Pick<ClusterStatus, "open" | "close">;
  readonly changes: Changes;
}

export class Following {
  readonly #parts: FollowingParts;
  /** Of the primary, by whoever receives. */
  readonly heard: Heard;
  /** Who is about to be promoted. */
  readonly candidates: Candidates;
  /** Of epochs after the one that is known to be a later one. */
  readonly #claims: PerMinute;
  /** How often it says to be back: the primary is called for it. */
  readonly #returns: PerMinute;
  #receiving: Receiving | null = null;
  #beside: Beside | null = null;
  #demoted: Superseded | null = null;
  /** Of the primary, while it is called to hear whether it leads. */
  #calling: Promise<Answered | null> | null = null;
  /** By the steady clock: when the last entry of another cluster came, or this one began to follow. */
  #came: Nanos;
  #unwatch = () => {};

  constructor(parts: FollowingParts) {
    this.#parts = parts;
    const { clock, clusterId, own, log, store } = parts.options;
    this.heard = new Heard({ view: own, store, clock, log, applied: () => this.applied });
    this.#claims = new PerMinute(clock, 1);
    this.#returns = new PerMinute(clock, RETURNS);
    this.candidates = new Candidates(clock, clusterId, () => this.#epoch);
    this.#came = parts.options.clock.elapsed();
  }

  get #epoch(): number {
    const { now } = this.#parts.role;
    return now.mode === "disabled" ? 0 : now.epoch.number;
  }

  /** The last index of the log that is followed, as far as it is here. */
  get applied(): bigint {
    return appliedHere(this.#parts.options, this.#parts.role.now);
  }

  /** Null where nobody is followed. */
  get receiving(): Receiving | null {
    return this.#receiving;
  }

  // --- life ---

  /** The last entry of the log is of now, as far as is known. */
  begin(): void {
    this.#came = this.#parts.options.clock.elapsed();
  }

  async open(): Promise<void> {
    const { options } = this.#parts;
    const links = await this.#parts.links();
    const upstream = links.storedUpstream(options.view, options.kind);
    if (upstream === null) throw failures.primaryUnknown();
    this.#receive(links, upstream);
    this.#serveBeside(links, upstream.member);
  }

  /** As the role says. */
  async resume(role: Secondary): Promise<void> {
    await (role.id === "" ? this.stand(role) : this.open());
  }

  /** Who was demoted and follows nobody yet: whoever is promoted in its place tells it, also one that has followed the same primary
   *  before. */
  async stand(role: Secondary): Promise<void> {
    const { options } = this.#parts;
    const port = options.port();
    const links = await this.#parts.links();
    const isOwn = links.storedMaterial(options.view, options.kind)?.authority.set === role.set;
    if (port === null || !isOwn) return;
    const { set, epoch } = role;
    const led = { set, epoch, isDemoted: true, leader: epoch.cluster };
    this.#demoted = links.superseded(options, port, led, this.#hearing);
    this.#demoted.open();
    const member = links.storedBeside(options.view, options.kind);
    if (member !== null) this.#serveBeside(links, member);
  }

  /** Others that follow tell it who leads. */
  #serveBeside(links: Links, member: Upstream["member"]): void {
    const { options } = this.#parts;
    const port = options.port();
    if (port === null) return;
    this.#beside = links.beside(options, port, member, this.#hearing);
    this.#beside.open();
  }

  /** What others say of who leads and who is to, and what they hear. */
  get #hearing() {
    const { candidates } = this;
    const fenced: FencePorts["fenced"] = (epoch, isOwn, _by, proof) =>
      this.hearOf(epoch, isOwn, proof);
    return { fenced, leads: () => false, candidates };
  }

  #receive(links: Links, upstream: Upstream): void {
    const { options, role, surplus, status } = this.#parts;
    const renewed = (member: Upstream["member"]) => this.#serveBeside(links, member);
    const revoked = () => this.#beside?.refuse();
    const own = { ...surplus, heard: this.heard, renewed, revoked };
    this.#receiving = links.receiving(options, role, own, upstream);
    this.#receiving.open();
    this.heard.try();
    status.open();
    this.#unwatch();
    this.#watchLog();
  }

  /** Entries that come are told by their index alone: some change no row. */
  #watchLog(): void {
    const { store, clock } = this.#parts.options;
    this.#unwatch = store.onIndex(store.index + 1n, () => {
      this.#came = clock.elapsed();
      this.#watchLog();
    });
  }

  async close(): Promise<void> {
    this.#beside?.close();
    this.#demoted?.close();
    this.replaced();
    await this.#stop();
  }

  /** This cluster leads: what was served here is served by who leads. */
  replaced(): void {
    this.#beside = null;
    this.#demoted = null;
  }

  /** Another cluster of the set has proved to lead: nothing more is taken from the one that is followed. `signed`: by the authority of that
   *  one, which has it then. Gives the one that leads as far as is known here. */
  async hearOf(epoch: Epoch, isOwn: boolean, signed: Uint8Array | null = null): Promise<Epoch> {
    const { options, role, changes } = this.#parts;
    const { now } = role;
    if (now.mode === "primary") return now.epoch; // since a moment ago
    if (now.mode !== "secondary") throw failures.notSecondary(options.kind);
    const isBack = isOwn && epoch.cluster === now.epoch.cluster;
    if (isBack && this.#returns.take(epoch.cluster) === 0) this.#receiving?.expect();
    if (!isNext(now.epoch, epoch) || !isOwn) return now.epoch;
    if (signed !== null && (await this.#parts.links()).isRevoked(options.view, epoch.cluster)) {
      return now.epoch; // it has the authority still, since it stood in for the primary
    }
    if (signed === null && (await this.#isLed(now))) return now.epoch;
    // It follows nobody already: who names one epoch after the other costs a row a minute.
    if (now.superseded === true && this.#claims.take(epoch.cluster) > 0) return now.epoch;
    await changes.own(async () => {
      const proof = signed === null ? {} : { proof: base64(signed) };
      await role.step({ do: "superseded", epoch, ...proof });
      this.candidates.led(epoch.cluster);
      const links = await this.#parts.links();
      links.tellSuperseded(options.log, epoch, this.#parts.nameOf(epoch.cluster));
      const upstream = links.storedUpstream(options.view, options.kind);
      await this.#stop();
      if (upstream !== null) this.#receive(links, upstream); // the other one is told
    });
    return epoch;
  }

  /** Whether the primary that is followed leads still. One that it has revoked may not have been heard of here yet: its word stops
   *  nobody that the primary still reaches. However many say it: the primary is called once at a time, and where it is heard not at all. */
  async #isLed(now: Secondary): Promise<boolean> {
    if (now.final !== null || now.superseded === true) return false;
    const isHeard = this.heard.silence < SILENCE;
    if (isHeard && this.#receiving?.status.connectionState === "ready") return true;
    this.#calling ??= this.#callPrimary(now).finally(() => (this.#calling = null));
    const answer = await this.#calling;
    // Its port may be crowded: who is not let in there has not found that nobody is.
    if (answer === null) return this.heard.silence < SILENCE;
    return answer.leads && !isNext(now.epoch, answer.leading);
  }

  async #callPrimary(now: Secondary): Promise<Answered | null> {
    const { options } = this.#parts;
    const links = await this.#parts.links();
    const upstream = links.storedUpstream(options.view, options.kind);
    if (upstream === null) return null;
    return await links.within(options, LED_WITHIN, (signal) =>
      links.exchange(addressesOf(now), upstream.member, now.epoch, options, { signal }),
    );
  }

  async #stop(): Promise<void> {
    const { role, status } = this.#parts;
    await status.close();
    const receiving = this.#receiving;
    this.#receiving = null;
    const final = receiving?.status.final ?? null;
    await receiving?.close();
    await this.heard.keep();
    this.#unwatch();
    const { now } = role;
    const isOver = final !== null && this.applied >= final.index;
    // Where another cluster leads by now, its log goes on.
    if (!isOver || now.mode !== "secondary" || now.superseded === true) return;
    // What is shared of data that another cluster leads by now: nothing of it is written here.
    if (this.#parts.options.kind === "performance" && this.#parts.options.store.following) return;
    if (now.final !== String(final.index)) {
      await role.step({ do: "ended", final: String(final.index) });
    }
  }

  /** Begins anew, where there is somebody to follow. */
  async again(): Promise<void> {
    try {
      await this.close();
    } finally {
      const { now } = this.#parts.role;
      if (now.mode === "secondary") await this.resume(now);
    }
  }

  /** Nobody is followed while this runs. Where it fails, whoever was followed before is again. `isHeard`: others hear meanwhile that
   *  this cluster stands. */
  async apart<T>(work: () => Promise<T>, { isHeard = false } = {}): Promise<T> {
    try {
      await (isHeard ? this.#stop() : this.close());
      return await work();
    } catch (error) {
      await this.again();
      throw error;
    }
  }

  /** The time of the last entry, and what has passed since it came. After a copy there may be none: then what the primary
   *  itself has said. */
  timeOfLog(): Instant | null {
    const { store, clock } = this.#parts.options;
    const time = entryTime(store, store.index);
    if (time === null) return this.heard.timeThere;
    return time + clock.elapsed() - this.#came;
  }

  // --- what a promotion goes by ---

  /** Before somebody goes by the silence of the primary: it may be back. One that has refused is called once a minute otherwise. */
  async look(role: Secondary): Promise<void> {
    const { applied, final, silentFor, refusal } = this.facts(role, () => null);
    const isOver = final !== null && applied >= final;
    const isSilent = silentFor !== null && this.heard.silence >= SILENCE;
    if (!isOver && (isSilent || refusal !== null)) await this.#receiving?.look();
  }

  /** What the other members know of who leads and who is to. */
  async callOthers(role: Secondary, candidacy: Candidacy): Promise<Found> {
    const { options } = this.#parts;
    const links = await this.#parts.links();
    const others = await links.othersOf(role, options);
    return await links.callOthers(others, role.epoch, candidacy, options);
  }

  /** Nothing came of it: others need not wait. */
  withdraw(role: Secondary): void {
    this.callOthers(role, "withdraws").catch((error: unknown) => {
      const { log } = this.#parts.options;
      log.warn("could not say that nothing came of a promotion", { cause: describe(error) });
    });
  }

  /** As a promotion goes by it. */
  standingAgainst({ named, deniers, ...found }: Found): SiblingFacts {
    return { ...found, candidates: this.candidates.against(named, deniers) };
  }

  facts(role: Secondary, opens = () => this.#opens()): PromotionFacts {
    const { options, changes } = this.#parts;
    const { store, audits } = options;
    const { heard } = this;
    const status = this.#receiving?.status ?? null;
    const connected = status?.connectionState === "ready";
    const finalPlace = status?.final?.index ?? null;
    const isOfOneIndex = options.kind === "dr" ? this.isOfOneIndex : !isTorn(options);
    return {
      opens: opens(),
      copied: role.copied,
      needsWhole: options.kind === "performance",
      between: store.adopting !== null ? "states" : isOfOneIndex ? null : "indexes",
      equal: heard.differs ? false : null,
      withheld: options.withheld?.count ?? 0,
      applied: this.applied,
      announced: status?.highestAnnounced ?? heard.announced,
      final: finalPlace ?? (role.final === null ? null : BigInt(role.final)),
      silentFor: connected ? null : Number(heard.silence / SECOND),
      unheardFor: connected ? null : Number(heard.unheard / SECOND),
      isHeard: connected || heard.isHeard,
      refusal: connected ? null : heard.refusal,
      hasEnded: heard.hasEnded,
      sighting: heard.seen,
      places: addressesOf(role),
      hasPrimary: role.id !== "",
      superseded: role.superseded === true,
      leader: role.epoch,
      nameOf: this.#parts.nameOf,
      hasPort: options.port() !== null,
      audits: audits(),
      changing: changes.isRunning || this.candidates.stands,
      siblings: null,
    };
  }

  /** Whether no row of the whole log is newer than the log, also where nobody is followed any more. */
  get isOfOneIndex(): boolean {
    return this.#receiving?.status.isConsistent ?? storedMark(this.#parts.options.own) === null;
  }

  /** By what is in memory: whether an entry opens is looked at by those who promote. */
  unpromotable(): readonly string[] {
    const { now } = this.#parts.role;
    if (now.mode !== "secondary") return [];
    const checks = promotionChecks(this.facts(now, () => null));
    return checks.flatMap(({ name, ok }) => (ok ? [] : [name]));
  }

  async rehearse(role: Secondary): Promise<SignedRehearsal> {
    const { clock, sign, log, kind } = this.#parts.options;
    const [others] = await Promise.all([this.callOthers(role, "asks"), this.look(role)]);
    const siblings = this.standingAgainst(others);
    const facts = { ...this.facts(role), siblings };
    const found = rehearsed(facts, this.#receiving?.apiAddress ?? "", kind);
    try {
      const { id } = await sign(rehearsalReport(found, role, facts, clock.now()));
      return { ...found, evidence: id };
    } catch (error) {
      log.warn("a rehearsal could not be signed for", { cause: describe(error) });
      return { ...found, evidence: null };
    }
  }

  /** Whether an entry of the data opens with the keys that are here. */
  #opens(): boolean | null {
    const { barrier } = this.#parts.options;
    try {
      const [found] = barrier.view("shared/").records("", bytesCodec, { limit: 1 });
      return found === undefined ? null : true;
    } catch (error) {
      if (error instanceof Failure) return false;
      throw error;
    }
  }
}
