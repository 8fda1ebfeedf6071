// Work on a mount that goes on after the answer: disabling it, moving it. It holds nothing that has to
// survive: the mark is in the mount's record, and whoever opens the room after a crash begins it again.

import { Failure } from "@holdfast/shared/failure";
import { mountJobFailed } from "./failures.ts";

export interface Job {
  readonly done: Promise<void>;
  /** Leases that are still to be revoked; null before they were counted. */
  left: number | null;
  /** Why it ended before its end. */
  failure: Failure | null;
  /** It was cut off by a seal, and goes on after the next unseal. */
  cutOff: boolean;
  running: boolean;
}

export type Work = (signal: AbortSignal, progress: (left: number) => void) => Promise<void>;

export class Jobs {
  readonly #jobs = new Map<string, Job>(); // by uuid; a failed one stays, to be told of
  #stop = new AbortController();

  of(uuid: string): Job | null {
    return this.#jobs.get(uuid) ?? null;
  }

  /** Begins, unless it is under way. */
  start(uuid: string, work: Work): Job {
    const before = this.#jobs.get(uuid);
    if (before?.running === true) return before;
    const { promise, resolve } = Promise.withResolvers<void>();
    const job: Job = { done: promise, left: null, failure: null, cutOff: false, running: true };
    this.#jobs.set(uuid, job);
    const { signal } = this.#stop;
    void work(signal, (left) => (job.left = left))
      .then(
        () => this.#jobs.delete(uuid),
        (error: unknown) => {
          job.failure = failureOf(error);
          job.cutOff = signal.aborted;
        },
      )
      .finally(() => {
        job.running = false;
        resolve();
      });
    return job;
  }

  open(): void {
    this.#stop = new AbortController();
  }

  /** Waits for the steps that have begun; nothing follows them. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
    this.#jobs.clear();
  }
}

/** Only a Failure is known to hold no secret. */
function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return mountJobFailed("unexpected error", { cause: error });
}
