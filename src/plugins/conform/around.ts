// What is around a plugin that is tried: a mount that nobody has, with storage in memory and nobody outside.

import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Log } from "@holdfast/shared/log";
import { HOUR } from "@holdfast/shared/text/duration";
import type { Clock, Random, Timers } from "@holdfast/shared/world";
import type { EngineNeeds, EngineOptions } from "@holdfast/plugin-sdk/engine";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import { MemoryStorage } from "@holdfast/plugin-sdk/testing";

export interface Around {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export function mountFor(
  { clock, timers, random, log }: Around,
  path: string,
  options: EngineOptions,
): EngineNeeds {
  const storage = new MemoryStorage({ clock, random });
  return {
    ...NO_SERVICES,
    storage,
    writeAhead: storage.writeAhead,
    clock,
    timers,
    random,
    log,
    mount: {
      uuid: random.uuid(),
      accessor: `${path.replace(/\W/g, "")}_00000001`,
      namespace: ROOT_NAMESPACE,
      path: () => path,
      defaultTtl: () => 768n * HOUR,
      maxTtl: () => 768n * HOUR,
    },
    options,
  };
}
