// What the engines of plugins are told of the server around them.

import { createHmac, type KeyObject } from "node:crypto";
import { deriveKey } from "../../crypto/aead.ts";
import type { ForeignHost } from "../../plugins/foreign/host.ts";
import { storedCluster } from "../../seal/status.ts";
import type { DrMode, Ground } from "../ground.ts";
import type { Rooms } from "../rooms.ts";

const STAMPS = "stamps of tokens for plugins";
const STAMP_BYTES = 20;
/** An answer may be so many times as long as a request: as with servers whose plugins run here. */
const ANSWER = 4;

export interface Modes {
  readonly dr: () => DrMode;
  readonly performance: () => DrMode;
}

export function pluginHost(
  rooms: Rooms,
  { host, barrier, views }: Ground,
  { dr, performance }: Modes,
): Omit<ForeignHost, "processes" | "own"> {
  const keys = new WeakMap<KeyObject, KeyObject>();
  const stampKey = () => {
    const { treeKey } = barrier.handOver();
    let key = keys.get(treeKey);
    if (key === undefined) keys.set(treeKey, (key = deriveKey(treeKey, STAMPS)));
    return key;
  };
  return {
    server: { version: host.version, buildDate: host.buildDate },
    cluster: () => storedCluster(views.node),
    replication: () => bitsOf(dr(), performance()),
    leads: () => rooms.mounts.mounts.leads,
    mountState: (uuid) => {
      const record = rooms.mounts.mounts.recordOf(uuid);
      const tainted = record !== null && record.state.kind !== "active";
      return { local: record?.local ?? false, tainted };
    },
    stamp: (mount, accessor) =>
      createHmac("sha256", stampKey())
        .update(`${mount} ${accessor}`)
        .digest()
        .subarray(0, STAMP_BYTES)
        .toString("hex"),
    declare: (type, metrics) => host.instruments.engines.declare([{ type, metrics }]),
    maxAnswer: ANSWER * Math.max(...host.config.listeners.map((one) => one.maxRequestBytes)),
  };
}

/** As others number them. */
function bitsOf(dr: DrMode, performance: DrMode): number {
  const ofPerformance = { primary: 32, secondary: 64, disabled: 4096 } as const;
  const ofDr = { primary: 256, secondary: 512, disabled: 8192 } as const;
  return ofPerformance[performance] | ofDr[dr];
}
