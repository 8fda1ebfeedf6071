// A server that is up, until it stops: by a signal, or because its storage failed. Reloads and dumps
// on the way.

import { describe } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { ServerPart } from "./server-part.ts";
import type { Signals } from "./signals.ts";

// After running requests had their time: flushing audit and sealing.
const SEALING: Nanos = 10n * SECOND;
// The storage is gone: nothing can be saved any more, and every second is one of false hope.
const AFTER_FAILURE: Nanos = SECOND;

export interface Serving {
  readonly signals: Signals;
  readonly timers: Timers;
  readonly log: Log;
  /** As configured now. */
  readonly shutdownTimeout: () => Nanos;
  readonly reload: () => void;
  readonly dump: () => void;
}

/** Gives the exit code. */
export async function serve(server: ServerPart, serving: Serving): Promise<number> {
  const { signals, timers, log } = serving;
  signals.serve({ reload: serving.reload, dump: serving.dump });

  const failed = server.failed.then((cause) => ({ cause }));
  const end = await Promise.race([signals.stop, failed]);
  if (typeof end !== "string") {
    log.error("the storage failed; sealing and ending", { cause: describe(end.cause) });
    await within(AFTER_FAILURE, server.stop(), timers).catch(() => false);
    return 1;
  }
  log.info("stopping", { signal: end });
  try {
    const limit = serving.shutdownTimeout() + SEALING;
    if (await within(limit, server.stop(), timers)) {
      log.info("stopped");
      return 0;
    }
    log.error("could not stop in time; ending without having sealed in good order");
  } catch (error) {
    log.error("could not stop in good order", { cause: describe(error) });
  }
  return 1;
}

/** Whether it was done in time. */
async function within(limit: Nanos, work: Promise<void>, timers: Timers): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = timers.after(limit, () => late.resolve(false));
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    timer.cancel();
  }
}
