// How often rows are compared before it is given up, and which ends of a stream are ends of the session.

import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { disabledByPrimary, endedByPrimary, protocolBroken, unmended } from "./failures.ts";
import { DISABLED } from "./goodbyes.ts";
import type { LinkParts, Progress, StreamEnd } from "./receiving.ts";

const ROUNDS = 3;

interface Round {
  /** Leaves and sums follow the rows again. */
  readonly mendOwn: () => Promise<void>;
  /** False where what came in the end does not add up. */
  readonly compare: () => Promise<boolean>;
}

/** Once more where what came in the end does not add up, so that no damage that cannot be mended is compared for
 *  ever. A comparison that was cut off does not count. */
export async function inRounds(
  { clock, figures, ports, log }: LinkParts,
  progress: Progress,
  { mendOwn, compare }: Round,
): Promise<void> {
  for (let isWhole = false; !isWhole; progress.rounds++) {
    if (progress.rounds >= ROUNDS) {
      progress.rounds = 0;
      progress.isUnmended = true;
      ports.compared?.(false);
      log.error("the data here differs from the primary's, and cannot be mended", {
        event: "replication.corruption-detected",
      });
      throw unmended();
    }
    // Rows may have come and gone by leaves that were damaged: then sums are wrong that no comparison mends.
    if (progress.rounds > 0) await mendOwn();
    const begun = clock.elapsed();
    isWhole = await compare();
    figures?.compared(Number(clock.elapsed() - begun) / 1e9);
  }
}

/** Throws where the session is over with the stream. */
export function assertGoesOn(
  end: StreamEnd,
): asserts end is Exclude<StreamEnd, { kind: "closed" | "goodbye" | "diverged" }> {
  if (end.kind === "closed") {
    throw new StatusError(Status.unavailable, "the primary has ended the stream");
  }
  if (end.kind === "goodbye") {
    throw end.reason === DISABLED ? disabledByPrimary() : endedByPrimary(end.reason);
  }
  if (end.kind === "diverged") throw protocolBroken("another log than it said");
}
