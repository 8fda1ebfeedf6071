// The composition root: a process, and the house in it. What they are made of is in two lists, that of the process
// (process.ts) and that of the house (house.ts, rooms.ts), and a table of who gets what.

import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Attention } from "../attention/attention.ts";
import type { Audit } from "../audit/audit.ts";
import type { Barrier } from "../barrier/barrier.ts";
import type { Config } from "../config/config.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { ForwardedRequests } from "../forwarding/answering.ts";
import type { Followers } from "../barrier/followers.ts";
import type { HouseLife } from "../house/life.ts";
import type { Mounts } from "../mounts/mounts.ts";
import type { Namespaces } from "../namespaces/namespaces.ts";
import type { PluginsParts } from "../plugins/room.ts";
import type { Policies } from "../policies/policies.ts";
import type { SealKeeper } from "../seal/keeper.ts";
import type { Operations } from "../replication/operations/operations.ts";
import type { Replication } from "../replication/replication.ts";
import type { Store } from "../storage/store.ts";
import type { Tokens } from "../tokens/tokens.ts";
import type { Replacement } from "./house-exchange.ts";
import { type ServerParts, ServerProcess } from "./process.ts";

export { exitCodeOf } from "./foundations.ts";

/** What is named of the house is that of the house there is now: it may be exchanged. */
export interface Server {
  readonly keeper: SealKeeper;
  readonly tokens: Tokens;
  readonly policies: Policies;
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly audit: Audit;
  readonly evidence: Evidence;
  readonly plugins: PluginsParts;
  readonly attention: Attention;
  readonly endpoints: readonly Served[];
  /** http(s)://host:port of each listener, as it was bound. */
  readonly addresses: readonly string[];
  /** Of disaster recovery, and of the other kind. */
  readonly replication: Replication;
  readonly performance: Replication;
  readonly operations: Operations;
  readonly store: Store;
  readonly barrier: Barrier;
  /** Whether the node leads, and the way there and back. */
  readonly life: HouseLife;
  /** Stores shared rows of another cluster, with what follows from them. */
  readonly followers: Followers;
  /** Requests that a secondary sends on. */
  readonly forwarded: ForwardedRequests;
  /** Resolves with the cause when the storage fails; never otherwise. */
  readonly failed: Promise<unknown>;
  /** Puts other data in the place of the house's, while listeners stay. */
  exchange(replacement: Replacement): Promise<void>;
  /** Takes over what can change while the server runs; gives the problems, in words. */
  reload(config: Config): Promise<readonly string[]>;
  /** Takes no more requests, lets running ones end, flushes audit, seals. */
  stop(): Promise<void>;
}

export async function openServer(config: Config, parts: ServerParts): Promise<Server> {
  const host = new ServerProcess(config, parts);
  await host.start();
  const now = () => host.house;
  return {
    get keeper() {
      return now().rooms.seal.keeper;
    },
    get tokens() {
      return now().rooms.tokens.tokens;
    },
    get policies() {
      return now().rooms.policies.policies;
    },
    get namespaces() {
      return now().rooms.namespaces.namespaces;
    },
    get mounts() {
      return now().rooms.mounts.mounts;
    },
    get audit() {
      return now().rooms.audit.audit;
    },
    get plugins() {
      return now().rooms.plugins;
    },
    get evidence() {
      return now().rooms.evidence.evidence;
    },
    get attention() {
      return now().rooms.attention.attention;
    },
    get endpoints() {
      return now().endpoints;
    },
    get store() {
      return now().store;
    },
    get barrier() {
      return now().barrier;
    },
    get replication() {
      return now().rooms.replication.replication;
    },
    get performance() {
      return now().rooms.replication.performance;
    },
    get operations() {
      return now().rooms.replication.operations;
    },
    get life() {
      return now().life;
    },
    get forwarded() {
      return now().forwarded;
    },
    get followers() {
      return now().followers;
    },
    addresses: host.addresses,
    failed: host.failed,
    exchange: (replacement) => host.exchange(replacement),
    reload: (next) => host.reload(next),
    stop: () => host.stop(),
  };
}
