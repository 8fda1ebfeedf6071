// What a scrape and the history of lag see of this cluster and its peers. Pure, and from memory.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { PeerReading, ReplicationReading } from "../../house/readings.ts";
import type { ReplicationFigures } from "../figures.ts";
import { isFenced, type Role } from "../roles/role.ts";
import {
  canaryAge,
  entriesBehind,
  type PeerFacts,
  type ReceivingFacts,
  type SecondaryFacts,
} from "./status.ts";

export interface ReadingFacts {
  readonly kind: ReplicationReading["kind"];
  readonly role: Role;
  /** The last index that is here. */
  readonly index: bigint;
  readonly now: Instant;
  readonly secondaries: readonly SecondaryFacts[];
  readonly receiving: ReceivingFacts | null;
}

export function readingOf(
  facts: ReadingFacts,
  figures: ReplicationFigures,
): Omit<ReplicationReading, "standIns" | "withheld"> {
  const { kind, role } = facts;
  return {
    kind,
    role: role.mode === "demoting" ? "primary" : isFenced(role) ? "fenced" : role.mode,
    peers: role.mode === "disabled" ? [] : peersOf(facts),
    ...figures.reading,
  };
}

/** Of a primary its secondaries; of a secondary itself, under the name that the primary knows it by. */
function peersOf({ role, index, now, secondaries, receiving }: ReadingFacts): PeerReading[] {
  if (role.mode !== "secondary") {
    return secondaries.map((one) => ({
      id: one.id,
      connected: one.isConnected,
      remoteIndex: one.acknowledged === null ? null : Number(one.acknowledged),
      lagEntries: one.lag === null ? null : Number(one.lag),
      lagSeconds: lagOf(one, one.behindFor, now),
      heartbeatAge: ageOf(one.lastHeartbeat, now),
    }));
  }
  const primary = receiving?.primary ?? null;
  if (role.id === "" || receiving === null || primary === null) return [];
  const { behindFor, lastRemoteIndex } = receiving;
  return [
    {
      id: role.id,
      connected: primary.isConnected,
      remoteIndex: lastRemoteIndex === null ? null : Number(lastRemoteIndex),
      lagEntries: entriesBehind(receiving, index),
      lagSeconds: lagOf(primary, behindFor, now),
      heartbeatAge: ageOf(primary.lastHeartbeat, now),
    },
  ];
}

/** Null where nobody knows. */
function lagOf(peer: PeerFacts, behindFor: Nanos | null, now: Instant): number | null {
  const lag = peer.isConnected ? (behindFor ?? 0n) : canaryAge(peer, behindFor, now);
  return lag === null ? null : seconds(lag);
}

function ageOf(since: Instant | null, now: Instant): number | null {
  return since === null ? null : since > now ? 0 : seconds(now - since);
}

function seconds(nanos: Nanos): number {
  return Number(nanos) / Number(SECOND);
}
