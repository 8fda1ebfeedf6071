// How a secondary takes the data for its own: as the primary of its set, or as a cluster that leaves it. From the first entry of
// its own epoch on it has; what a crash leaves after that is finished when the server is unsealed the next time.

import { jsonCodec } from "@holdfast/shared/codec";
import { describe } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { namedAddress } from "./addresses.ts";
import type { DataSteps } from "./data/data-steps.ts";
import * as failures from "./failures.ts";
import type { Following } from "./following.ts";
import type { Leading } from "./leading.ts";
import type { Links } from "./links/links.ts";
import { putMark } from "./stream/mark.ts";
import type { LinkedOptions } from "./options.ts";
import type { Changed, Changes } from "./roles/changes.ts";
import { promotionChecks, promotionRefusal, skipped, unreachedWarnings } from "./roles/checks.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import { follows, type Promoting, type Secondary } from "./roles/role.ts";
import { silenceWarnings } from "./roles/seen.ts";
import type { StoredRole } from "./roles/stored-role.ts";
import { rivalWarnings, skewWarnings } from "./roles/warnings.ts";

/** Of the rows of performance replication. */
export const LEFT = "left";
const ROTATION_DUE = "rotation-due";
const dueCodec = jsonCodec<true>();
const leftCodec = jsonCodec<{ readonly index: string; readonly region: string }>();

/** When this cluster left a set, and with whose data. */
export interface Left {
  /** The last of its own with which anything of them is. */
  readonly index: bigint;
  /** Of the primary. */
  readonly region: string;
}

/** From the rows of performance replication; null where it has left none. */
export function readLeft(view: Pick<View, "get">): Left | null {
  const stored = view.get(LEFT, leftCodec);
  return stored === null ? null : { index: BigInt(stored.index), region: stored.region };
}

/** In the place of a name that was never told. */
const UNHEARD = "unknown";

export interface TakingOverParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly links: () => Promise<Links>;
  readonly changes: Changes;
  readonly leading: Leading;
  readonly following: Following;
  readonly data: DataSteps;
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

  constructor(parts: TakingOverParts) {
    this.#parts = parts;
  }

  // --- after a start ---

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
    if (this.#parts.data.hasBegun(now)) {
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
        warnings: [
          ...(force ? skipped(checks) : []),
          ...silenceWarnings(facts),
          ...unreachedWarnings(facts),
          ...warnings,
        ],
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
    const { options, changes, leading, following, data } = this.#parts;
    const skew = following.receiving?.status.clockSkew ?? 0n;
    return await changes.alone(async () => {
      const { set } = this.#secondary();
      const time = await data.begin({ address });
      const { isKnown } = await changes.orSeal(() => this.#becomePrimary(this.#secondary()));
      await this.#takeOver(time);
      await leading.open();
      following.replaced();
      await this.#rotate();
      await changes.orRest(() => options.dropAttempts()); // those that are left end with the rest
      changes.tell("role-changed", { kind: options.kind, mode: "primary", set });
      return {
        warnings: [
          ...skewWarnings(skew),
          ...rivalWarnings(this.#parts.role.now),
          isKnown
            ? "this cluster is the primary again: its secondaries follow it by themselves, within a minute or two; one that was promoted since, or follows another, is demoted there and comes with a token"
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
    const { options, changes, data } = this.#parts;
    if (data.isHalf && options.kind === "performance") return this.#beginAnew();
    return await changes.alone(async () => {
      this.#secondary();
      // Where it stood in for one of another set, nobody would bring the rest of that one's data.
      if (data.isHalf || options.beside?.().wasTorn === true) throw failures.halfCopied();
      const time = await data.begin({ address: "", leaves: true });
      await changes.orSeal(() => this.#becomeAlone());
      await this.#takeOver(time);
      await this.#rotate();
      await changes.orRest(() => options.dropAttempts());
      changes.tell("role-changed", { kind: options.kind, mode: "disabled" });
      return {
        warnings: [
          "this cluster is on its own now, with the data that it had; joining a primary again takes the place of all of it",
        ],
      };
    });
  }

  /** Half of the rows of another cluster are nobody's data: policies that are missing would not bind. Nothing is left of them, nor of the
   *  keys. */
  #beginAnew(): Changed {
    const { options, changes, data } = this.#parts;
    const { exchange } = options;
    this.#secondary();
    if (exchange === undefined) throw failures.halfCopied(); // nobody has the generations of the store
    const empty = { fill: async () => {}, finish: async () => null };
    return {
      warnings: [
        "the first copy was not whole: nothing of it is kept, and this server is to be initialised as a new one",
      ],
      afterwards: async () => {
        await changes.last(async () => {
          if (!data.isHalf) throw failures.roleChanging(); // meanwhile it has got whole
          await exchange(empty);
        });
      },
    };
  }

  /** The data is this cluster's again, which nobody else has led since. */
  async leadAgain(): Promise<void> {
    await this.#parts.data.leadAgain();
    this.#parts.taken();
  }

  // --- performing ---

  async #becomeAlone(): Promise<void> {
    const { revokeOperationTokens, view, own, kind } = this.#parts.options;
    const { heard } = this.#parts.following;
    const links = await this.#parts.links();
    const { now } = this.#parts.role;
    const region = (now.mode === "secondary" ? now.region : "") || UNHEARD;
    const leaves = await this.#parts.options.leavesWith?.();
    await this.#parts.role.step({ do: "disable-secondary" }, (tx) => {
      leaves?.(tx);
      // Nobody who revokes its global tokens in the set reaches this cluster any more: whoever lists them here sees it.
      if (kind === "performance") tx.put(LEFT, { index: String(tx.index), region }, leftCodec);
      links.forgetPrimary(tx);
      links.forgetFormer(tx);
      links.forgetUpstream(tx);
      heard.forgetIn(tx);
      putMark(tx.on(own), null);
      revokeOperationTokens(tx.on(view));
      tx.put(ROTATION_DUE, true, dueCodec);
      this.#parts.data.mark(tx);
    });
    heard.forget();
  }

  /** `isKnown`: its secondaries know it from before. */
  async #becomePrimary(role: Secondary): Promise<{ readonly isKnown: boolean }> {
    const { heard } = this.#parts.following;
    const { kind, clusterId, revokeOperationTokens, clock, random, view, own } =
      this.#parts.options;
    const links = await this.#parts.links();
    // Who was demoted and has followed nobody since is whom its secondaries know.
    const isKnown = role.id === "" && links.storedMaterial(view, kind)?.authority.set === role.set;
    const material = isKnown
      ? null
      : await links.makePrimary({ set: role.set, kind }, { clock, random });
    const isRefused = heard.lastRefusal !== null && role.final === null;
    const { before: cluster, ...begun } = this.#parts.data.begun();
    const step = { do: "promote", cluster: clusterId(), ...begun, isRefused } as const;
    const former = {
      addresses: [...new Set([...(role.known ?? []), role.address])],
      cluster,
    };
    const isHeard = role.final !== null;
    const { first } = begun;
    const place = { ...former, isHeard, first, address: role.promoting?.address ?? "" };
    const standsIn = await this.#parts.options.standsIn?.(place);
    await this.#parts.role.step(step, (tx) => {
      if (material !== null) links.enablePrimary(tx, material);
      links.keepFormer(tx, former, { kind, isHeard, now: clock.now() });
      standsIn?.(tx);
      heard.forgetIn(tx);
      putMark(tx.on(own), null);
      revokeOperationTokens(tx.on(view));
      tx.put(ROTATION_DUE, true, dueCodec);
      this.#parts.data.mark(tx);
    });
    heard.forget();
    return { isKnown };
  }

  /** How much others have sealed under the present data key is known to the primary of before alone. It stays due until
   *  it was done, whatever comes between. */
  async #rotate(): Promise<void> {
    const { barrier, log, view, beside } = this.#parts.options;
    if (view.get(ROTATION_DUE, dueCodec) === null) return;
    try {
      // Where another cluster writes what is shared, it makes the keys, and counts what is sealed here.
      if (beside?.().mode !== "secondary") await barrier.rotate();
      await view.write((tx) => tx.delete(ROTATION_DUE), { essential: true });
    } catch (error) {
      log.warn("could not make a new data key after taking over; rotate by hand", {
        cause: describe(error),
      });
    }
  }

  /** The rooms open: the data is this cluster's from here on. `time`: by the log of who led before; null: nobody did. */
  async #takeOver(time: Instant | null): Promise<void> {
    await this.#parts.data.take(time);
    this.#parts.taken();
  }

  #secondary(): Secondary {
    const { now } = this.#parts.role;
    if (now.mode !== "secondary") throw failures.notSecondary(this.#parts.options.kind);
    return now;
  }
}
