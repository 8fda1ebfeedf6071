// Replication of both kinds in one cluster, which may be something in each. What is shared is this cluster's matter only where the data
// as a whole is: who stands in for another cluster has the rows of what that one is among others, and does nothing with them.

import type { Tx, View } from "../barrier/view.ts";
import type { Retention } from "../storage/trimming.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { Entered } from "./data/data-steps.ts";
import type { HouseSteps } from "./options.ts";
import { Replication } from "./replication.ts";
import { type Changed, Changes } from "./roles/changes.ts";
import { isCopying } from "./data/shared-data.ts";

/** What is of one kind. */
type OfKind = "kind" | "view" | "own" | "rows" | "replication" | "beside" | "changes" | "trees";

export interface BothKindsNeeds extends Omit<AdmissionOptions, OfKind> {
  /** Of everything below core/, and below local/. */
  readonly node: View;
  readonly local: View;
}

const DR = "replication/dr/";
const PERFORMANCE = "replication/performance/";

/** Operation tokens and tickets are of the other kind. */
const WITHOUT_TICKETS = {
  revokeOperationTokens: (_tx: Tx) => {},
  takeTicketsFrom: () => {},
  spendTicket: () => {},
  dropAttempts: async () => {},
  primaryLease: 0n,
};

export class BothKinds {
  readonly #needs: BothKindsNeeds;
  readonly dr: Replication;
  readonly performance: Replication;
  readonly drAdmission: Admission;
  readonly performanceAdmission: Admission;

  constructor(needs: BothKindsNeeds) {
    this.#needs = needs;
    const { node, local, house, log } = needs;
    const changes = new Changes(log.child("replication"), () => house.seal());
    const view = node.sub(DR);
    const dr = {
      ...needs,
      kind: "dr",
      changes,
      view,
      own: view,
      rows: `core/${DR}`,
      house: this.#steps(house),
      beside: () => this.performance,
    } as const;
    this.dr = new Replication(dr);
    this.drAdmission = new Admission({ ...dr, replication: this.dr });
    const performance = {
      ...needs,
      ...WITHOUT_TICKETS,
      kind: "performance",
      changes,
      trees: this.dr.trees,
      view: local.sub(PERFORMANCE),
      own: node.sub(PERFORMANCE),
      rows: `local/${PERFORMANCE}`,
      beside: () => this.dr,
    } as const;
    this.performance = new Replication(performance);
    this.performanceAdmission = new Admission({ ...performance, replication: this.performance });
  }

  /** Where the data as a whole becomes another cluster's, what is shared of it is no matter of this one any more. */
  #steps(house: HouseSteps): HouseSteps {
    return {
      ...house,
      yield: async () => {
        await this.performance.close();
        await house.yield();
      },
      takeOver: async () => {
        await this.performance.enter();
        await house.takeOver();
        await this.performance.lead();
      },
    };
  }

  /** The first copy of what is shared is under way: nothing else is here. */
  get isCopying(): boolean {
    return !this.#needs.store.following && isCopying(this.performance.role);
  }

  /** With the keys, and before any room: what the store is to be. */
  async enter(): Promise<Entered> {
    const entered = await this.dr.enter();
    if (!entered.following) return await this.performance.enter();
    this.#needs.store.leaveShared(false); // nothing at all is written
    return entered;
  }

  async lead(): Promise<void> {
    await this.dr.lead();
    if (!this.#needs.store.following) await this.performance.lead();
  }

  async rest(): Promise<void> {
    await this.performance.rest();
    await this.dr.rest();
  }

  /** Begins anew, in each kind in which this cluster is something. */
  async recover(): Promise<Changed> {
    if (this.performance.mode === "disabled") return await this.dr.recover();
    const own = await this.performance.recover();
    return this.dr.mode === "disabled" ? own : await this.dr.recover();
  }

  /** What of the log others need; null where nobody does. */
  get retention(): Pick<Retention, "acknowledged" | "pinned"> | null {
    const both = [this.dr.retention, this.performance.retention].filter((one) => one !== null);
    if (both.length === 0) return null;
    return {
      acknowledged: least(both.map((one) => one.acknowledged)),
      pinned: least(both.map((one) => one.pinned)),
    };
  }
}

function least(indexes: readonly (bigint | null)[]): bigint | null {
  return indexes.reduce((one, other) =>
    one === null || (other !== null && other < one) ? other : one,
  );
}
