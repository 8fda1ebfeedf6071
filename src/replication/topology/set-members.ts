// The clusters of a set as one of them knows them: itself, who follows it, and what whom it follows has told of the others. Each follows one
// other cluster at most, so that they are a tree. Pure: people are shown it, and nothing is decided by it.

import { DAY, MILLISECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import {
  isClusterId,
  isMemberId,
  isRegionName,
  type ReplicationKind,
} from "../../cluster/names.ts";
import { usableApiAddress } from "../addresses.ts";
import { isFenced, type Role } from "../roles/role.ts";
import type { Awaited } from "../status/awaited.ts";
import type { ReceivingFacts, SecondaryFacts } from "../status/status.ts";
import { MAX_SET_MEMBERS, MAX_STAND_INS, type SetMember } from "../stream/messages.ts";

/** What whom this cluster follows has told of the set, by which cluster that was. */
export interface SetFromAbove {
  readonly by: string;
  readonly ago: Nanos;
  readonly members: readonly SetMember[];
}

/** What this cluster is in one kind, and whom it knows by that. */
export interface SetFacts {
  readonly kind: ReplicationKind;
  readonly role: Role;
  /** A primary that writes nothing until a secondary is heard of. */
  readonly isLapsed: boolean;
  readonly present: readonly (SecondaryFacts & { readonly withheld: number })[];
  /** They were there once, and have not come since this cluster leads. */
  readonly absent: readonly {
    readonly id: string;
    readonly cluster: string;
    readonly region: string;
  }[];
  readonly awaited: readonly Awaited[];
  readonly nameOf: (cluster: string) => string;
  readonly receiving: ReceivingFacts | null;
  /** In entries; null: nobody knows. */
  readonly lag: number | null;
  readonly fromAbove: SetFromAbove | null;
}

export interface SelfFacts {
  readonly cluster: string;
  readonly region: string;
  readonly apiAddress: string;
  /** Mounts and namespaces that it is not sent. */
  readonly withheld: number;
  readonly now: Instant;
}

export type OfBothKinds = Readonly<Record<ReplicationKind, SetFacts>>;

const NOBODY: SetMember = {
  cluster: "",
  name: "",
  kind: "",
  follows: "",
  region: "",
  state: "",
  isConnected: false,
  lag: 0n,
  isLagKnown: false,
  behindFor: 0n,
  heardAgo: 0n,
  isHeard: false,
  withheld: 0,
  apiAddress: "",
  hasTold: false,
  leadsDr: false,
  leadsPerformance: false,
};

/** This cluster first. */
export function setMembers(self: SelfFacts, both: OfBothKinds): readonly SetMember[] {
  const own = ownMember(self, both);
  const followed = own.kind === "" ? null : both[own.kind === "dr" ? "dr" : "performance"];
  const above = followed === null ? [] : membersAbove(self, own, followed);
  return [own, ...standInsOf(self, both), ...regionsOf(self, both), ...above].slice(
    0,
    MAX_SET_MEMBERS,
  );
}

/** Those that have all data of this cluster. */
export function standInsOf(self: SelfFacts, { dr }: OfBothKinds): readonly SetMember[] {
  return membersBelow(self, dr);
}

function regionsOf(self: SelfFacts, { dr, performance }: OfBothKinds): readonly SetMember[] {
  // Who stands in for another cluster has the rows of what that one is, and is none of it.
  return dr.role.mode === "secondary" ? [] : membersBelow(self, performance);
}

/** What it is in the one kind in which it follows somebody, or in none. */
function ownMember(self: SelfFacts, both: OfBothKinds): SetMember {
  const { dr, performance } = both;
  const followed = [dr, performance].find(({ role }) => role.mode === "secondary") ?? null;
  const leads = ({ role }: SetFacts) => role.mode === "primary" || role.mode === "demoting";
  const isStandIn = dr.role.mode === "secondary";
  const base: SetMember = {
    ...NOBODY,
    cluster: self.cluster,
    region: hasRegions(both) ? self.region : "",
    apiAddress: self.apiAddress,
    isHeard: true,
    hasTold: true,
    leadsDr: leads(dr),
    leadsPerformance: !isStandIn && leads(performance),
  };
  const led = [dr, performance].filter((one) => leads(one) && !(isStandIn && one === performance));
  const stopped = led.some(({ role }) => isFenced(role))
    ? "fenced"
    : led.some(({ isLapsed }) => isLapsed)
      ? "lapsed"
      : null;
  if (followed === null) {
    return {
      ...base,
      isConnected: true,
      state: stopped ?? (led.length === 0 ? "alone" : "running"),
    };
  }
  const { kind, role, receiving, lag } = followed;
  const isSecondary = role.mode === "secondary";
  return {
    ...base,
    name: isSecondary ? role.id : "",
    kind,
    follows: isSecondary && role.id !== "" ? role.epoch.cluster : "",
    state: stopped ?? receiving?.state ?? "idle",
    isConnected: receiving?.primary?.isConnected === true,
    lag: BigInt(lag ?? 0),
    isLagKnown: lag !== null,
    behindFor: receiving?.behindFor ?? 0n,
    withheld: kind === "performance" ? self.withheld : 0,
  };
}

function hasRegions({ dr, performance }: OfBothKinds): boolean {
  return dr.role.mode !== "secondary" && performance.role.mode !== "disabled";
}

/** Whom it follows, as it is heard of here, and what that one has told of the others. */
function membersAbove(self: SelfFacts, own: SetMember, followed: SetFacts): readonly SetMember[] {
  const { role, receiving, fromAbove: from, kind } = followed;
  if (role.mode !== "secondary" || own.follows === "") return [];
  const primary = receiving?.primary ?? null;
  const isOfNow = from !== null && from.by === own.follows;
  const others = isOfNow ? from.members.map((one) => older(one, from.ago)) : [];
  const said = others.find(({ cluster }) => cluster === own.follows);
  const region = kind === "performance" ? (role.region ?? "") : (said?.region ?? "");
  const leads = kind === "dr" ? { leadsDr: true } : { leadsPerformance: true };
  const upstream: SetMember = {
    ...NOBODY,
    ...said,
    ...leads,
    cluster: own.follows,
    region,
    apiAddress: usableApiAddress(primary?.apiAddress ?? "") || (said?.apiAddress ?? ""),
    ...(said?.kind ? {} : { isConnected: primary?.isConnected === true }),
    ...heard(primary?.lastHeartbeat ?? null, self.now),
  };
  const isOther = ({ cluster, follows }: SetMember) =>
    cluster !== own.follows && cluster !== own.cluster && follows !== own.cluster;
  return [upstream, ...others.filter(isOther)];
}

/** Those that follow this cluster in one kind, each with who stands in for it. */
function membersBelow(self: SelfFacts, facts: SetFacts): readonly SetMember[] {
  const { kind, present, absent, awaited, nameOf } = facts;
  const below = { ...NOBODY, kind, follows: self.cluster };
  return [
    ...present.flatMap((one): SetMember[] => {
      const { standIns } = one;
      const named = (standIns?.members ?? []).map((member) => ({
        ...older(member, self.now - (standIns?.at ?? self.now)),
        kind: "dr",
        follows: one.clusterId,
      }));
      return [
        {
          ...below,
          cluster: one.clusterId,
          name: one.id,
          region: one.region ?? "",
          state: one.isDoubled
            ? "doubled"
            : (one.later ?? null) === null
              ? one.state
              : "led-by-another",
          isConnected: one.isConnected,
          lag: one.lag ?? 0n,
          isLagKnown: one.lag !== null,
          behindFor: one.behindFor ?? 0n,
          withheld: one.withheld,
          apiAddress: usableApiAddress(one.apiAddress),
          hasTold: standIns !== null && standIns !== undefined,
          leadsDr: named.length > 0,
          ...heard(one.lastHeartbeat, self.now),
        },
        ...named,
      ];
    }),
    ...absent.map(({ id, cluster, region }) => ({
      ...below,
      name: id,
      cluster,
      region,
      state: "absent",
    })),
    ...awaited.map(({ id, cluster }) => ({
      ...below,
      cluster,
      name: id || nameOf(cluster),
      state: "awaited",
    })),
  ];
}

function heard(at: Instant | null, now: Instant): Pick<SetMember, "isHeard" | "heardAgo"> {
  if (at === null) return { isHeard: false, heardAgo: 0n };
  return { isHeard: true, heardAgo: at > now ? 0n : now - at };
}

function older(member: SetMember, ago: Nanos): SetMember {
  return { ...member, heardAgo: member.heardAgo + (ago < 0n ? 0n : ago) };
}

// --- as others tell it ---

const MAX_STATE = 32;
const MAX_ADDRESS = 256;
const LONGEST: Nanos = 36_500n * DAY;
const MAX_LAG = 2n ** 48n;

/** Others may say anything: what people are not to be shown, or is of no such form, is left out. */
export function readableMembers(members: readonly SetMember[]): readonly SetMember[] {
  return members.map((one) => ({
    ...one,
    cluster: isClusterId(one.cluster) ? one.cluster : "",
    name: isMemberId(one.name) ? one.name : "",
    kind: one.kind === "dr" || one.kind === "performance" ? one.kind : "",
    follows: isClusterId(one.follows) ? one.follows : "",
    region: isRegionName(one.region) ? one.region : "",
    state: one.state.slice(0, MAX_STATE).replaceAll(/[^a-z-]/g, "?"),
    lag: one.lag < MAX_LAG ? one.lag : MAX_LAG,
    behindFor: one.behindFor < LONGEST ? one.behindFor : LONGEST,
    heardAgo: one.heardAgo < LONGEST ? one.heardAgo : LONGEST,
    apiAddress: one.apiAddress.length > MAX_ADDRESS ? "" : usableApiAddress(one.apiAddress),
  }));
}

export function sentMembers(members: readonly SetMember[]): readonly SetMember[] {
  return readableMembers(members).slice(0, MAX_SET_MEMBERS);
}

export function sentStandIns(members: readonly SetMember[]): readonly SetMember[] {
  return readableMembers(members).slice(0, MAX_STAND_INS);
}

// --- as the API has it ---

/** `whole`: for who may know more than anybody. */
export function topologyOf(members: readonly SetMember[], whole: boolean) {
  const numbers = new Map(members.map(({ cluster }, number) => [cluster, number]));
  return {
    members: members.map((one, number) => ({
      member: number,
      ...(number === 0 ? { this_cluster: true } : {}),
      name: one.name,
      follows: one.follows === "" ? null : (numbers.get(one.follows) ?? null),
      kind: one.kind === "" ? null : one.kind,
      leads: [...(one.leadsDr ? ["dr"] : []), ...(one.leadsPerformance ? ["performance"] : [])],
      region: one.region,
      state: one.state,
      connected: one.isConnected,
      wal_lag: one.isLagKnown ? Number(one.lag) : null,
      behind_ms: millis(one.behindFor),
      heard_ms_ago: one.isHeard ? millis(one.heardAgo) : null,
      withheld: one.withheld,
      tells_stand_ins: one.hasTold,
      api_address: one.apiAddress,
      ...(whole ? { cluster_id: one.cluster } : {}),
    })),
  };
}

function millis(length: Nanos): number {
  return Number(length / MILLISECOND);
}
