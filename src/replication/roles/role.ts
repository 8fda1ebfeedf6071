// What a cluster is among those that replicate, and which step leads from where to where. Pure: whoever performs a step
// stores what comes out of it, in one transaction with whatever else belongs to it.

import type { Failure } from "@holdfast/shared/failure";
import type { ReplicationKind } from "../../cluster/names.ts";
import * as failures from "../failures.ts";

/** Of two primaries with the same number, the one that knew more of the old log wins; see `isOlder`. */
export interface Epoch {
  readonly number: number;
  /** The cluster that began it. */
  readonly cluster: string;
  /** The first index of its log. */
  readonly first: string;
}

/** Where the log of an epoch began: what was shared in earlier ones from there on was given up. */
export type Fork = Pick<Epoch, "number" | "first">;

export interface Disabled {
  readonly mode: "disabled";
}

export interface Primary {
  readonly mode: "primary";
  readonly set: string;
  readonly epoch: Epoch;
  /** Where secondaries are told to come, if somebody has said so; else empty. */
  readonly address: string;
  /** Of the epochs before this one, but for the first; not there where there are none. */
  readonly forks?: readonly Fork[];
  /** There where it has taken the place of another that shared with it: the first index of its own log since then. Before that lies
   *  what others have written. */
  readonly own?: string;
  /** A later epoch that somebody else has begun: nothing is written here any more. */
  readonly fenced: Epoch | null;
  /** When it heard of that, where it shares with others: up to then what is shared was its own. */
  readonly fencedAt?: string;
  /** There where this cluster was promoted after the primary of before had refused it for good: that one, which may go on. */
  readonly rival?: string;
}

/** Between the last write and the role of a secondary: goes on by itself after a crash. */
export interface Demoting extends Omit<Primary, "mode"> {
  readonly mode: "demoting";
}

export interface Secondary {
  readonly mode: "secondary";
  readonly set: string;
  readonly epoch: Epoch;
  /** As a primary has them: those that were heard of here. */
  readonly forks?: readonly Fork[];
  /** The id of the token that it came with; empty where it has no primary. */
  readonly id: string;
  /** Where its primary was first reached; empty where it has none. */
  readonly address: string;
  /** Where else, as the primary has told; null where none has told. */
  readonly known: readonly string[] | null;
  /** Where those are that stand in for the primary, as it has told; not there where none has. */
  readonly failover?: readonly string[];
  /** That the epoch was begun by who has the authority of before, signed by it, in base64: others are shown it. Not there where a
   *  token has told of the epoch. */
  readonly proof?: string;
  /** There until the keys of whoever has begun the epoch are here: it may have made others of the same number. */
  readonly keysDue?: true;
  /** Name of its primary's region, as that has told; not there where none has. */
  readonly region?: string;
  /** Whether everything was copied once. */
  readonly copied: boolean;
  /** The last index of a primary that has gone: there is nothing behind it. */
  readonly final: string | null;
  /** There where it has led, and has followed nobody since: its key shares are its own. */
  readonly led?: true;
  /** There where it has led what is shared, until it was looked at what of that the primary of now does not have. */
  readonly surplus?: LedBefore;
  /** There where the epoch is that of a later primary than the one that is followed: nothing is taken from that one. */
  readonly superseded?: true;
  /** Whether what only this cluster has written may be given up: a token of the primary says so, a connection does not. */
  readonly mayRewind: boolean;
  /** There while it takes over or leaves: after a crash it has, where a later epoch of the log has begun here, and else it
   *  has not. */
  readonly promoting: Promoting | null;
}

/** What a cluster has written while it led, by its own log. Of disaster recovery the log itself tells. */
export interface LedBefore {
  /** Of the set. */
  readonly epoch: number;
  readonly since: string;
  readonly until: string;
  /** When it ended, by the clock of the wall. */
  readonly at: string;
}

export interface Promoting {
  /** Where secondaries will be told to come; may be empty. */
  readonly address: string;
  /** Of the log, before. */
  readonly logEpoch: number;
  /** There where it leaves the set instead, with the data that it has. */
  readonly leaves?: true;
}

export type Role = Disabled | Primary | Demoting | Secondary;

export const DISABLED: Disabled = { mode: "disabled" };

export type Step =
  | {
      readonly do: "enable-primary";
      readonly set: string;
      readonly cluster: string;
      readonly address: string;
      readonly first: string;
    }
  | { readonly do: "demote" }
  | { readonly do: "demoted"; readonly final: string; readonly at: string }
  | { readonly do: "disable-primary" }
  | { readonly do: "fence"; readonly epoch: Epoch; readonly at: string }
  | { readonly do: "join"; readonly joined: Joined }
  | { readonly do: "promoting"; readonly promoting: Promoting }
  | { readonly do: "stay" }
  | {
      readonly do: "promote";
      readonly cluster: string;
      readonly first: string;
      /** The next index of its own log, where that is another than the one that it has followed. */
      readonly own?: string;
      /** The primary of before has refused this cluster for good, and does not hear that it leads. */
      readonly isRefused?: boolean;
    }
  | {
      readonly do: "update-primary";
      readonly joined: Joined;
      /** Also where a later epoch is known here: an operator says that it is none. */
      readonly isForced?: boolean;
    }
  | {
      /** The data of who led is this cluster's own from here on, and with it the place in a performance set. */
      readonly do: "stand-in";
      readonly cluster: string;
      readonly first: string;
      readonly address: string;
    }
  /** A snapshot has taken the place of the data: the log goes on with another one, whose first index this is. */
  | { readonly do: "restored"; readonly first: string }
  /** The primary of the epoch that was heard of is reached, and is the one that is followed. */
  | { readonly do: "followed"; readonly epoch: Epoch; readonly proof: string }
  | { readonly do: "keyed" }
  | { readonly do: "move-primary"; readonly address: string }
  | { readonly do: "forget-primary" }
  | { readonly do: "disable-secondary" }
  | { readonly do: "named"; readonly region: string }
  | { readonly do: "copied" }
  | { readonly do: "rewound" }
  | { readonly do: "ended"; readonly final: string }
  /** `proof`: there where it is signed by the authority that this cluster trusts. */
  | { readonly do: "superseded"; readonly epoch: Epoch; readonly proof?: string }
  /** Nobody leads in the later epoch that it was superseded by: the primary that is followed does still, in this one. */
  | { readonly do: "refuted"; readonly epoch: Epoch }
  | {
      readonly do: "heard";
      readonly epoch: Epoch;
      readonly known: readonly string[];
      /** Default: as they were. */
      readonly failover?: readonly string[];
      /** Of a later epoch than the known one. Default: none. */
      readonly proof?: string;
    };

/** What a token of a primary says. */
export interface Joined {
  readonly set: string;
  readonly id: string;
  readonly address: string;
  readonly epoch: Epoch;
}

/** The role after it. Throws where it leads nowhere from here. */
export function after(role: Role, step: Step, kind: ReplicationKind): Role {
  const next = stepped(role, step, kind);
  // Of disaster recovery the log itself has them: all its clusters write the same one.
  const isKept = kind === "performance" && role.mode !== "disabled";
  if (!isKept || next.mode === "disabled") return next;
  const { forks: _, ...rest } = next;
  const forks = forksOf(role).filter(({ number }) => number < next.epoch.number);
  return forks.length === 0 ? rest : { ...rest, forks: forks.slice(-MAX_FORKS) };
}

/** All that are known, in their order. Before the first epoch there was none to part from. */
export function forksOf({ epoch, forks = [] }: Exclude<Role, Disabled>): readonly Fork[] {
  const { number, first } = epoch;
  return number > 1 ? [...forks, { number, first }] : forks;
}

/** What only this cluster has written of what it led: up to the last of it, from the fork on. Null where nobody has told that: it is not known
 *  where the epoch after it began. */
export function surplusOf(role: Secondary): { fork: bigint | null; led: LedBefore } | null {
  const { surplus: led } = role;
  if (led === undefined) return null;
  if (role.epoch.number <= led.epoch) return { fork: BigInt(led.since) - 1n, led }; // nobody has followed it
  const next = forksOf(role).find(({ number }) => number === led.epoch + 1);
  if (next === undefined) return { fork: null, led };
  const [first, since] = [BigInt(next.first), BigInt(led.since)];
  return { fork: (first > since ? first : since) - 1n, led };
}

const MAX_FORKS = 64; // marks of clients do not live that long

function stepped(role: Role, step: Step, kind: ReplicationKind): Role {
  switch (step.do) {
    case "enable-primary": {
      if (role.mode === "secondary") throw failures.promoteInstead(kind);
      if (role.mode !== "disabled") throw failures.primaryAlready(kind);
      const { set, cluster, address, first } = step;
      const epoch = { number: 1, cluster, first };
      return { mode: "primary", set, epoch, address, fenced: null };
    }
    case "demote":
      return { ...primary(role, kind), mode: "demoting" };
    case "demoted": {
      if (role.mode !== "demoting") throw failures.notPrimary(kind);
      const { set, epoch, fenced, own, fencedAt: at = step.at } = role;
      // Where somebody else leads, that one's log goes on.
      const final = fenced === null ? step.final : null;
      const led = { epoch: epoch.number, since: own ?? epoch.first, until: step.final, at };
      const surplus = kind === "performance" ? { surplus: led } : {};
      return { ...alone(set, later(epoch, fenced)), final, led: true, ...surplus };
    }
    case "disable-primary":
      primary(role, kind);
      return DISABLED;
    case "fence": {
      const { epoch, fenced, fencedAt } = primary(role, kind);
      const known = later(epoch, fenced);
      if (!isOlder(known, step.epoch))
        throw failures.epochSuperseded(step.epoch.number, known.number);
      const at = kind === "performance" ? { fencedAt: fencedAt ?? step.at } : {};
      return { ...primary(role, kind), fenced: step.epoch, ...at };
    }
    case "join":
      if (role.mode !== "disabled") throw failures.roleTaken(role.mode);
      return joined(step.joined, false);
    case "promoting":
      return { ...secondary(role, kind), promoting: step.promoting };
    case "stay":
      return { ...secondary(role, kind), promoting: null };
    case "promote": {
      const { set, epoch, promoting, surplus } = secondary(role, kind);
      if (promoting === null) throw failures.roleChanging();
      const { cluster, first, isRefused } = step;
      const own = surplus?.since ?? step.own; // who leads again has written what it had before as well
      const next = { number: epoch.number + 1, cluster, first };
      const rival = isRefused === true ? { rival: epoch.cluster } : {};
      return {
        mode: "primary",
        set,
        epoch: next,
        address: promoting.address,
        ...(own === undefined ? {} : { own }),
        fenced: null,
        ...rival,
      };
    }
    case "update-primary": {
      const { set, epoch, copied, surplus } = secondary(role, kind);
      const { joined: to } = step;
      if (to.set !== set) throw failures.otherSet();
      if (isOlder(to.epoch, epoch) && step.isForced !== true) {
        throw failures.epochSuperseded(to.epoch.number, epoch.number);
      }
      return {
        ...joined(to, copied),
        mayRewind: true,
        ...(surplus === undefined ? {} : { surplus }),
      };
    }
    case "stand-in": {
      // Of a primary the next epoch. Who was superseded or gives up its place leads in none; who follows goes on following.
      if (role.mode !== "primary" || role.fenced !== null) return role;
      const { cluster, first, address } = step;
      const epoch = { number: role.epoch.number + 1, cluster, first };
      const { rival: _, ...rest } = role;
      const own = role.own ?? role.epoch.first; // the log is the same one
      return { ...rest, epoch, address, own };
    }
    case "restored": {
      if (role.mode !== "primary" || role.fenced !== null) return role;
      // What it had led of the log before has gone with that.
      const { own: _, ...rest } = role;
      const { number, cluster } = role.epoch;
      return { ...rest, epoch: { number: number + 1, cluster, first: step.first } };
    }
    case "followed": {
      const { superseded: _, ...now } = secondary(role, kind);
      if (!isSameEpoch(now.epoch, step.epoch)) {
        throw failures.epochSuperseded(step.epoch.number, now.epoch.number);
      }
      return { ...now, proof: step.proof, keysDue: true };
    }
    case "keyed": {
      const { keysDue: _, ...now } = secondary(role, kind);
      return now;
    }
    case "move-primary": {
      const now = secondary(role, kind);
      if (now.id === "") throw failures.primaryUnknown();
      return { ...now, address: step.address, known: null };
    }
    case "forget-primary": {
      const { set, epoch, copied, final, led, superseded, surplus } = secondary(role, kind);
      return {
        ...alone(set, epoch),
        copied,
        final,
        ...(led === undefined ? {} : { led }),
        ...(superseded === undefined ? {} : { superseded }),
        ...(surplus === undefined ? {} : { surplus }),
      };
    }
    case "disable-secondary":
      secondary(role, kind);
      return DISABLED;
    case "named":
      return { ...secondary(role, kind), region: step.region };
    case "copied":
      return { ...secondary(role, kind), copied: true, mayRewind: false };
    case "rewound": {
      const { surplus: _, ...now } = secondary(role, kind);
      return { ...now, mayRewind: false };
    }
    case "ended":
      return { ...secondary(role, kind), final: step.final };
    case "superseded": {
      const { proof: _, ...now } = secondary(role, kind);
      const { epoch, proof } = step;
      if (!isOlder(now.epoch, epoch)) {
        throw failures.epochSuperseded(epoch.number, now.epoch.number);
      }
      const proved = proof === undefined ? {} : { proof };
      return { ...now, epoch, ...proved, final: null, superseded: true };
    }
    case "refuted": {
      const { superseded, proof: _, ...now } = secondary(role, kind);
      const { epoch } = step;
      if (superseded !== true || !isOlder(epoch, now.epoch)) {
        throw failures.epochSuperseded(epoch.number, now.epoch.number);
      }
      return { ...now, epoch };
    }
    case "heard": {
      const now = secondary(role, kind);
      const { epoch, known, proof } = step;
      const failover = step.failover === undefined ? {} : { failover: step.failover };
      if (isOlder(epoch, now.epoch)) {
        throw failures.epochSuperseded(epoch.number, now.epoch.number);
      }
      if (!isOlder(now.epoch, epoch)) return { ...now, known, ...failover };
      // Whoever has begun a later epoch has no end yet, and leads.
      const { superseded: _s, proof: _p, ...rest } = now;
      const proved = proof === undefined ? {} : ({ proof, keysDue: true } as const);
      return { ...rest, epoch, known, ...failover, ...proved, final: null };
    }
  }
}

/** The first gives way to the second: by number; then to whoever knew more of the log before; then by name. */
export function isOlder(one: Epoch, other: Epoch): boolean {
  if (one.number !== other.number) return one.number < other.number;
  if (one.first !== other.first) return BigInt(one.first) < BigInt(other.first);
  return one.cluster > other.cluster;
}

export function isSameEpoch(one: Epoch, other: Epoch): boolean {
  return !isOlder(one, other) && !isOlder(other, one);
}

/** So many promotions may have gone by unheard. What is further ahead is a forgery, and nothing could come after it. */
const MAX_AHEAD = 1000;

/** Whether the first gives way to the second, and the second may have come about. */
export function isNext(one: Epoch, other: Epoch): boolean {
  return isOlder(one, other) && other.number - one.number <= MAX_AHEAD;
}

/** Of those that may come after one's own, whatever their order; null where none does. */
export function latestOf(own: Epoch, known: readonly (Epoch | null)[]): Epoch | null {
  return known.reduce<Epoch | null>((last, one) => {
    if (one === null || !isNext(own, one)) return last;
    return last === null || isOlder(last, one) ? one : last;
  }, null);
}

/** Where its primary is looked for, in this order: last where those are that may have taken its place. */
export function addressesOf({ address, known, failover = [] }: Secondary): readonly string[] {
  return [...new Set([...(known ?? []), address, ...failover])].filter((one) => one !== "");
}

/** Whether the data is another cluster's, or is not to be changed here. */
export function follows(role: Role): boolean {
  return role.mode === "secondary" || role.mode === "demoting" || isFenced(role);
}

export function isFenced(role: Role): boolean {
  return role.mode === "primary" && role.fenced !== null;
}

/** Up to when this cluster wrote what is shared itself, by the clock of the wall; null where it has not, or that tells nothing of its rows
 *  any more. `now`: it does still, or ends it just now. */
export function ledUntil(role: Role): string | null {
  if (role.mode === "secondary") return role.surplus?.at ?? null;
  if (role.mode === "disabled") return null;
  return isFenced(role) ? (role.fencedAt ?? null) : "now";
}

function alone(set: string, epoch: Epoch): Secondary {
  return {
    mode: "secondary",
    set,
    epoch,
    id: "",
    address: "",
    known: null,
    copied: true, // what is here was complete
    final: null,
    mayRewind: false,
    promoting: null,
  };
}

function joined({ set, id, address, epoch }: Joined, copied: boolean): Secondary {
  return {
    mode: "secondary",
    set,
    epoch,
    id,
    address,
    known: null,
    copied,
    final: null,
    mayRewind: false,
    promoting: null,
  };
}

function later(epoch: Epoch, other: Epoch | null): Epoch {
  return other !== null && isOlder(epoch, other) ? other : epoch;
}

function primary(role: Role, kind: ReplicationKind): Primary {
  if (role.mode !== "primary") throw notA("primary", role, kind);
  return role;
}

function secondary(role: Role, kind: ReplicationKind): Secondary {
  if (role.mode !== "secondary") throw notA("secondary", role, kind);
  return role;
}

/** What a cluster cannot do as it is, is said before anything of a token. */
export function assertSecondary(role: Role, kind: ReplicationKind): void {
  secondary(role, kind);
}

function notA(wanted: "primary" | "secondary", { mode }: Role, kind: ReplicationKind): Failure {
  if (mode === "demoting") return failures.roleChanging();
  return wanted === "primary" ? failures.notPrimary(kind) : failures.notSecondary(kind);
}
