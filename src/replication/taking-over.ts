// How a secondary takes the data for its own: as the primary of its set, or as a cluster that leaves it. From the first entry of
// its own epoch on it has; what a crash leaves after that is finished when the server is unsealed the next time.

import { jsonCodec } from "@holdfast/shared/codec";
import { describe, type Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import { namedAddress } from "./addresses.ts";
import * as failures from "./failures.ts";
import type { Following } from "./following.ts";
import type { Leading } from "./leading.ts";
import type { Links } from "./links/links.ts";
import { firstOfEpoch, storedPromotion, type TookOver, writerBefore } from "./log-times.ts";
import { putMark } from "./stream/mark.ts";
import type { LinkedOptions } from "./options.ts";
import type { Changed, Changes } from "./roles/changes.ts";
import { promotionChecks, promotionRefusal, skipped, unreachedWarnings } from "./roles/checks.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import { follows, isFenced, type Promoting, type Role, type Secondary } from "./roles/role.ts";
import type { StoredRole } from "./roles/stored-role.ts";
import { rivalWarnings, skewWarnings } from "./roles/warnings.ts";

const ROTATION_DUE = "rotation-due";
const dueCodec = jsonCodec<true>();

export interface TakingOverParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly links: () => Promise<Links>;
  readonly changes: Changes;
  readonly leading: Leading;
  readonly following: Following;
  /** The data is this cluster's from here on. */
  readonly taken: () => void;
}

/** What a promotion is asked for with. */
export interface Promotion {
  /** Goes on without the checks that may be skipped. */
  readonly force: boolean;
  /** Of the cluster port, for others; empty: that of the listener. */
  readonly address: string;
}

export class TakingOver {
  readonly #parts: TakingOverParts;
  #tookOver: TookOver | null = null;
  #goesOnAt: Instant | null = null;

  constructor(parts: TakingOverParts) {
    this.#parts = parts;
  }

  /** When this cluster took the place of another, as far as its log tells; null where it never has. */
  get tookOver(): TookOver | null {
    return this.#tookOver;
  }

  /** How late it is by the log of whom it takes the place of; null but while it does. */
  get goesOnAt(): Instant | null {
    return this.#goesOnAt;
  }

  // --- after a start ---

  /** With the keys, and before any room: what the store is to be. Whether its data is another cluster's. */
  async enter(
    role: Role,
    { isStopped }: { /** A primary that may not write now. */ readonly isStopped: boolean },
  ): Promise<{ readonly following: boolean; readonly secondary: boolean }> {
    const { options, following: side } = this.#parts;
    const { store, clusterId } = options;
    const isOthers = follows(role) && !this.#hasBegunEpoch(role);
    const following = isOthers || isStopped;
    this.#tookOver = following ? null : storedPromotion(store, clusterId());
    side.begin();
    if (following) await store.follow(isStopped ? failures.leaseLapsed : whyFollows(role));
    else if (store.following) await store.lead(); // it was sealed in another role
    return { following, secondary: isOthers && !isFenced(role) };
  }

  /** What a crash has left of a change. */
  async finish(): Promise<void> {
    const { role, following } = this.#parts;
    const { now } = role;
    if (now.mode === "secondary" && now.promoting !== null) {
      following.heard.load();
      await this.#finishChange(now, now.promoting);
    }
    if (!follows(role.now)) await this.#rotate();
  }

  async #finishChange(now: Secondary, promoting: Promoting): Promise<void> {
    const { role, options } = this.#parts;
    if (this.#hasBegunEpoch(now)) {
      if (promoting.leaves === true) await this.#becomeAlone();
      else await this.#becomePrimary(now);
      options.log.info("finished a change of the role that a crash had interrupted");
    } else {
      await role.step({ do: "stay" });
      options.log.warn(
        "a change of the role had not begun when the server ended; this is a secondary as before",
      );
    }
  }

  /** Of a promotion or a leave that a crash has interrupted. */
  #hasBegunEpoch(role: Role): boolean {
    const { store, clusterId } = this.#parts.options;
    const last = store.timeline?.epochs.at(-1);
    if (role.mode !== "secondary" || role.promoting === null || last === undefined) return false;
    return last.cluster === clusterId() && last.epoch > role.promoting.logEpoch;
  }

  // --- changes ---

  async promote({ force, address }: Promotion): Promise<Changed> {
    const { changes, following } = this.#parts;
    const { candidates } = following;
    const usual = namedAddress(address);
    const refusal = () =>
      promotionRefusal(promotionChecks(following.facts(this.#secondary())), force);
    // Where nothing refuses it yet, the primary is called together with the others.
    const isLooked = refusal() !== null;
    if (isLooked) await following.look(this.#secondary());
    await changes.ownEnded(); // what comes of that is part of what is checked
    const early = refusal();
    if (early !== null) throw early; // nobody gives way to what does not come about
    candidates.begin({ isFirm: force });
    try {
      const [others] = await Promise.all([
        following.callOthers(this.#secondary(), "stands"),
        isLooked ? null : following.look(this.#secondary()),
      ]);
      await changes.ownEnded();
      const siblings = following.standingAgainst(others);
      const standing = following.facts(this.#secondary());
      const facts = { ...standing, siblings, changing: changes.isRunning };
      const checks = promotionChecks(facts);
      const refused = promotionRefusal(checks, force);
      if (refused !== null) throw refused;
      candidates.settle();
      const { warnings } = await this.#promote(usual);
      return {
        warnings: [...(force ? skipped(checks) : []), ...unreachedWarnings(facts), ...warnings],
      };
    } catch (error) {
      const { now } = this.#parts.role;
      if (now.mode === "secondary") following.withdraw(now);
      throw error;
    } finally {
      candidates.end();
    }
  }

  async #promote(address: string): Promise<Changed> {
    const { options, changes, leading, following } = this.#parts;
    const skew = following.receiving?.status.clockSkew ?? 0n;
    return await changes.alone(async () => {
      const { set } = this.#secondary();
      const time = await this.#beginOwnEpoch({ address });
      const { isKnown } = await changes.orSeal(() => this.#becomePrimary(this.#secondary()));
      await this.#takeOver(time);
      await leading.open();
      following.replaced();
      await this.#rotate();
      await changes.orRest(() => options.dropAttempts()); // those that are left end with the rest
      changes.tell("role-changed", { mode: "primary", set });
      return {
        warnings: [
          ...skewWarnings(skew),
          ...rivalWarnings(this.#parts.role.now),
          isKnown
            ? "this cluster is the primary again: its secondaries follow it by themselves, within a minute or two"
            : "this cluster is the primary now: issue new tokens to the other secondaries",
        ],
      };
    });
  }

  /** What a promotion with this address would come to, and signed for: whoever has to show later that it was tried has
   *  something in hand. */
  async rehearse(address: string): Promise<SignedRehearsal> {
    const role = this.#secondary();
    namedAddress(address); // throws where the promotion would
    return await this.#parts.following.rehearse(role);
  }

  /** Leaves the set. */
  async leave(): Promise<Changed> {
    const { options, changes } = this.#parts;
    return await changes.alone(async () => {
      this.#secondary();
      if (options.store.adopting !== null) throw failures.halfCopied();
      const time = await this.#beginOwnEpoch({ address: "", leaves: true });
      await changes.orSeal(() => this.#becomeAlone());
      await this.#takeOver(time);
      await this.#rotate();
      await changes.orRest(() => options.dropAttempts());
      changes.tell("role-changed", { mode: "disabled" });
      return {
        warnings: [
          "this cluster is on its own now, with the data that it had; joining a primary again takes the place of all of it",
        ],
      };
    });
  }

  /** The data is another cluster's from here on, or not to be changed any more. */
  async yield(): Promise<void> {
    const { options, following, role } = this.#parts;
    await options.store.follow(whyFollows(role.now));
    following.begin(); // its last entry is of now
    this.#tookOver = null;
  }

  /** The data is this cluster's again, which nobody else has led since. */
  async leadAgain(): Promise<void> {
    await this.#parts.options.store.lead();
    await this.#takeOver(null);
  }

  // --- performing ---

  /** From here on the log is this cluster's own; where that fails, it is a secondary as before. Gives the time of the log. */
  async #beginOwnEpoch(what: Omit<Promoting, "logEpoch">): Promise<Instant | null> {
    const { options, role, changes, following } = this.#parts;
    const { store, clusterId } = options;
    const begin = async () => {
      const logEpoch = store.timeline?.epochs.at(-1)?.epoch ?? 0;
      await role.step({ do: "promoting", promoting: { ...what, logEpoch } });
      const time = following.timeOfLog();
      try {
        await store.lead();
        await store.startEpoch(clusterId());
        return time;
      } catch (error) {
        await changes.orSeal(async () => {
          await store.follow();
          await role.step({ do: "stay" });
        });
        throw error;
      }
    };
    return await following.apart(begin, { isHeard: what.leaves !== true });
  }

  async #becomeAlone(): Promise<void> {
    const { revokeOperationTokens, view } = this.#parts.options;
    const { heard } = this.#parts.following;
    const links = await this.#parts.links();
    await this.#parts.role.step({ do: "disable-secondary" }, (tx) => {
      links.forgetPrimary(tx);
      links.forgetFormer(tx);
      links.forgetUpstream(tx);
      heard.forgetIn(tx);
      putMark(tx.on(view), null);
      revokeOperationTokens(tx.on(view));
      tx.put(ROTATION_DUE, true, dueCodec);
    });
    heard.forget();
  }

  /** `isKnown`: its secondaries know it from before. */
  async #becomePrimary(role: Secondary): Promise<{ readonly isKnown: boolean }> {
    const { heard } = this.#parts.following;
    const { store, clusterId, revokeOperationTokens, clock, random, view } = this.#parts.options;
    const links = await this.#parts.links();
    // Who was demoted and has followed nobody since is whom its secondaries know.
    const isKnown = role.id === "" && links.storedMaterial(view, "dr")?.authority.set === role.set;
    const material = isKnown
      ? null
      : await links.makePrimary({ set: role.set, kind: "dr" }, { clock, random });
    const isRefused = heard.lastRefusal !== null && role.final === null;
    const first = firstOfEpoch(store);
    const step = { do: "promote", cluster: clusterId(), first, isRefused } as const;
    const former = {
      addresses: [...new Set([...(role.known ?? []), role.address])],
      cluster: writerBefore(store, clusterId()),
    };
    await this.#parts.role.step(step, (tx) => {
      if (material !== null) links.enablePrimary(tx, material);
      links.keepFormer(tx, former, { isHeard: role.final !== null });
      heard.forgetIn(tx);
      putMark(tx.on(view), null);
      revokeOperationTokens(tx.on(view));
      tx.put(ROTATION_DUE, true, dueCodec);
    });
    heard.forget();
    return { isKnown };
  }

  /** How much others have sealed under the present data key is known to the primary of before alone. It stays due until
   *  it was done, whatever comes between. */
  async #rotate(): Promise<void> {
    const { barrier, log, view } = this.#parts.options;
    if (view.get(ROTATION_DUE, dueCodec) === null) return;
    try {
      await barrier.rotate();
      await view.write((tx) => tx.delete(ROTATION_DUE), { essential: true });
    } catch (error) {
      log.warn("could not make a new data key after taking over; rotate by hand", {
        cause: describe(error),
      });
    }
  }

  /** The rooms open: the data is this cluster's from here on. `time`: by the log of who led before; null: nobody did. */
  async #takeOver(time: Instant | null): Promise<void> {
    const { options, changes, taken } = this.#parts;
    const { house, clock } = options;
    if (time !== null) this.#tookOver = { since: time, at: clock.now() };
    this.#goesOnAt = time;
    try {
      await changes.orSeal(() => house.takeOver());
    } finally {
      this.#goesOnAt = null;
    }
    taken();
  }

  #secondary(): Secondary {
    const { now } = this.#parts.role;
    if (now.mode !== "secondary") throw failures.notSecondary();
    return now;
  }
}

/** What whoever writes here hears: of a primary that was superseded that it is one. */
function whyFollows(role: Role): (() => Failure) | undefined {
  return isFenced(role) ? failures.fenced : undefined;
}
