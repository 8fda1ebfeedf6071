// The dump that SIGUSR2 asks for: what an operator needs to see of a process that behaves oddly. Fixed
// facts only, so that no secret can get in: no configuration values, no environment, no request data.

import { showDuration } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Nanos } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import type { Host } from "./host.ts";
import type { ServerPart } from "./server-part.ts";

export interface Facts {
  readonly server: ServerPart;
  readonly config: Config;
  readonly host: Host;
  readonly version: string;
  readonly uptime: Nanos;
}

export function dump(log: Log, { server, config, host, version, uptime }: Facts): void {
  const { rss, heapUsed, external, resources } = host.measures();
  const { sealed, initialized, type, t, n, progress, storageType } = server.keeper.status();
  log.info("dump: process", {
    version,
    runtime: host.runtime.version,
    pid: host.pid,
    uptime: showDuration(uptime),
  });
  log.info("dump: memory", { rss, heap_used: heapUsed, external });
  log.info("dump: event loop", resources);
  log.info("dump: seal", { initialized, sealed, type, threshold: t, shares: n, progress });
  log.info("dump: storage", { type: storageType, cache_bytes: config.cacheBytes });
  for (const address of server.addresses) log.info("dump: listener", { address });
  log.info("dump: audit", { declared_devices: config.audit.devices.length });
}
