// What others of the set have brought of things outside, at whoever leads: how much was taken over, and how much nobody here
// can end. That is told for a while, so that somebody looks.

import { createHash } from "node:crypto";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import { DAY } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import type { Adoption, BroughtRow, OutsideRows } from "./orphans.ts";

/** Below core/replication/dr/. */
const NOTE = "adopted";
const KEPT_FOR: Nanos = 30n * DAY;

interface Stored {
  readonly adopted: number;
  readonly left: number;
  readonly since: string; // nanoseconds
  /** Of the rows that came last: whoever has not heard the answer brings them again. */
  readonly last: string;
}

const noteCodec = jsonCodec<Stored>();

export interface AdoptedOrphansOptions {
  readonly view: View;
  readonly outside: OutsideRows;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

export class AdoptedOrphans {
  readonly #options: AdoptedOrphansOptions;
  #note: Stored | null = null;

  constructor(options: AdoptedOrphansOptions) {
    this.#options = options;
  }

  load(): void {
    this.#note = this.#options.view.get(NOTE, noteCodec);
  }

  /** Of the last thirty days. */
  get counts(): Counts {
    return countsOf(this.#note, this.#options.clock.now());
  }

  /** Durable when it resolves. Brought again, the same rows change nothing. */
  async take(rows: readonly BroughtRow[], from: string): Promise<Adoption> {
    const { outside, log } = this.#options;
    const done = await outside.adopt(rows);
    const { adopted } = done;
    const left = adopted + done.left > 0 ? await this.#count(done, digestOf(rows, from)) : 0;
    const fields = { event: "replication.orphans", from, adopted, known: done.known, left };
    if (left > 0) log.error("things outside that nobody here can end were handed over", fields);
    else if (adopted > 0) log.warn("took over what another cluster has made outside", fields);
    return done;
  }

  /** On what is stored: several may come at once. Gives how many of those that are left were not counted before. */
  async #count(done: Adoption, last: string): Promise<number> {
    const { view, clock } = this.#options;
    const now = clock.now();
    const counted = await view.write(
      (tx) => {
        const stored = tx.get(NOTE, noteCodec);
        const left = stored?.last === last ? 0 : done.left;
        if (done.adopted + left === 0) return 0;
        const before = countsOf(stored, now);
        const counts = { adopted: before.adopted + done.adopted, left: before.left + left };
        tx.put(NOTE, { ...counts, since: String(now), last }, noteCodec);
        return left;
      },
      { essential: true },
    );
    this.load();
    return counted;
  }
}

interface Counts {
  readonly adopted: number;
  readonly left: number;
}

function countsOf(note: Stored | null, now: Instant): Counts {
  const isOld = note === null || now - BigInt(note.since) >= KEPT_FOR;
  return isOld ? { adopted: 0, left: 0 } : { adopted: note.adopted, left: note.left };
}

function digestOf(rows: readonly BroughtRow[], from: string): string {
  const hash = createHash("sha256").update(from);
  for (const { key } of rows) hash.update(`\0${key}`);
  return hash.digest("hex");
}
