// What a caller knows of the leases that it asked for, and what must be true of them and of the objects
// outside once a server that was killed is up again and has had the time to undo what was left behind.

import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import type { OutsideEvent } from "../../tests/support/stores/outside.ts";

/** living: nobody asked for its end. ending: somebody did, or its time is over. ended: acknowledged. */
export type State = "living" | "ending" | "ended";

export interface Known {
  readonly id: string;
  readonly object: string;
  state: State;
  /** How much stood in the journal when its end was acknowledged. */
  endedAt: number;
}

/** The journal of the outside, read on from where it was read to. */
export class OutsideJournal {
  readonly #path: string;
  readonly #objects = new Set<string>();
  readonly #events: OutsideEvent[] = [];
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get events(): readonly OutsideEvent[] {
    this.#read();
    return this.#events;
  }

  /** What is there now. */
  get objects(): ReadonlySet<string> {
    this.#read();
    return this.#objects;
  }

  #read(): void {
    if (!existsSync(this.#path)) return;
    const file = openSync(this.#path, "r");
    const bytes = Buffer.alloc(fstatSync(file).size - this.#offset);
    readSync(file, bytes, 0, bytes.length, this.#offset);
    closeSync(file);
    const end = bytes.lastIndexOf(0x0a) + 1; // a torn last line never was
    this.#offset += end;
    for (const line of bytes.toString("utf8", 0, end).split("\n").slice(0, -1)) {
      const event = JSON.parse(line) as OutsideEvent;
      this.#events.push(event);
      if (event.did === "made") this.#objects.add(event.object);
      if (event.did === "removed") this.#objects.delete(event.object);
    }
  }
}

export class EngineLedger {
  readonly journal: OutsideJournal;
  readonly known = new Map<string, Known>(); // by lease id
  readonly #byObject = new Map<string, Known>();
  readonly #removals = new Map<string, number>(); // with effect, by object
  #checked = 0; // events of the journal

  constructor(journal: OutsideJournal) {
    this.journal = journal;
  }

  issued(id: string, object: string, state: State): void {
    const known = { id, object, state, endedAt: 0 };
    this.known.set(id, known);
    this.#byObject.set(object, known);
  }

  ended(known: Known): void {
    known.state = "ended";
    known.endedAt = this.journal.events.length;
  }

  of(state: State): Known[] {
    return [...this.known.values()].filter((known) => known.state === state);
  }

  /** What is not over yet, in words; null when nothing is left to be done. */
  unsettled(leases: ReadonlySet<string>): string | null {
    const { objects } = this.journal;
    const waiting = this.of("ending").filter(
      (one) => leases.has(one.id) || objects.has(one.object),
    );
    if (waiting.length > 0) return `${waiting.length} leases whose end is due are still there`;
    if (objects.size === leases.size) return null;
    return `${objects.size} objects are outside, but there are ${leases.size} leases`;
  }

  /** What must never be, in words. To be asked once everything is settled. */
  wrong(leases: ReadonlySet<string>): string[] {
    const { objects } = this.journal;
    const wrong: string[] = [];
    for (const { id, object, state } of this.known.values()) {
      if (state === "living" && !leases.has(id)) wrong.push(`the lease ${id} is lost`);
      if (state === "living" && !objects.has(object)) wrong.push(`the object of ${id} is gone`);
      if (state !== "living" && leases.has(id)) wrong.push(`the lease ${id} is there again`);
    }
    return [...wrong, ...this.#wrongEvents()];
  }

  /** What has ended for good is no longer watched. */
  forgetEnded(): void {
    for (const known of this.known.values()) {
      if (known.state === "living") continue;
      if (known.state === "ending") this.ended(known);
      this.known.delete(known.id); // but what is done to its object still is
    }
  }

  /** Objects that no known lease stands for; there are none once the unknown ones are ended. */
  strays(): number {
    const leased = (object: string) => this.#byObject.get(object)?.state === "living";
    return [...this.journal.objects].filter((object) => !leased(object)).length;
  }

  #wrongEvents(): string[] {
    const wrong: string[] = [];
    for (const [i, { did, object, cause }] of this.journal.events.entries()) {
      if (i < this.#checked) continue;
      const known = this.#byObject.get(object);
      if (cause === "undo" && known !== undefined) wrong.push(`${object} was undone, with a lease`);
      if (did === "made") continue;
      if (known?.state === "ended" && i >= known.endedAt) {
        wrong.push(`${object} was revoked again after its end was acknowledged`);
      }
      if (did !== "removed") continue;
      const removals = (this.#removals.get(object) ?? 0) + 1;
      this.#removals.set(object, removals);
      if (removals > 1) wrong.push(`${object} was removed ${removals} times`);
    }
    this.#checked = this.journal.events.length;
    return wrong;
  }
}
