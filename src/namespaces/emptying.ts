// The background work behind DELETE: empties namespaces that are marked as being deleted, then has
// their records removed. It holds nothing that has to survive: the mark is in storage, and whoever
// opens the room after a crash starts it again.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { NamespaceContents } from "./contents.ts";

const FIRST_PAUSE: Nanos = SECOND;
const LONGEST_PAUSE: Nanos = 5n * MINUTE;

export interface Doomed {
  readonly id: string;
  readonly path: string;
}

export interface EmptyingOptions {
  /** In this order: what reaches outside (leases) before what it is known by (records). */
  readonly contents: readonly NamespaceContents[];
  /** Removes the record. False when something has come in meanwhile. */
  readonly finish: (doomed: Doomed) => Promise<boolean>;
  readonly timers: Timers;
  readonly log: Log;
}

interface Task {
  readonly job: Recurring;
  /** Why the last try failed. */
  trouble: string | null;
}

export class Emptying {
  readonly #options: EmptyingOptions;
  readonly #tasks = new Map<string, Task>(); // by id
  readonly #over = new Set<() => void>();
  #stopped = false;

  constructor(options: EmptyingOptions) {
    this.#options = options;
  }

  /** Begins, or cuts the pause after a failure short. */
  start(doomed: Doomed): void {
    if (this.#stopped) return;
    const running = this.#tasks.get(doomed.id);
    if (running !== undefined) return running.job.wake();
    const { timers, log } = this.#options;
    const { id, path } = doomed;
    const job = new Recurring({
      trouble: "a namespace could not be emptied; it will be tried again",
      about: { id, path },
      run: (isOpen) => this.#run(doomed, task, isOpen),
      pause: { first: FIRST_PAUSE, max: LONGEST_PAUSE },
      timers,
      log,
    });
    const task: Task = { job, trouble: null };
    this.#tasks.set(id, task);
    job.open();
  }

  /** Why it does not get on, if it does not. */
  troubleOf(id: string): string | null {
    return this.#tasks.get(id)?.trouble ?? null;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#over.add(resolve);
      await promise;
    }
  }

  /** Waits for the steps that have begun; nothing follows them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#tasks.values()].map(({ job }) => job.close()));
    this.#tasks.clear();
    this.#tellOver();
  }

  async #run(doomed: Doomed, task: Task, isOpen: () => boolean): Promise<void> {
    try {
      while (isOpen()) if (await this.#empty(doomed, isOpen)) break;
    } catch (error) {
      // Only a Failure is known to hold no secret.
      task.trouble = error instanceof Failure ? describe(error) : "unexpected error";
      throw error;
    }
    if (!isOpen()) return;
    void task.job.close(); // from within: nothing follows this run
    this.#tasks.delete(doomed.id);
    this.#tellOver();
  }

  /** False when it was stopped, or has to begin again. */
  async #empty(doomed: Doomed, isOpen: () => boolean): Promise<boolean> {
    const { contents, finish, timers, log } = this.#options;
    for (const content of contents) {
      while (!(await content.wipe(doomed.id))) {
        await timers.turn();
        if (!isOpen()) return false;
      }
    }
    if (!isOpen() || !(await finish(doomed))) return false;
    log.info("a namespace is deleted", { id: doomed.id, path: doomed.path });
    return true;
  }

  #tellOver(): void {
    for (const tell of this.#over) tell();
    this.#over.clear();
  }
}
