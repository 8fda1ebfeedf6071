// Who of the set is about to be promoted, as far as is known here: this cluster, and others that have said so. Whoever stands says so
// to all that it knows before it changes anything, and is promoted where nobody stands against it. Of two that have told each other
// the one with the smaller id goes on. Pure but for the time.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { roleChanging } from "../failures.ts";
import { SIBLINGS } from "../stream/messages.ts";

/** What a cluster says of its own promotion: that it only wants to know, that it is about to be, or that nothing came of it. */
const CANDIDACIES = ["asks", "stands", "withdraws"] as const;
export type Candidacy = (typeof CANDIDACIES)[number];

export function candidacyOf(text: string): Candidacy | null {
  return CANDIDACIES.find((one) => one === text) ?? null;
}

/** A promotion takes less. Who crashes in it says no more that nothing came of it. */
const HOLDS: Nanos = MINUTE;
/** So often in one epoch. Who says it for longer keeps others from being promoted, and is not. */
const TIMES = 3;
/** Who stands at once, as far as others are told of it: so many a message holds. */
const MAX_STANDING = SIBLINGS;
/** Whose words are counted in one epoch: more than a set has members. Those beyond count for nothing. Who is only named by another
 *  takes no place of one that says it itself. */
const MAX_COUNTED = 512;
const MAX_NAMED = 256;

interface Own {
  /** Others that stood when this one began. */
  readonly before: readonly string[];
  /** Gives way to nobody any more. */
  isFirm: boolean;
  /** Has given way to this one. */
  yielded: string | null;
}

/** How often somebody's word has counted, and until when the last time lasts. */
interface Spent {
  readonly times: number;
  readonly until: Nanos;
}

/** That one stands, and who says so: the same text for everything that this member says. */
export interface Word {
  readonly by: string;
  readonly cluster: string;
}

export class Candidates {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #clusterId: () => string;
  #own: Own | null = null;
  /** By the cluster that has said so, and until when it counts. Not by the name in its certificate: who has the authority chooses that. */
  readonly #others = new Map<string, Nanos>();
  readonly #epoch: () => number;
  /** In this epoch, by the cluster that stands, or by who says so of others. */
  #spent: { readonly epoch: number; readonly by: Map<string, Spent> } = {
    epoch: 0,
    by: new Map(),
  };

  /** `epoch`: the last that is known here. */
  constructor(clock: Pick<Clock, "elapsed">, clusterId: () => string, epoch: () => number) {
    this.#clock = clock;
    this.#clusterId = clusterId;
    this.#epoch = epoch;
  }

  // --- as others hear it ---

  /** What another one says of itself, which has proved to be that cluster. Gives who stands besides. */
  hear(cluster: string, candidacy: Candidacy): readonly string[] {
    const own = this.#own;
    if (candidacy === "withdraws") this.#others.delete(cluster);
    const isHeard = candidacy === "stands" && this.#hasRoomFor(cluster);
    const until = isHeard ? this.#countsUntil(cluster, { spend: true, max: MAX_COUNTED }) : null;
    if (until !== null) {
      this.#others.set(cluster, until);
      if (own !== null && !own.isFirm && cluster < this.#clusterId()) own.yielded ??= cluster;
    }
    const stands = own !== null && own.yielded === null ? [this.#clusterId()] : [];
    const all = [...stands, ...this.#standing()].filter((one) => one !== cluster);
    return all.slice(0, MAX_STANDING);
  }

  #hasRoomFor(cluster: string): boolean {
    return this.#others.has(cluster) || this.#standing().length < MAX_STANDING;
  }

  /** It leads, or did: what it has said before is over. */
  led(cluster: string): void {
    this.#others.delete(cluster);
  }

  // --- this cluster ---

  get stands(): boolean {
    return this.#own !== null;
  }

  /** `isFirm`: it gives way to nobody. Throws where it stands already. */
  begin({ isFirm }: { readonly isFirm: boolean }): void {
    if (this.#own !== null) throw roleChanging();
    this.#own = { before: this.#standing(), isFirm, yielded: null };
  }

  /** Who stands against it, after others have said who does. Who denies it for itself does not, unless this one has given way to it.
   *  What refuses a promotion counts as one time of who stands, and of who says so. */
  against(named: readonly Word[], deniers: readonly string[]): readonly string[] {
    const { before, yielded, isFirm } = this.#own ?? {
      before: this.#standing(),
      yielded: null,
      isFirm: true, // it only asks
    };
    const own = this.#clusterId();
    const isAgainst = (one: string) => one !== own && !deniers.includes(one);
    const counted = named.filter(({ by, cluster }) => {
      if (!isAgainst(cluster) || before.includes(cluster)) return false;
      const all = [by, cluster];
      const counts = all.every((one) => this.#countsUntil(one, { spend: false }) !== null);
      if (counts && !isFirm) for (const one of all) this.#countsUntil(one, { spend: true });
      return counts;
    });
    const standing = [...before.filter(isAgainst), ...counted.map(({ cluster }) => cluster)];
    return [...new Set([...(yielded === null ? [] : [yielded]), ...standing])];
  }

  /** Null where its word counts no more. Said again it lasts no longer. */
  #countsUntil(
    one: string,
    { spend, max = MAX_NAMED }: { readonly spend: boolean; readonly max?: number },
  ): Nanos | null {
    const epoch = this.#epoch();
    if (this.#spent.epoch !== epoch) this.#spent = { epoch, by: new Map() };
    const now = this.#clock.elapsed();
    const { by } = this.#spent;
    if (!by.has(one) && by.size >= max) return null;
    const { times, until } = by.get(one) ?? { times: 0, until: now - 1n };
    // What is said late in the last time has a time of its own: a promotion may need it.
    if (until - now >= HOLDS / 2n) return until;
    if (times >= TIMES) return now <= until ? until : null;
    const next = { times: times + 1, until: now + HOLDS };
    if (spend) by.set(one, next);
    return next.until;
  }

  /** From here on it is promoted. */
  settle(): void {
    if (this.#own !== null) this.#own.isFirm = true;
  }

  end(): void {
    this.#own = null;
  }

  #standing(): readonly string[] {
    const now = this.#clock.elapsed();
    for (const [cluster, until] of this.#others) {
      if (until < now) this.#others.delete(cluster);
    }
    return [...this.#others.keys()];
  }
}
