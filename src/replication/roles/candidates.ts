// Who of the set is about to be promoted, as far as is known here: this cluster, and others that have said so. Whoever stands says so
// to all that it knows before it changes anything, and is promoted where nobody stands against it. Of two that have told each other
// the one with the smaller id goes on. Pure but for the time.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { roleChanging } from "../failures.ts";

/** What a cluster says of its own promotion: that it only wants to know, that it is about to be, or that nothing came of it. */
const CANDIDACIES = ["asks", "stands", "withdraws"] as const;
export type Candidacy = (typeof CANDIDACIES)[number];

export function candidacyOf(text: string): Candidacy | null {
  return CANDIDACIES.find((one) => one === text) ?? null;
}

/** A promotion takes less. Who crashes in it says no more that nothing came of it. */
const HOLDS: Nanos = MINUTE;

interface Own {
  /** Others that stood when this one began. */
  readonly before: readonly string[];
  /** Gives way to nobody any more. */
  isFirm: boolean;
  /** Has given way to this one. */
  yielded: string | null;
}

interface Other {
  readonly cluster: string;
  readonly until: Nanos;
}

export class Candidates {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #clusterId: () => string;
  #own: Own | null = null;
  /** By the member that has said so: each is one cluster. */
  readonly #others = new Map<string, Other>();

  constructor(clock: Pick<Clock, "elapsed">, clusterId: () => string) {
    this.#clock = clock;
    this.#clusterId = clusterId;
  }

  // --- as others hear it ---

  /** What another one says. Gives who stands besides. */
  hear(member: string, cluster: string, candidacy: Candidacy): readonly string[] {
    const own = this.#own;
    if (candidacy === "withdraws") this.#others.delete(member);
    if (candidacy === "stands") {
      this.#others.set(member, { cluster, until: this.#clock.elapsed() + HOLDS });
      if (own !== null && !own.isFirm && cluster < this.#clusterId()) own.yielded ??= cluster;
    }
    const stands = own !== null && own.yielded === null ? [this.#clusterId()] : [];
    return [...stands, ...this.#standing()].filter((one) => one !== cluster);
  }

  /** It leads, or did: what it has said before is over. */
  led(cluster: string): void {
    for (const [member, other] of this.#others) {
      if (other.cluster === cluster) this.#others.delete(member);
    }
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

  /** Who stands against it, after others have said who does. Who denies it for itself does not, unless this one has given way to it. */
  against(named: readonly string[], deniers: readonly string[]): readonly string[] {
    const { before, yielded } = this.#own ?? { before: this.#standing(), yielded: null };
    const own = this.#clusterId();
    const standing = [...before, ...named].filter((one) => one !== own && !deniers.includes(one));
    return [...new Set([...(yielded === null ? [] : [yielded]), ...standing])];
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
    for (const [member, { until }] of this.#others) {
      if (until < now) this.#others.delete(member);
    }
    return [...this.#others.values()].map(({ cluster }) => cluster);
  }
}
