// The background work behind DELETE: empties namespaces that are marked as being deleted, then has
// their records removed. It holds nothing that has to survive: the mark is in storage, and whoever
// opens the room after a crash starts it again.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timers } from "@holdfast/shared/world";
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
  readonly done: Promise<void>;
  /** Why the last try failed. */
  trouble: string | null;
  /** Ends the pause after a failure. */
  wake: () => void;
}

export class Emptying {
  readonly #options: EmptyingOptions;
  readonly #tasks = new Map<string, Task>(); // by id
  #stopped = false;

  constructor(options: EmptyingOptions) {
    this.#options = options;
  }

  /** Begins, or cuts the pause after a failure short. */
  start(doomed: Doomed): void {
    if (this.#stopped) return;
    const running = this.#tasks.get(doomed.id);
    if (running !== undefined) return running.wake();
    const { promise, resolve } = Promise.withResolvers<void>();
    const task: Task = { done: promise, trouble: null, wake: () => {} };
    this.#tasks.set(doomed.id, task);
    void this.#run(doomed, task).finally(() => {
      this.#tasks.delete(doomed.id);
      resolve();
    });
  }

  /** Why it does not get on, if it does not. */
  troubleOf(id: string): string | null {
    return this.#tasks.get(id)?.trouble ?? null;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0)
      await Promise.all([...this.#tasks.values()].map(({ done }) => done));
  }

  /** Waits for the steps that have begun; nothing follows them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { wake } of this.#tasks.values()) wake();
    await this.idle();
  }

  async #run(doomed: Doomed, task: Task): Promise<void> {
    let pause = FIRST_PAUSE;
    while (!this.#stopped) {
      try {
        if (await this.#empty(doomed)) return;
      } catch (error) {
        // Only a Failure is known to hold no secret.
        task.trouble = error instanceof Failure ? describe(error) : "unexpected error";
        const { id, path } = doomed;
        this.#options.log.error("a namespace could not be emptied; it will be tried again", {
          id,
          path,
          cause: task.trouble,
        });
        await this.#pause(task, pause);
        pause = pause * 2n < LONGEST_PAUSE ? pause * 2n : LONGEST_PAUSE;
      }
    }
  }

  /** False when it was stopped, or has to begin again. */
  async #empty(doomed: Doomed): Promise<boolean> {
    const { contents, finish, timers, log } = this.#options;
    for (const content of contents) {
      while (!(await content.wipe(doomed.id))) {
        await timers.turn();
        if (this.#stopped) return false;
      }
    }
    if (this.#stopped || !(await finish(doomed))) return false;
    log.info("a namespace is deleted", { id: doomed.id, path: doomed.path });
    return true;
  }

  #pause(task: Task, length: Nanos): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(length, resolve);
    task.wake = () => {
      timer.cancel();
      resolve();
    };
    return promise;
  }
}
