// Which keys a cluster has, in one word: compared with every heartbeat, so that a secondary fetches what it lacks.

import type { Barrier } from "../../barrier/barrier.ts";

export function keysVersionText(barrier: Pick<Barrier, "keysVersion">): string {
  return Object.values(barrier.keysVersion).join(".");
}
