// rotate-root by itself, as `rotation_period` or `rotation_schedule` say. How it stands is part of the
// configuration: a restart neither forgets nor repeats it.

import { rotateWhenDue } from "../../cloud/rotation-terms.ts";
import type { CloudA } from "../engine.ts";

/** Once a minute. A failure is logged, and told by reads. */
export async function rotateRootWhenDue({ given, rootConfig, rotation }: CloudA): Promise<void> {
  const root = await rootConfig.read();
  if (root === null) return;
  const { standing } = root;
  const why = await rotateWhenDue({
    terms: root,
    standing,
    now: given.clock.now(),
    rotate: async () => {
      const { warnings } = await rotation.rotate();
      given.log.info("the root key was rotated", { warnings: warnings.join("; ") });
    },
    keep: async (next) => {
      await given.storage.write((tx) => {
        rootConfig.change(tx, root.accessKey, () => ({ standing: next }));
      });
    },
  });
  if (why !== null) given.log.error("the root key could not be rotated", { why });
}
