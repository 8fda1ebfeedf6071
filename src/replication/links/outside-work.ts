// What this cluster has made outside and given up: kept until a primary has it, or until this cluster leads again and takes it over
// itself; and what it has taken over from others.

import type { Log } from "@holdfast/shared/log";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Recurring } from "../../base/recurring.ts";
import type { ReplicationOptions } from "../options.ts";
import { AdoptedOrphans } from "./adopted-orphans.ts";
import { Orphans } from "./orphans.ts";

export class OutsideWork {
  readonly orphans: Orphans;
  readonly adopted: AdoptedOrphans;
  readonly #taking: Recurring;

  constructor(options: ReplicationOptions, log: Log) {
    const { view, barrier, outside, clock, timers, clusterId } = options;
    const local = barrier.view("local/");
    this.orphans = new Orphans({ view: view.sub("orphans/"), local, outside, timers, log });
    this.adopted = new AdoptedOrphans({ view, outside, clock, log });
    this.#taking = new Recurring({
      trouble: "could not take over what this cluster has made outside and given up",
      run: (isOpen) => this.#takeOwn(isOpen, clusterId),
      pause: { first: SECOND, max: MINUTE },
      timers,
      log,
    });
  }

  load(): void {
    this.orphans.load();
    this.adopted.load();
  }

  /** The data is this cluster's own. */
  open(): void {
    this.#taking.open();
  }

  async close(): Promise<void> {
    await this.#taking.close();
  }

  async #takeOwn(isOpen: () => boolean, clusterId: () => string): Promise<void> {
    const { orphans } = this;
    for (let rows = orphans.batch(); isOpen() && rows.length > 0; rows = orphans.batch()) {
      await this.adopted.take(rows, clusterId());
      await orphans.settle(rows);
    }
  }
}
