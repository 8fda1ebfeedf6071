// Shared mounts that another cluster disables or moves: what was given by them here is given up while the credentials that this takes are
// still there. Who disables or moves a mount waits for that, and hears how far it is.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Recurring } from "../base/recurring.ts";
import type { Mount } from "./open-mount.ts";
import { evacuate, type EvacuationParts, type Leaving, leavingOf, stopped } from "./teardown.ts";

export interface EvacuationReport extends Leaving {
  /** Leases that are not revoked yet. */
  readonly left: number;
  readonly isDone: boolean;
}

export interface EvacuatingOptions {
  readonly evacuation: EvacuationParts;
  /** Those that another cluster writes. */
  readonly mounts: () => Iterable<Mount>;
  /** Null where there is none, and where this cluster writes it. */
  readonly mount: (uuid: string) => Mount | null;
  /** Whether it is not to be here any more, wherever else it stays. */
  readonly withholds: (uuid: string) => boolean;
  /** Whoever disables or moves it should hear that one has begun, or is done. */
  readonly tell: () => void;
}

interface Task {
  readonly leaving: Leaving;
  readonly stop: AbortController;
  readonly job: Recurring;
  isDone: boolean;
}

export class Evacuating {
  readonly #options: EvacuatingOptions;
  readonly #tasks = new Map<string, Task>(); // by uuid
  readonly #ending = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  #isOpen = false;

  constructor(options: EvacuatingOptions) {
    this.#options = options;
  }

  open(): void {
    this.#isOpen = true;
    for (const { record } of this.#options.mounts()) this.look(record.uuid);
  }

  /** Waits for the steps that have begun. */
  async close(): Promise<void> {
    this.#isOpen = false;
    for (const uuid of this.#tasks.keys()) this.#end(uuid);
    this.#tellWaiting();
    await Promise.all(this.#ending);
  }

  /** It may be another than before. */
  look(uuid: string): void {
    if (!this.#isOpen) return;
    const mount = this.#options.mount(uuid);
    const leaving = mount === null ? null : this.#leavingOf(mount);
    const task = this.#tasks.get(uuid);
    if (task?.leaving.move === leaving?.move) return;
    this.#end(uuid);
    if (mount !== null && leaving !== null) this.#begin(mount, leaving);
    this.#tellWaiting();
  }

  #leavingOf({ record }: Mount): Leaving | null {
    const { uuid: mount } = record;
    return leavingOf(record) ?? (this.#options.withholds(mount) ? { mount, move: "" } : null);
  }

  /** Resolves when nothing is left that was given by these, as far as they are here; rejects when the signal says so. */
  async done(uuids: readonly string[], signal: AbortSignal): Promise<void> {
    const isOpen = (uuid: string) => this.#isOpen && this.#tasks.get(uuid)?.isDone === false;
    while (uuids.some(isOpen)) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      this.#waiting.delete(resolve);
    }
  }

  #tellWaiting(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Those that are done first. */
  reports(): EvacuationReport[] {
    const { leases } = this.#options.evacuation;
    const all = Array.from(this.#tasks.values(), ({ leaving, isDone }) => ({
      ...leaving,
      isDone,
      left: isDone ? 0 : leases.countOf(leaving.mount),
    }));
    return all.toSorted((a, b) => Number(b.isDone) - Number(a.isDone));
  }

  #begin(mount: Mount, leaving: Leaving): void {
    const { evacuation, tell } = this.#options;
    const { timers, log } = evacuation;
    const stop = new AbortController();
    const job = new Recurring({
      trouble: "could not give up what was given by a mount that goes",
      about: { path: mount.record.path },
      run: async () => {
        await mount.settled();
        try {
          await evacuate(mount, evacuation, stop.signal, () => {}, { isOthers: true });
        } catch (error) {
          if (stop.signal.aborted) return;
          throw error;
        }
        if (stop.signal.aborted) return;
        task.isDone = true;
        this.#tellWaiting();
        tell();
      },
      pause: { first: SECOND, max: MINUTE },
      timers,
      log,
    });
    const task: Task = { leaving, stop, job, isDone: false };
    this.#tasks.set(mount.record.uuid, task);
    job.open();
    tell();
  }

  #end(uuid: string): void {
    const task = this.#tasks.get(uuid);
    if (task === undefined) return;
    this.#tasks.delete(uuid);
    task.stop.abort(stopped());
    const ended = task.job.close().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
