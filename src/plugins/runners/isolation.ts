// Which runner starts plugins that are files: the sandbox where it works, as plugin_isolation says.

import type { Log } from "@holdfast/shared/log";
import { BwrapRunner } from "./bwrap.ts";
import { sandboxMissing } from "./failures.ts";
import { PlainRunner } from "./plain.ts";
import type { Runner } from "./runner.ts";
import type { User, WaysWorld } from "./ways.ts";

export type Isolation = "auto" | "none" | "bwrap";

export interface IsolationParts extends WaysWorld {
  readonly isolation: Isolation;
  readonly user: User | null;
  readonly hidden: readonly string[];
  readonly log: Log;
}

/** Throws a Failure where the sandbox is wanted and does not work. */
export async function chooseRunner(parts: IsolationParts): Promise<Runner> {
  const { isolation, log } = parts;
  if (isolation !== "none") {
    const found = await BwrapRunner.find(parts);
    if (typeof found !== "string") return found;
    if (isolation === "bwrap") throw sandboxMissing(found);
    log.warn(
      "plugins run without a sandbox: they can read whatever the user can that they run as; install bubblewrap, or set plugin_isolation to none to be without this line",
      { cause: found },
    );
  }
  return new PlainRunner(parts);
}
