// A provider outside the server, for tests of engines: it keeps objects until they are removed, counts
// what was done to it, and fails, waits or lets go at each step as told. With a journal it outlives the
// process that uses it, as a real one does.

import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** Where an engine can be stopped: between any two of its steps. */
export type Step =
  | "issue" // nothing is written yet
  | "recorded" // the write-ahead record is durable, nothing is made
  | "made" // the object is there, its lease is not
  | "renew"
  | "revoke" // the object is still there
  | "revoked" // the object is gone, its lease is not
  | "undo"
  | "undone"
  | "periodic";

/** Why something was done. */
export type Cause = "issue" | "revoke" | "undo";

export interface OutsideEvent {
  readonly did: "made" | "removed" | "missed"; // missed: asked to remove what is not there
  readonly object: string;
  readonly cause: Cause;
}

/** What happens when a step is reached: a throw is the provider's refusal. */
export type Happening = (object: string, signal: AbortSignal | null) => void | Promise<void>;

interface Fault {
  readonly happens: Happening;
  left: number;
}

export class Outside {
  readonly #objects = new Set<string>();
  readonly #events: OutsideEvent[] = [];
  readonly #faults = new Map<Step, Fault[]>();
  readonly #reached = new Map<Step, number>();
  readonly #journal: ((event: OutsideEvent) => void) | null;
  readonly #stuck = new Set<(error: Error) => void>();
  #busy = 0;
  #busiest = 0;

  /** `past` is what an earlier process did here. */
  constructor(
    journal: ((event: OutsideEvent) => void) | null = null,
    past: readonly OutsideEvent[] = [],
  ) {
    this.#journal = journal;
    for (const event of past) this.#note(event);
  }

  /** What is there now. */
  get objects(): readonly string[] {
    return [...this.#objects];
  }

  get events(): readonly OutsideEvent[] {
    return this.#events;
  }

  /** Most removals that ran at the same time. */
  get busiest(): number {
    return this.#busiest;
  }

  has(object: string): boolean {
    return this.#objects.has(object);
  }

  /** Of one object, or of all: how often something was really taken away. */
  removals(object?: string): number {
    return this.#events.filter((event) => {
      return event.did === "removed" && (object === undefined || event.object === object);
    }).length;
  }

  /** How often a step was reached, whatever came of it. */
  reached(step: Step): number {
    return this.#reached.get(step) ?? 0;
  }

  /** Makes the next `times` arrivals at a step fail with what `error` gives. Default: all of them. */
  fail(step: Step, error: (object: string) => Error, times = Infinity): void {
    this.happen(
      step,
      (object) => {
        throw error(object);
      },
      times,
    );
  }

  /** Lets arrivals at a step wait until let go; gives how to let them go. */
  hold(step: Step, times = Infinity): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const fault = this.happen(step, () => Promise.race([promise, this.stuck()]), times);
    return () => {
      fault.left = 0;
      resolve();
    };
  }

  /** Waits until the process that came here has died. */
  stuck(): Promise<void> {
    const { promise, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // whoever waited may have been let go before
    this.#stuck.add(reject);
    return promise;
  }

  /** The process that was using it is gone: what it waited for here never comes, and no fault is left. */
  abandon(): void {
    this.heal();
    for (const reject of this.#stuck) reject(new Error("the process is gone"));
    this.#stuck.clear();
  }

  happen(step: Step, happens: Happening, times = Infinity): { left: number } {
    const fault: Fault = { happens, left: times };
    this.#faults.set(step, [...(this.#faults.get(step) ?? []), fault]);
    return fault;
  }

  /** Everything works again. What waits is let go by who holds it. */
  heal(): void {
    this.#faults.clear();
  }

  /** Called by the engine when it gets there. */
  async reach(step: Step, object: string, signal: AbortSignal | null = null): Promise<void> {
    this.#reached.set(step, this.reached(step) + 1);
    const fault = this.#faults.get(step)?.find(({ left }) => left > 0);
    if (fault === undefined) return;
    fault.left--;
    await fault.happens(object, signal);
  }

  make(object: string): void {
    this.#do({ did: "made", object, cause: "issue" });
  }

  /** What is already gone is no failure. */
  async remove(object: string, cause: "revoke" | "undo", signal: AbortSignal): Promise<void> {
    this.#busiest = Math.max(this.#busiest, ++this.#busy);
    try {
      await this.reach(cause, object, signal);
      this.#do({ did: this.has(object) ? "removed" : "missed", object, cause });
      await this.reach(cause === "revoke" ? "revoked" : "undone", object, signal);
    } finally {
      this.#busy--;
    }
  }

  #do(event: OutsideEvent): void {
    this.#journal?.(event); // first: what is not in the journal has not happened
    this.#note(event);
  }

  #note(event: OutsideEvent): void {
    this.#events.push(event);
    if (event.did === "made") this.#objects.add(event.object);
    if (event.did === "removed") this.#objects.delete(event.object);
  }
}

/** One that outlives its process: a line for each thing that was done. A torn last line never was. */
export function outsideInFile(path: string): Outside {
  const journal = (event: OutsideEvent) => appendFileSync(path, `${JSON.stringify(event)}\n`);
  return new Outside(journal, eventsInFile(path));
}

export function eventsInFile(path: string): OutsideEvent[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as OutsideEvent);
}
