// A store for rows that need much in it: the product's own server in this process, initialised over its
// API, filled through its own rooms, and stopped in good order at the end.

import { mkdirSync, writeFileSync } from "node:fs";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemFs } from "../../src/system/fs.ts";
import { type LogDial, makeLog } from "@holdfast/shared/log";
import { SystemNet } from "../../src/system/net.ts";
import { SystemRandom } from "../../src/system/random.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { loadConfig } from "../../src/config/load.ts";
import { openServer, type Server } from "../../src/server/server.ts";
import type { Store } from "../../src/storage/store.ts";
import { trimLog } from "../../src/storage/trimming.ts";
import { type Caller, call } from "../api/api-caller.ts";
import { keysFrom } from "./tokens-node.ts";

export interface FillPlace {
  readonly data: string;
  /** Where the key shares and the first token are written to. */
  readonly keys: string;
}

const random = new SystemRandom();
export const world = {
  clock: new SystemClock(),
  timers: new SystemTimers(),
  random,
  fs: new SystemFs(random),
  net: new SystemNet(),
};

/** Where others of a replication set come in, and where they are told to. */
export interface ClusterPlace {
  readonly port: number; // of loopback
  readonly advertised: number;
}

export async function openedServer(data: string, cluster?: ClusterPlace): Promise<Server> {
  const listener = { address: "127.0.0.1:0", tls_disable: true };
  const document = {
    data_dir: data,
    storage: { sqlite: {} },
    listener: {
      tcp: {
        ...listener,
        ...(cluster && { cluster_address: `127.0.0.1:${cluster.port}` }),
      },
    },
    ...(cluster && { cluster_addr: `https://127.0.0.1:${cluster.advertised}` }),
  };
  const { config } = await loadConfig({
    paths: [],
    inline: { name: "fill.json", text: JSON.stringify(document) },
    env: {},
    files: world.fs,
    directory: data,
    hostname: "bench",
  });
  const dial: LogDial = { level: "warn", components: new Map() };
  const write = (line: string) => void process.stderr.write(line);
  const log = makeLog({ level: dial, format: "standard", write, clock: world.clock });
  return await openServer(config, { world, log, dial, version: "0.0.0", buildDate: "2026-01-01" });
}

export async function fillServer(
  { data, keys }: FillPlace,
  fill: (server: Server, owner: Caller) => Promise<void>,
): Promise<void> {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const server = await openedServer(data);
  const stranger = { url: server.addresses[0] ?? "", headers: {} };
  const shares = { secret_shares: 1, secret_threshold: 1 };
  const initial = keysFrom(await call(stranger, "PUT", "sys/init", shares));
  writeFileSync(keys, JSON.stringify(initial), { mode: 0o600 });
  await call(stranger, "PUT", "sys/unseal", { key: initial.keys[0] });
  await fill(server, { ...stranger, headers: { "X-Service-Token": initial.root_token } });
  await trimmed(server.store);
  await server.stop();
}

/**
 * Filling makes entries of megabytes in the log. Servers get no such ones, and removing them when newer
 * ones have come would fall into a row.
 */
export async function trimmed(store: Store): Promise<void> {
  await trimLog(store, world, { minEntries: 0n });
}
