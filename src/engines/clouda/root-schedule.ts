// rotate-root by itself, every `rotation_period` (an extension of cloud-engines 2.2). When it is due next is
// part of the configuration: a restart neither forgets nor repeats it.

import { SECOND } from "../../base/duration.ts";
import { Failure } from "../../base/failure.ts";
import type { Instant } from "../../base/world.ts";
import { ProviderError } from "../cloud/provider-error.ts";
import type { CloudA } from "./engine.ts";
import type { StoredRoot } from "./root-config.ts";

const RETRIED_AFTER = 3600; // seconds: whoever must mend it needs time, and the old key works

type Terms = Pick<StoredRoot, "rotationPeriod" | "disableAutomatedRotation">;

/** In seconds since 1970; null: never. */
export function nextRotation(
  { rotationPeriod, disableAutomatedRotation }: Terms,
  now: Instant,
): number | null {
  if (rotationPeriod === 0 || disableAutomatedRotation) return null;
  return Number(now / SECOND) + rotationPeriod;
}

/** Once a minute. A failure is logged, and told by reads as a date that moves. */
export async function rotateWhenDue({ given, rootConfig, rotation }: CloudA): Promise<void> {
  const root = await rootConfig.read();
  const now = Number(given.clock.now() / SECOND);
  if (root === null || root.nextRotation === null || root.nextRotation > now) return;
  try {
    const { warnings } = await rotation.rotate();
    given.log.info("the root key was rotated", { warnings: warnings.join("; ") });
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
    given.log.error("the root key could not be rotated", { why: error.message });
    const later = now + Math.min(root.rotationPeriod, RETRIED_AFTER);
    await given.storage.write((tx) => {
      rootConfig.change(tx, root.accessKey, () => ({ nextRotation: later }));
    });
  }
}
