// Replication of both kinds in one cluster, which may be something in each. What is shared is this cluster's matter only where the data
// as a whole is: who stands in for another cluster has the rows of what that one is among others, and does nothing with them.

import type { Tx, View } from "../barrier/view.ts";
import type { Retention } from "../storage/trimming.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { Entered } from "./data/data-steps.ts";
import type { StandIn } from "./cascades/standing-in.ts";
import type { HouseSteps } from "./options.ts";
import { Replication } from "./replication.ts";
import type { SetMember } from "./stream/messages.ts";
import {
  type OfBothKinds,
  type SelfFacts,
  setMembers,
  standInsOf,
} from "./topology/set-members.ts";
import { type Changed, Changes } from "./roles/changes.ts";
import { isCopying } from "./data/shared-data.ts";
import { scrubOf, WithheldHere, type WithheldHereParts } from "./filters/withheld-here.ts";
import { WITHHELD } from "./filters/withheld-rows.ts";

/** What is of one kind. */
type OfKind =
  | "kind"
  | "view"
  | "own"
  | "rows"
  | "replication"
  | "beside"
  | "changes"
  | "trees"
  | "withheld"
  | "around";

export interface BothKindsNeeds extends Omit<AdmissionOptions, OfKind> {
  /** Of everything below core/, and below local/. */
  readonly node: View;
  readonly local: View;
  /** What becomes of mounts that are not sent here any more. Default: there are none. */
  readonly leaving?: Pick<WithheldHereParts, "changed" | "evacuated" | "lifted" | "anew">;
}

const DR = "replication/dr/";
const PERFORMANCE = "replication/performance/";
/** The row of what is withheld from this cluster. */
export const WITHHELD_KEY: string = `local/${PERFORMANCE}${WITHHELD}`;

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
  /** Of both kinds: one is changed at a time. */
  readonly #changes: Changes;
  readonly dr: Replication;
  readonly performance: Replication;
  readonly drAdmission: Admission;
  readonly performanceAdmission: Admission;
  /** What of the shared data is not sent here. */
  readonly withheld: WithheldHere;

  constructor(needs: BothKindsNeeds) {
    this.#needs = needs;
    const { node, local, house, log } = needs;
    const around = { members: () => this.members, standIns: () => this.#standIns };
    const changes = new Changes(log.child("replication"), () => house.seal());
    this.#changes = changes;
    const view = node.sub(DR);
    const dr = {
      ...needs,
      kind: "dr",
      around,
      changes,
      view,
      own: view,
      rows: `core/${DR}`,
      house: this.#steps(house),
      beside: () => this.performance,
      besideView: local.sub(PERFORMANCE),
      standsIn: (place: StandIn) => this.performance.standIn(place),
      leavesWith: () => this.performance.leaveWith(),
    } as const;
    this.dr = new Replication(dr);
    this.drAdmission = new Admission({ ...dr, replication: this.dr });
    const shared = local.sub(PERFORMANCE);
    this.withheld = new WithheldHere({
      store: needs.store,
      clock: needs.clock,
      timers: needs.timers,
      view: shared,
      changed: needs.leaving?.changed ?? (() => {}),
      evacuated: needs.leaving?.evacuated ?? (async () => {}),
      anew: needs.leaving?.anew ?? (() => {}),
      purge: async (scopes, steps) => {
        for (const one of [this.performance.divergent, this.dr.divergent]) {
          await one.purge(scopes, steps);
        }
      },
      lifted: needs.leaving?.lifted ?? (async () => {}),
    });
    const performance = {
      ...needs,
      ...WITHOUT_TICKETS,
      kind: "performance",
      around,
      changes,
      trees: this.dr.trees,
      view: shared,
      withheld: this.withheld,
      own: node.sub(PERFORMANCE),
      rows: `local/${PERFORMANCE}`,
      beside: () => this.dr,
      standIns: () => this.dr.places,
    } as const;
    this.performance = new Replication(performance);
    this.performanceAdmission = new Admission({ ...performance, replication: this.performance });
  }

  /** The clusters of the set that are known here, this one first. */
  get members(): readonly SetMember[] {
    return setMembers(this.#self, this.#setFacts);
  }

  get #standIns(): readonly SetMember[] {
    return standInsOf(this.#self, this.#setFacts);
  }

  get #self(): SelfFacts {
    const { clusterId, region, apiAddress, clock } = this.#needs;
    const withheld = this.performance.mode === "secondary" ? this.withheld.count : 0;
    return {
      cluster: clusterId(),
      region: region(),
      apiAddress: apiAddress(),
      withheld,
      now: clock.now(),
    };
  }

  get #setFacts(): OfBothKinds {
    return { dr: this.dr.status.setFacts, performance: this.performance.status.setFacts };
  }

  /** Where the data as a whole becomes another cluster's, what is shared of it is no matter of this one any more. */
  #steps(house: HouseSteps): HouseSteps {
    return {
      ...house,
      yield: async () => {
        // Members are told goodbye, which takes its time: what ends leases outside does not go on until then.
        await Promise.all([house.yield(), this.performance.close()]);
      },
      leave: async () => {
        this.performance.forget();
        await house.leave();
      },
      takeOver: async () => {
        this.withheld.reread();
        await this.dr.markRevoked(); // before anybody is heard in the other kind
        const { secondary } = await this.performance.enter();
        // Where the first copy was not whole when its place was taken the rooms stay as they are until it is.
        if (!secondary) await house.takeOver();
        await this.performance.lead();
      },
    };
  }

  /** Whether what this cluster is changes at this moment, in either kind: nothing but its status is answered then. */
  get isChanging(): boolean {
    return this.#changes.isRunning;
  }

  /** The first copy of what is shared is under way: nothing else is here. */
  get isCopying(): boolean {
    return !this.#needs.store.following && isCopying(this.performance.role);
  }

  /** With the keys, and before any room: what the store is to be. */
  async enter(): Promise<Entered> {
    this.withheld.reread();
    const entered = await this.dr.enter();
    if (!entered.following) return await this.performance.enter();
    this.#needs.store.leaveShared(false); // nothing at all is written
    if (!entered.secondary) this.performance.load(); // only to be told
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

  /** Whether a mount of the primary's is not sent here, though it may not be gone yet. */
  withholds(uuid: string): boolean {
    return this.performance.mode === "secondary" && this.withheld.isMount(uuid);
  }

  withholdsNamespace(id: string): boolean {
    return this.performance.mode === "secondary" && this.withheld.isNamespace(id);
  }

  /** What of the log others need; null where nobody does. */
  get retention(): Pick<Retention, "acknowledged" | "pinned" | "scrub"> | null {
    const both = [this.dr.retention, this.performance.retention].filter((one) => one !== null);
    const { local, clock, barrier } = this.#needs;
    const scrub = barrier.sealed ? null : scrubOf(local.sub(PERFORMANCE), clock.now());
    if (both.length === 0) return scrub === null ? null : { scrub };
    return {
      scrub,
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
