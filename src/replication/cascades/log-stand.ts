// Which of those that stand in for one another a cluster is, by its log: each begins another epoch of it.

import type { Standing } from "../../cluster/hello.ts";
import type { Store } from "../../storage/store.ts";

/** What a hello says of it, where the log here is no other cluster's. */
export function logStand({
  timeline,
}: Pick<Store, "timeline">): Pick<Standing, "logEpoch" | "logFirst"> {
  const last = timeline?.epochs.at(-1);
  return last === undefined
    ? { logEpoch: 0, logFirst: "" }
    : { logEpoch: last.epoch, logFirst: last.first };
}
