// The composition root: a process, and the house in it. What they are made of is in two lists, that of the process
// (process.ts) and that of the house (house.ts, rooms.ts), and a table of who gets what.

import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Audit } from "../audit/audit.ts";
import type { Config } from "../config/config.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { HouseLife } from "../house/life.ts";
import type { Mounts } from "../mounts/mounts.ts";
import type { Namespaces } from "../namespaces/namespaces.ts";
import type { Policies } from "../policies/policies.ts";
import type { SealKeeper } from "../seal/keeper.ts";
import type { Store } from "../storage/store.ts";
import type { Tokens } from "../tokens/tokens.ts";
import { type ServerParts, ServerProcess } from "./process.ts";

export { exitCodeOf } from "./foundations.ts";

export interface Server {
  readonly keeper: SealKeeper;
  readonly tokens: Tokens;
  readonly policies: Policies;
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly audit: Audit;
  readonly evidence: Evidence;
  readonly endpoints: readonly Served[];
  /** http(s)://host:port of each listener, as it was bound. */
  readonly addresses: readonly string[];
  readonly store: Store;
  /** Whether the node leads, and the way there and back. */
  readonly life: HouseLife;
  /** Resolves with the cause when the storage fails; never otherwise. */
  readonly failed: Promise<unknown>;
  /** Takes over what can change while the server runs; gives the problems, in words. */
  reload(config: Config): Promise<readonly string[]>;
  /** Takes no more requests, lets running ones end, flushes audit, seals. */
  stop(): Promise<void>;
}

export async function openServer(config: Config, parts: ServerParts): Promise<Server> {
  const host = new ServerProcess(config, parts);
  await host.start();
  const { rooms, endpoints, store, life } = host.house;
  return {
    keeper: rooms.seal.keeper,
    tokens: rooms.tokens.tokens,
    policies: rooms.policies.policies,
    namespaces: rooms.namespaces.namespaces,
    mounts: rooms.mounts.mounts,
    audit: rooms.audit.audit,
    evidence: rooms.evidence.evidence,
    endpoints,
    addresses: host.addresses,
    store,
    life,
    failed: store.failed,
    reload: (next) => host.reload(next),
    stop: () => host.stop(),
  };
}
