// Who stands in for the regions of a set, as its primary knows it: what is the matter with them, and who has none. Pure.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { SILENCE } from "../silence.ts";
import type { SetMember } from "../stream/messages.ts";

export interface StandInState {
  /** The region, as the primary knows it; empty: the primary itself. */
  readonly region: string;
  readonly name: string;
  /** It could take over with what was written a moment ago. */
  readonly isReady: boolean;
  /** What is the matter; empty where nothing is. */
  readonly text: string;
}

export interface StandInReport {
  readonly standIns: readonly StandInState[];
  /** Regions for which nobody stands in, though somebody does for another one. */
  readonly bare: readonly string[];
}

const NOTHING: StandInReport = { standIns: [], bare: [] };
/** It lacks what was written so long ago. */
const BEHIND: Nanos = MINUTE;
/** Of a region that is away its own absence is told. */
const OLD: Nanos = 2n * SILENCE;

/** `members`: this cluster first. Of a primary of performance replication alone: each region hears of its own in disaster recovery. */
export function standInReport([own, ...others]: readonly SetMember[]): StandInReport {
  if (own === undefined || !own.leadsPerformance || own.kind !== "") return NOTHING;
  const isRegion = ({ kind, follows }: SetMember) =>
    kind === "performance" && follows === own.cluster;
  const regions = [own, ...others.filter(isRegion)];
  const found = regions.map((region) => ({
    region,
    below: others.filter(({ kind, follows }) => kind === "dr" && follows === region.cluster),
  }));
  const standIns = found.flatMap(({ region, below }) =>
    below.map((one) => {
      const text = trouble(one);
      return { region: region.name, name: one.name, isReady: text === "", text };
    }),
  );
  const bare = found.filter(({ region, below }) => region.hasTold && below.length === 0);
  return {
    standIns,
    bare: standIns.length === 0 ? [] : bare.map(({ region }) => region.name),
  };
}

function trouble({ isConnected, state, behindFor, heardAgo }: SetMember): string {
  if (!isConnected) return "is not connected to it: it falls behind";
  if (state !== "stream-wals") return "does not stream: it cannot take its place yet";
  if (behindFor > BEHIND) return "lacks what was written more than a minute ago";
  return heardAgo > OLD ? "was not told of for a while, since its region is not heard of" : "";
}
