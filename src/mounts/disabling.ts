// Disabling a mount, in this order: closed to requests, rolled back,
// leases revoked, here and in clusters that share it, engine closed, storage wiped, and only then forgotten. What cannot be revoked stops
// it there; it is tried again when somebody asks, and after the next unseal.

import type { Log } from "@holdfast/shared/log";
import type { Tx } from "../barrier/view.ts";
import { evacuate, evacuatedElsewhere, type EvacuationParts, stopped } from "./teardown.ts";
import * as failures from "./failures.ts";
import { type Job, Jobs } from "./jobs.ts";
import { wipeSlice } from "./remains.ts";
import { contentsOf, type MountRecord } from "./table/mount-record.ts";
import type { MountRows } from "./table/mount-rows.ts";
import type { Mount } from "./open-mount.ts";

export interface DisablingOptions {
  readonly rows: MountRows;
  readonly evacuation: EvacuationParts;
  readonly log: Log;
}

export class Disabling {
  readonly #options: DisablingOptions;
  readonly #jobs = new Jobs();

  constructor(options: DisablingOptions) {
    this.#options = options;
  }

  open(): void {
    this.#jobs.open();
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  jobOf(uuid: string): Job | null {
    return this.#jobs.of(uuid);
  }

  /** From when this resolves no request reaches it. Gives what is left behind, in words. */
  async mark(mount: Mount, abandon: boolean): Promise<string[]> {
    const { rows } = this.#options;
    const { state } = mount.record;
    if (state.kind === "disabling") {
      if (abandon && !state.abandon) await this.#abandonNow(mount);
      return [];
    }
    const { type, opened } = mount;
    const left = opened === null ? null : ((await type?.abandoned?.(opened.ref.engine)) ?? null);
    if (left !== null && !abandon) throw failures.abandons(left);
    await rows.viewOf(mount.record).write(
      (tx) => {
        const record = rows.current(tx, mount.record);
        if (record === null || record.state.kind === "disabling") return;
        if (record.state.kind === "moving") throw failures.busy("moving");
        rows.put(tx, { ...record, state: { kind: "disabling", abandon } });
      },
      { essential: true },
    );
    return left === null ? [] : [`left behind: ${left}`];
  }

  /** Who finds that something cannot be removed may say so later. */
  async #abandonNow(mount: Mount): Promise<void> {
    const { rows } = this.#options;
    await rows.viewOf(mount.record).write(
      (tx) => {
        const record = rows.current(tx, mount.record);
        if (record?.state.kind !== "disabling") return;
        rows.put(tx, { ...record, state: { kind: "disabling", abandon: true } });
      },
      { essential: true },
    );
  }

  /** Begins, or begins again after a failure. */
  start(mount: Mount): Job {
    return this.#jobs.start(mount.record.uuid, async (signal, progress) => {
      const { record } = mount;
      await mount.settled();
      await evacuate(mount, this.#options.evacuation, signal, progress);
      await evacuatedElsewhere(mount, this.#options.evacuation, signal);
      await mount.close();
      await this.#wipe(record, signal);
      await this.#forget(record);
      const { path, accessor } = record;
      this.#options.log.info("a mount is disabled", { path, accessor });
    });
  }

  async #wipe(record: MountRecord, signal: AbortSignal): Promise<void> {
    const { rows, evacuation } = this.#options;
    const folder = contentsOf(record.namespaceId, record.uuid);
    for (const view of [rows.shared, rows.local]) {
      while (await wipeSlice(view, folder)) {
        if (signal.aborted) throw stopped();
        await evacuation.timers.turn();
      }
    }
  }

  async #forget(record: MountRecord): Promise<void> {
    const { rows } = this.#options;
    await rows.viewOf(record).write(
      (tx: Tx) => {
        if (rows.current(tx, record) !== null) rows.remove(tx, record);
      },
      { essential: true },
    );
  }
}
