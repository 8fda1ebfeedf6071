// Shared rows of another cluster on their way into the store: each step is one transaction, with what follows from its rows and the place
// after it. Steps are on their way together, so that they are one write to the disk; none is taken unless the one before it was.

import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { PeerLink } from "../../cluster/peer-link.ts";
import { Slices } from "../../storage/commit/slices.ts";
import type { LogOperation } from "../../storage/rows/log-entry.ts";
import type { WriteOptions } from "../../storage/writing.ts";
import type { AppliedParts } from "./applied-log.ts";
import { type AppliedPlace, isSamePlace } from "./applied-place.ts";
import { keysMissing } from "../stream/failures.ts";
import { hasCode, patiently, type Progress } from "../stream/receiving.ts";

export interface AppliedStep {
  readonly operations: readonly Pick<LogOperation, "key" | "value" | "scope">[];
  /** After it. */
  readonly place: AppliedPlace;
}

interface Way {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly link: PeerLink;
}

export class AppliedWrites {
  readonly #parts: AppliedParts;
  #place: AppliedPlace | null | undefined = undefined; // not read yet
  #lastPart = 0;

  constructor(parts: AppliedParts) {
    this.#parts = parts;
  }

  /** What is durable; null where nothing was applied yet. */
  get place(): AppliedPlace | null {
    if (this.#place === undefined && !this.#parts.store.locked) {
      this.#place = this.#parts.places.read();
    }
    return this.#place ?? null;
  }

  /** Resolves when all are durable. Where one is refused so are those after it, and those before it stay. */
  async write(steps: readonly AppliedStep[], { progress, signal, link }: Way): Promise<void> {
    let left = steps;
    const attempt = async () => {
      for (;;) {
        const { count, error } = await this.#attempt(left);
        left = left.slice(count);
        if (error === null) return;
        const [next] = left;
        const isLarge = hasCode(error, "storage-transaction-too-large");
        if (!isLarge || next!.operations.length < 2) throw error;
        left = [...this.#halves(next!), ...left.slice(1)];
      }
    };
    const { timers, ports } = this.#parts;
    try {
      await patiently({ timers, progress }, signal, attempt);
    } catch (error) {
      if (!hasCode(error, "barrier-key-missing")) throw error;
      await ports.keys(link);
      try {
        await patiently({ timers, progress }, signal, attempt);
      } catch (again) {
        throw hasCode(again, "barrier-key-missing") ? keysMissing(left[0]!.place.index) : again;
      }
    }
  }

  /** What follows from an entry may be more than its primary had to take at once. No two parts lead to the same place: otherwise one would
   *  be taken where the one before it was refused. */
  #halves({ operations, place }: AppliedStep): AppliedStep[] {
    const before = this.place!;
    this.#lastPart = Math.max(this.#lastPart, before.part) + 1;
    const middle = Math.ceil(operations.length / 2);
    return [
      {
        operations: operations.slice(0, middle),
        place: { ...before, half: before.half ?? { kind: "entry" }, part: this.#lastPart },
      },
      { operations: operations.slice(middle), place },
    ];
  }

  async #attempt(steps: readonly AppliedStep[]): Promise<{ count: number; error: unknown }> {
    const { store, places, followers } = this.#parts;
    const slices = new Slices(this.#parts); // others have their turn
    const writes: Promise<void>[] = [];
    let before = this.place;
    for (const { operations, place } of steps) {
      const expected = before;
      before = place;
      const write = store.writeApplied((tx) => {
        if (!isSamePlace(places.readIn(tx), expected)) throw notNext();
        for (const operation of operations) followers.apply(tx, operation);
        places.put(tx, place, expected);
      }, roomFor({ operations, place }));
      write.catch(() => {}); // looked at below
      writes.push(write);
      await slices.pause();
    }
    const results = await Promise.allSettled(writes);
    const failed = results.findIndex(({ status }) => status === "rejected");
    const count = failed < 0 ? steps.length : failed;
    if (count > 0) this.#place = steps[count - 1]!.place;
    const error = failed < 0 ? null : (results[failed] as PromiseRejectedResult).reason;
    return { count, error };
  }
}

/** What revokes is taken for as long as own revocations are, also the place after it, and where nothing is to be written. Of anything else the
 *  upper half of the reserve: revocations come behind it. */
function roomFor({ operations, place }: AppliedStep): WriteOptions {
  const onlyDeletes = place.half === null && operations.every(({ value }) => value === null);
  return onlyDeletes ? { essential: true } : { deletion: true };
}

function notNext(): StatusError {
  return new StatusError(Status.aborted, "what comes before it was not applied");
}
