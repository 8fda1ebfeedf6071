// What others of the set have brought of things outside, at whoever leads: how much was taken over, and how much nobody here
// can end. That is told for a while, so that somebody looks.

import { createHash } from "node:crypto";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import { DAY } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
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
  get counts(): { readonly adopted: number; readonly left: number } {
    const note = this.#note;
    const isOld = note === null || this.#options.clock.now() - BigInt(note.since) >= KEPT_FOR;
    return isOld ? { adopted: 0, left: 0 } : { adopted: note.adopted, left: note.left };
  }

  /** Durable when it resolves. Brought again, the same rows change nothing. */
  async take(rows: readonly BroughtRow[], from: string): Promise<Adoption> {
    const { outside, view, log } = this.#options;
    const done = await outside.adopt(rows);
    const last = digestOf(rows, from);
    const isAgain = this.#note?.last === last;
    const { adopted } = done;
    const left = isAgain ? 0 : done.left;
    const before = this.counts;
    const note = {
      adopted: before.adopted + adopted,
      left: before.left + left,
      since: String(this.#options.clock.now()),
      last,
    };
    if (adopted + left > 0) {
      await view.write((tx) => tx.put(NOTE, note, noteCodec), { essential: true });
      this.#note = note;
    }
    const fields = { event: "replication.orphans", from, adopted, known: done.known, left };
    if (left > 0) log.error("things outside that nobody here can end were handed over", fields);
    else if (adopted > 0) log.warn("took over what another cluster has made outside", fields);
    return done;
  }
}

function digestOf(rows: readonly BroughtRow[], from: string): string {
  const hash = createHash("sha256").update(from);
  for (const { key } of rows) hash.update(`\0${key}`);
  return hash.digest("hex");
}
