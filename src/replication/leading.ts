// A primary among others: it serves its set, tells the primary of before that it leads, and hears who leads in its place. One
// that was superseded only says so.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos, Timer } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { Recurring } from "../base/recurring.ts";
import * as failures from "./failures.ts";
import type { AdoptedOrphans } from "./links/adopted-orphans.ts";
import type { Beside } from "./links/beside.ts";
import type { Links } from "./links/links.ts";
import type { Serving, ServingPort, ServingWorld } from "./links/serving.ts";
import type { Superseded } from "./links/superseded.ts";
import type { LinkedOptions } from "./options.ts";
import * as lines from "./roles/leader-lines.ts";
import type { Changes } from "./roles/changes.ts";
import { PerMinute } from "./per-minute.ts";
import { type Epoch, isFenced, isNext, latestOf, type Primary } from "./roles/role.ts";
import type { StoredRole } from "./roles/stored-role.ts";
import { type Awaited, awaitedOf, membersBefore } from "./status/awaited.ts";
import type { ClusterStatus } from "./status/cluster-status.ts";
import { Informed } from "./status/informed.ts";
import type { Sibling } from "./stream/messages.ts";
import type { Finished } from "./stream/sender.ts";

export interface LeadingParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly adopted: AdoptedOrphans;
  readonly links: () => Promise<Links>;
  readonly status: Pick<ClusterStatus, "open" | "close">;
  readonly changes: Changes;
  /** Whoever follows is heard of, or nobody is left who could be. */
  readonly lease: ServingWorld["lease"];
  /** Somebody else leads: nothing is written here any more when this resolves. */
  readonly fence: (epoch: Epoch, by: HeardFrom) => Promise<void>;
}

/** Who has said that another cluster leads: its name here, where it has one, and where it is. */
export interface HeardFrom {
  readonly name: string;
  readonly address: string;
}

/** While the primary of before is not reached, it is tried so often; and asked so often when it was. */
const TRIED_EVERY: Nanos = 5n * SECOND;
const ASKED_EVERY: Nanos = 15n * SECOND;

/** As which one of those of before is known; null: the primary. */
function nameOf(sibling: Sibling | null): string {
  return sibling === null ? "" : sibling.serials.join();
}

export class Leading {
  readonly #parts: LeadingParts;
  readonly #log: Log;
  readonly #fencing: Recurring;
  #serving: Serving | null = null;
  #superseded: Superseded | null = null;
  #beside: Beside | null = null;
  /** Of the others that have followed the primary of before, by the serials of each; and of that one. */
  readonly #informed: Informed;
  /** Who was in the set before this cluster led it. */
  #before: readonly Awaited[] = [];
  #tookOverAt: Instant | null = null;
  /** By which cluster the primary of before was, as was said last. */
  #misled = "";
  /** How often another cluster causes a line, or a row. */
  readonly #lines: PerMinute;
  #dismissing: Timer | null = null;
  /** The primary of before is not asked again until then. */
  #restsUntil = 0n;
  #closing = new AbortController();

  constructor(parts: LeadingParts) {
    this.#parts = parts;
    const { timers, log, clock } = parts.options;
    this.#log = log;
    this.#lines = new PerMinute(clock, 1);
    this.#informed = new Informed(clock);
    this.#fencing = new Recurring({
      trouble: "could not tell the others of the set that this cluster leads",
      run: async () => {
        try {
          await this.#fenceFormer();
        } finally {
          await this.#noteBefore();
        }
      },
      period: TRIED_EVERY,
      pause: { first: SECOND, max: TRIED_EVERY },
      timers,
      log,
    });
  }

  /** Null where nobody is served. */
  get serving(): Serving | null {
    return this.#serving;
  }

  /** Who does not follow yet, of those that are known from before this cluster led. */
  get awaited(): readonly Awaited[] {
    const serving = this.#serving;
    const isOver = isFenced(this.#parts.role.now); // they follow another one
    if (serving === null || isOver || this.#before.length === 0) return [];
    return awaitedOf(this.#before, serving.secondaries.known());
  }

  /** When that was, as far as it was written down. */
  get tookOverAt(): Instant | null {
    return this.#tookOverAt;
  }

  async #noteBefore(): Promise<void> {
    const { view, kind } = this.#parts.options;
    const links = await this.#parts.links();
    const former = links.storedFormer(view, kind);
    const standing = (one: Sibling | null) => this.#informed.of(nameOf(one));
    // Of those whose authority this cluster has nobody has to come over: its members know it by that.
    const isStoodIn = former !== null && links.isStoodIn(former, view, kind);
    const before = isStoodIn ? null : former;
    this.#before = membersBefore(before, links.storedSiblings(view), standing);
    this.#tookOverAt = links.storedInformed(view).since;
  }

  /** Throws where this cluster is no primary. */
  primary(): Serving {
    const { now } = this.#parts.role;
    if (now.mode === "demoting") throw failures.roleChanging();
    if (now.mode !== "primary") throw failures.notPrimary(this.#parts.options.kind);
    const { kind, beside, port } = this.#parts.options;
    if (kind === "performance" && beside?.().isFenced === true) throw failures.fencedAltogether();
    if (isFenced(now)) throw failures.fenced(kind); // also while it still tells its secondaries so
    if (this.#serving === null)
      throw port() === null ? failures.noClusterPort() : failures.roleChanging();
    return this.#serving;
  }

  /** Before this cluster writes, after a start: who leads instead of it, if one of its secondaries says so. It is not kept from coming
   *  up by those that do not answer within three seconds, nor by anything else. */
  async leaderAtStart(): Promise<Epoch | null> {
    const { options, role } = this.#parts;
    const { now } = role;
    if (now.mode !== "primary" || isFenced(now)) return null;
    try {
      const links = await this.#parts.links();
      const { leader, rumour } = await links.leaderAtStart(now, options);
      if (leader !== null) return this.#keepsOn(leader) ? null : leader;
      if (rumour !== null) lines.tellRumour(this.#log, rumour);
      return null;
    } catch (error) {
      this.#log.warn("could not find out whether another cluster leads", {
        cause: describe(error),
      });
      return null;
    }
  }

  /** Of a primary. */
  async open(): Promise<void> {
    await (isFenced(this.#parts.role.now) ? this.#tellWhoLeads() : this.#serve());
  }

  /** The last entry is written: who has it; null where nobody is served. */
  async finish(): Promise<Finished | null> {
    return (await this.#serving?.finish()) ?? null;
  }

  /** Nobody hears any more that this cluster leads: whom it has followed is another set's. */
  async forgetFormer(): Promise<void> {
    await this.#endFencing();
  }

  /** Whoever is called and does not answer is not waited for. */
  async #endFencing(): Promise<void> {
    this.#closing.abort();
    await this.#fencing.close();
    this.#closing = new AbortController();
  }

  async close(reason: string): Promise<void> {
    this.#dismissing?.cancel();
    this.#dismissing = null;
    await this.#endFencing();
    await this.#parts.status.close();
    this.#superseded?.close();
    this.#superseded = null;
    this.#closeBeside();
    this.#informed.clear();
    this.#restsUntil = 0n;
    this.#misled = "";
    this.#before = [];
    const serving = this.#serving;
    this.#serving = null;
    await serving?.close(reason);
  }

  async #serve(): Promise<void> {
    const { options, role: stored, adopted, status, lease } = this.#parts;
    const port = options.port();
    if (port === null) {
      this.#log.error("this cluster is a primary, and has no cluster port: nobody can come", {
        remedy: "add cluster_address to a listener",
      });
      return;
    }
    const links = await this.#parts.links();
    const role = () => {
      const { now } = stored;
      if (now.mode === "primary" || now.mode === "demoting")
        return { ...now, mode: "primary" } as Primary;
      throw failures.notPrimary(this.#parts.options.kind);
    };
    const serving = links.serving(options, port, role, {
      superseded: (epoch) => {
        this.#log.error("a secondary has heard of a later primary than this one", { epoch });
      },
      revokeFormer: (isMeant) => this.#revokeFormer(isMeant),
      adopted,
      lease,
      ...this.#hearing,
    });
    if (!options.store.following) await serving.markRevoked();
    this.#serving = serving;
    serving.open();
    // Of those of the other kind as well: the store knows one bound.
    options.store.takeAtMost(() => {
      const both = [this.#serving?.transactionBytes, options.beside?.().transactionBytes];
      const known = both.flatMap((bytes) => bytes ?? []);
      return known.length === 0 ? null : Math.min(...known);
    });
    status.open();
    this.#informed.load(links.storedInformed(options.view).members);
    await this.#noteBefore();
    if (links.storedFormer(options.view, options.kind) !== null) this.#fencing.open();
    this.#serveBeside(links, port);
  }

  /** Others that have followed the primary of before, and may have taken its place as well. */
  #serveBeside(links: Links, port: ServingPort): void {
    const { options } = this.#parts;
    const former = links.storedFormer(options.view, options.kind);
    if (former === null || former.isDisowned) return;
    if (links.isStoodIn(former, options.view, options.kind)) return; // its members are this cluster's
    this.#beside = links.beside(options, port, former, this.#hearing);
    this.#beside.open();
  }

  #closeBeside(): void {
    this.#beside?.close();
    this.#beside = null;
  }

  /** What others say of who leads, and what they hear. */
  get #hearing(): Pick<ServingWorld, "fenced" | "leads"> {
    const { role } = this.#parts;
    return {
      fenced: (epoch, isOwn, { from = "" }) => this.#heardOf(epoch, isOwn, from),
      leads: () => role.now.mode === "primary" && !isFenced(role.now),
    };
  }

  /** Nothing is sent any more. */
  async #tellWhoLeads(): Promise<void> {
    const { options, role } = this.#parts;
    const { now } = role;
    const port = options.port();
    if (port === null || now.mode !== "primary") return;
    const links = await this.#parts.links();
    const leader = (now.fenced ?? now.epoch).cluster;
    const led = { ...now, isDemoted: false, leader };
    this.#superseded = links.superseded(options, port, led, this.#hearing);
    this.#superseded.open();
    this.#serveBeside(links, port);
  }

  /** Somebody has proved to lead in this epoch. Gives the one that leads as far as is known here. Who leads says it itself: whoever
   *  was revoked could have others say it in its place. */
  async #heardOf(epoch: Epoch, isOwn: boolean, address: string): Promise<Epoch> {
    const { now } = this.#parts.role;
    if (now.mode !== "primary" && now.mode !== "demoting")
      throw failures.notPrimary(this.#parts.options.kind);
    const known = now.fenced ?? now.epoch;
    const isLater = isNext(known, epoch) && isOwn;
    if (now.mode !== "primary" || !isLater) return known;
    const links = await this.#parts.links();
    const { view } = this.#parts.options;
    if (links.isRevoked(view, epoch.cluster)) return known;
    if (this.#keepsOn(epoch)) return known;
    // It writes nothing already: who names one epoch after the other costs a row a minute.
    if (isFenced(now) && this.#lines.take(`fence ${epoch.cluster}`) > 0) return known;
    // Not the name in its certificate: who has the authority of before chooses that.
    const by = { name: links.nameOf(view, epoch.cluster), address };
    await this.#parts.fence(epoch, by); // whoever hears that it was taken is sure of it
    this.#dismissSoon();
    return epoch;
  }

  /** Whether this cluster leads all the same: its operators have said that they decide. */
  #keepsOn(epoch: Epoch): boolean {
    if (this.#parts.options.acceptFence) return false;
    if (this.#lines.take(`keeps on ${epoch.cluster}`) === 0) lines.tellKeepsOn(this.#log, epoch);
    return true;
  }

  /** A line a minute. */
  #tellUnreached(): void {
    if (this.#lines.take("unreached") === 0) lines.tellUnreached(this.#log);
  }

  /** Later: the answer leaves by a session that ends with it. */
  #dismissSoon(delay: Nanos = 100n * MILLISECOND): void {
    this.#dismissing?.cancel();
    this.#dismissing = this.#parts.options.timers.after(delay, () => {
      this.#dismissing = null;
      void this.#dismiss();
    });
  }

  async #dismiss(): Promise<void> {
    const { changes, role } = this.#parts;
    try {
      await changes.own(async () => {
        if (!isFenced(role.now)) return;
        await this.close("another cluster was promoted");
        await this.#tellWhoLeads();
      });
    } catch (error) {
      this.#log.warn("a fenced primary still serves", { cause: describe(error) });
      this.#dismissSoon(SECOND);
    }
  }

  /** The primary of before is to hear of it, however long it was away, and so are the others that have followed it. Where another
   *  cluster was promoted as well, the primary of before knows of both, or one of them is that one, and one of the two gives way: what
   *  one of those has heard of another counts for nothing, and nobody gives way to one that was revoked here. */
  async #fenceFormer(): Promise<void> {
    const { options } = this.#parts;
    const { view, kind } = options;
    const links = await this.#parts.links();
    const former = links.storedFormer(view, kind);
    const role = this.#parts.role.now;
    if (former === null || role.mode !== "primary" || former.set !== role.set) return;
    const { clock } = options;
    if (clock.elapsed() < this.#restsUntil) return;
    const { epoch } = role;
    const { signal } = this.#closing;
    const isStoodIn = links.isStoodIn(former, view, kind);
    const own = isStoodIn ? await links.ownSecondaries(former.set, options) : null;
    const formers = isStoodIn ? links.authorityShown(options, former) : [];
    const untold = this.#untold(isStoodIn ? (own?.siblings ?? []) : links.storedSiblings(view));
    const follows = this.#follows(former.cluster);
    const revoked = links.storedFormerRevoked(view);
    const disowned = former.isDisowned ? former.cluster : "";
    const denied = new Set<string>();
    const knownAt = async (addresses: readonly string[], sibling: Sibling | null) => {
      const failed = (_: string, error: unknown) => {
        if (links.isDenial(error)) denied.add(nameOf(sibling));
      };
      const { serials = [], digests = [] } = sibling ?? {};
      const beside = { ...former, beside: true as const, serials, digests };
      const to = sibling === null ? former : beside;
      const saying = { signal, revoked, disowned, failed, formers };
      const answer = await links.exchange(addresses, to, epoch, options, saying);
      if (answer === null) return null;
      const { leading, leads, cluster, isProved } = answer;
      const isHearsay = sibling !== null && !isProved && !(leads && cluster === leading.cluster);
      return isHearsay && isNext(epoch, leading) ? epoch : leading;
    };
    const [leading, ...others] = await Promise.all([
      // Whose cluster it says to be proves nothing of one that was revoked.
      follows && !former.isDisowned ? epoch : knownAt(former.addresses, null),
      ...untold.map((sibling) => knownAt(sibling.addresses, sibling)),
    ]);
    if (signal.aborted) return;
    const before = this.#informed.heard.join();
    untold.forEach((one, i) => {
      const name = nameOf(one);
      const { isLost } = this.#informed.note(name, epoch, others[i] ?? null, denied.has(name));
      if (isLost) lines.tellLost(this.#log, one, this.#informed.of(name));
    });
    if (this.#informed.heard.join() !== before) {
      await view.write((tx) => links.putInformed(tx, this.#informed.heard), { essential: true });
    }
    const isRefused = leading === null && denied.has(nameOf(null));
    const wasRefused = this.#informed.of(nameOf(null)).refuses;
    this.#informed.note(nameOf(null), epoch, leading, isRefused);
    // One that has not heard it goes on writing when it is back, until it does.
    const isMissed = leading === null && !isRefused && !former.isHeard && !follows;
    if (!isMissed) this.#restsUntil = clock.elapsed() + ASKED_EVERY;
    if (isRefused && !wasRefused) lines.tellRefused(this.#log, former.cluster);
    // One that has come again since says it itself: what others know of it may be of before.
    const isForeign = (one: Epoch | null) =>
      one !== null && !former.isDisowned && links.wasRevoked(view, one.cluster);
    const believed = [leading, ...others].map((one) => (isForeign(one) ? null : one));
    const later = latestOf(epoch, believed);
    if (later !== null) {
      if (former.isDisowned) {
        const isDue = this.#lines.take(`unproved ${later.cluster}`) === 0;
        return isDue ? lines.tellUnproved(this.#log, later) : undefined;
      }
      if (this.#keepsOn(later)) return;
      const places = [former.addresses, ...untold.map(({ addresses }) => addresses)];
      const [address = ""] = places[believed.indexOf(later)] ?? [];
      await this.#parts.fence(later, { name: links.nameOf(view, later.cluster), address });
      return this.#dismissSoon();
    }
    if (isMissed) return this.#tellUnreached();
    if (leading === null) return; // it refuses, or is something else by now
    if (isForeign(leading)) {
      if (this.#misled !== leading.cluster) lines.tellMisled(this.#log, leading);
      this.#misled = leading.cluster;
      return;
    }
    if (former.isHeard) return;
    await view.write((tx) => links.formerHeard(tx), { essential: true });
    this.#log.info("the primary of before has heard that this cluster leads");
  }

  /** One that has followed the primary of before is heard by nobody any more: those that do not follow this cluster yet are told. Where
   *  it is that primary, nobody is heard that is known by its certificates: it could issue any of them. */
  async #revokeFormer(isMeant: (sibling: Sibling) => boolean): Promise<boolean> {
    const { view, kind } = this.#parts.options;
    const links = await this.#parts.links();
    const write = (tx: Tx) => {
      const isDisowned = links.disownFormer(tx, isMeant, kind);
      const isRevoked = links.revokeSiblings(tx, isMeant);
      if (isDisowned || isRevoked) links.putInformed(tx, []); // all of them hear it
      return { isDisowned, isRevoked };
    };
    if (links.storedFormer(view, kind) === null) return false;
    const { isDisowned, isRevoked } = await view.write(write, { essential: true });
    if (isDisowned) this.#closeBeside();
    await this.#noteBefore();
    if (!isDisowned && !isRevoked) return false;
    this.#beside?.refuse();
    this.#informed.clear();
    this.#restsUntil = 0n;
    this.#fencing.wake();
    return true;
  }

  /** Who follows this cluster by now has nothing to hear. */
  #untold(siblings: readonly Sibling[]): readonly Sibling[] {
    return siblings.filter(
      (one) =>
        one.addresses.length > 0 &&
        this.#informed.isDue(nameOf(one)) &&
        !this.#follows(one.cluster),
    );
  }

  /** By what it has proved at its hello: where it is, it only says. */
  #follows(cluster: string): boolean {
    const members = this.#serving?.members() ?? [];
    return members.some((one) => one.isConnected && one.clusterId === cluster);
  }
}
