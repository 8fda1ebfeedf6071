// The real surroundings of `holdfast server`.

import { SystemClock } from "../system/clock.ts";
import { SystemFs } from "../system/fs.ts";
import { SystemNet } from "../system/net.ts";
import { SystemRandom } from "../system/random.ts";
import { SystemTimers } from "../system/timers.ts";
import type { Environment } from "../config/substitution.ts";
import { sealIntrinsics } from "./intrinsics.ts";
import { runServer } from "./server-command.ts";
import { SystemHost } from "./system-host.ts";

export function runDaemon(args: readonly string[], env: Environment): Promise<number> {
  sealIntrinsics();
  const random = new SystemRandom();
  const world = {
    clock: new SystemClock(),
    timers: new SystemTimers(),
    random,
    fs: new SystemFs(random),
    net: new SystemNet(),
  };
  const load = () => import("../server/server.ts");
  return runServer(args, { host: new SystemHost(env), world, load });
}
