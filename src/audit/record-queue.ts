// What waits for one device, in the order in which it came, bounded in number and in bytes. Where there
// is no room for more bytes a request stands in line with its record unmade, so that it holds no more
// than it does anyway, and is let in as the device gets on.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Attempt } from "./attempt.ts";

const MAX_RECORDS = 16_384;
const MAX_BATCH_BYTES = 1024 * 1024;

export interface QueueOptions {
  readonly device: string;
  readonly log: Log;
  /** A larger record is refused. */
  readonly maxRecordBytes: number;
  /** From here on nothing more is made; the record that goes beyond it may. */
  readonly maxBytes: number;
}

export interface Entry {
  readonly record: string;
  attempt: Attempt | null; // null once it was told
}

interface Unmade {
  make: () => string;
  attempt: Attempt | null; // as above
}

export class RecordQueue {
  readonly #options: QueueOptions;
  #made: Entry[] = [];
  #bytes = 0; // of those
  #line: Unmade[] = [];

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#made.length + this.#line.length;
  }

  /** False when it was refused, and told so. Throws what `make` throws. */
  add(make: () => string, attempt: Attempt): boolean {
    if (this.length >= MAX_RECORDS) {
      attempt.refused();
      return false;
    }
    if (this.#line.length === 0 && this.#bytes < this.#options.maxBytes) {
      return this.#put(make(), attempt);
    }
    const unmade: Unmade = { make, attempt };
    this.#line.push(unmade);
    // Nobody waits for it here any more: holding on to what was answered is what has no bound.
    attempt.whenTaken(() => tellFailed(unmade));
    return true;
  }

  /** What is to go out in one write: of those that still wait, and no more than is written at once. */
  take(): Entry[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#made.length) {
      const { length } = this.#made[count]!.record;
      if (count > 0 && bytes + length > MAX_BATCH_BYTES) break;
      bytes += length;
      count++;
    }
    const batch = count === this.#made.length ? this.#made : this.#made.slice(0, count);
    this.#made = count === this.#made.length ? [] : this.#made.slice(count);
    this.#bytes -= bytes;
    // Whoever was already told of a failure is not made wrong by a late success.
    return batch.filter(({ attempt }) => attempt !== null);
  }

  /** Lets in who stands in line: about as many bytes as were taken out. */
  letIn(): void {
    let count = 0;
    while (count < this.#line.length && this.#bytes < this.#options.maxBytes) {
      const { make, attempt } = this.#line[count++]!;
      if (attempt === null) continue;
      try {
        this.#put(make(), attempt);
      } catch (error) {
        attempt.failed();
        const { device, log } = this.#options;
        log.error("an audit record cannot be made", { device, cause: describe(error) });
      }
    }
    if (count > 0) this.#line = this.#line.slice(count);
  }

  failAll(): void {
    for (const entry of this.#made) tellFailed(entry);
    for (const unmade of this.#line) tellFailed(unmade);
    this.#made = [];
    this.#bytes = 0;
    this.#line = [];
  }

  #put(record: string, attempt: Attempt): boolean {
    if (record.length > this.#options.maxRecordBytes) {
      attempt.failed();
      return false;
    }
    this.#made.push({ record, attempt });
    this.#bytes += record.length;
    return true;
  }
}

function nothing(): string {
  return "";
}

export function tellFailed(entry: Entry | Unmade): void {
  if ("make" in entry) entry.make = nothing; // it may hold a large body
  entry.attempt?.failed();
  entry.attempt = null;
}
