// --dev-replica: further clusters in this process, joined to the first as its disaster-recovery secondary, so that a failover can
// be tried within a minute, as a region that shares its data, or both with one that stands in for each. They are told so by the API, as an
// operator would do it.

import { join } from "node:path";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Timers, World } from "@holdfast/shared/world";
import * as replication from "@holdfast/client/api/replication";
import { type Answer, Client } from "@holdfast/client/client";
import { NodeTransport } from "@holdfast/client/node/node-transport";
import { parseServerAddress } from "@holdfast/client/server-address";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { Config } from "../../config/config.ts";
import { devReplicaFailed, devReplicaTokenless } from "../failures.ts";
import type { DevReplicaKind } from "../flags.ts";
import type { ServerModule, ServerPart, ServerParts } from "../server-part.ts";
import type { DevKeys } from "./dev-mode.ts";

const ID = "replica";
const PATIENCE = 30n * SECOND;
const PACE = 50n * MILLISECOND;
const ROUNDS = 600;
const OPERATIONS = ["promote", "update-primary", "generate-public-key", "recover", "disable"];

export interface DevReplica {
  /** As whom it follows knows it. */
  readonly name: string;
  readonly server: ServerPart;
  /** File with a ticket for its operations; null where it takes ordinary tokens. */
  readonly ticket: string | null;
}

export interface ReplicaParts {
  readonly kind: DevReplicaKind;
  readonly module: Pick<ServerModule, "openServer">;
  readonly server: ServerParts;
  /** In the order in which they are started, each with a directory to itself. */
  readonly clusters: readonly { readonly config: Config; readonly directory: string }[];
  /** PEM, with TLS. */
  readonly authority: string | null;
  readonly world: Pick<World, "fs" | "timers">;
}

/** Whom each follows, by its place among all of them: 0 is the first cluster. */
const PLANS: Readonly<Record<DevReplicaKind, readonly Plan[]>> = {
  dr: [{ name: ID, follows: 0, kind: "dr" }],
  performance: [{ name: ID, follows: 0, kind: "performance" }],
  four: [
    { name: "stand-in-a", follows: 0, kind: "dr" },
    { name: "region-b", follows: 0, kind: "performance" },
    { name: "stand-in-b", follows: 2, kind: "dr" },
  ],
};

interface Plan {
  readonly name: string;
  readonly follows: number;
  readonly kind: ReplicationKind;
}

/** Resolves when all of them stream. */
export async function startDevReplicas(
  primary: ServerPart,
  { rootToken }: DevKeys,
  parts: ReplicaParts,
): Promise<readonly DevReplica[]> {
  if (rootToken === null) throw devReplicaTokenless();
  const servers = [primary];
  const replicas: DevReplica[] = [];
  try {
    for (const [i, plan] of PLANS[parts.kind].entries()) {
      const { config, directory } = parts.clusters[i]!;
      const server = await parts.module.openServer(config, parts.server);
      servers.push(server);
      const ticket = await joined(servers[plan.follows]!, server, rootToken, plan, parts);
      const path = ticket === null ? null : join(directory, "ticket");
      if (path !== null) parts.world.fs.replace(path, utf8(`${ticket}\n`));
      replicas.push({ name: plan.name, server, ticket: path });
    }
    return replicas;
  } catch (error) {
    for (const server of servers.slice(1).toReversed()) await server.stop().catch(() => {});
    throw error;
  }
}

/** An empty cluster follows another one, which has this root token. Gives a ticket for it where it needs one. */
async function joined(
  primary: ServerPart,
  server: ServerPart,
  rootToken: string,
  { name, kind }: Plan,
  parts: ReplicaParts,
): Promise<string | null> {
  const made = await server.keeper.init({ secretShares: 1, secretThreshold: 1 });
  const [key = ""] = made.keysBase64.reveal();
  await server.keeper.unseal({ key });
  const tokens = [rootToken, made.rootToken?.reveal() ?? ""] as const;
  if (kind === "dr") return await paired(primary, server, tokens, name, parts);
  await shared(primary, server, tokens, name, parts);
  return null;
}

/** Gives a ticket for operations on the secondary. */
async function paired(
  primary: ServerPart,
  secondary: ServerPart,
  [rootToken, own]: readonly [string, string],
  id: string,
  { authority, world }: ReplicaParts,
): Promise<string> {
  const { timers } = world;
  const a = clientOf(primary, rootToken, authority, timers);
  const b = clientOf(secondary, own, authority, timers);
  try {
    await replication.enableDrPrimary(a);
    const { data: key } = await replication.generateDrPublicKey(b);
    const { data: made } = await replication.makeDrSecondaryToken(a, { id, ...key });
    await replication.enableDrSecondary(b, { token: made.token ?? "" });
    await streaming(() => replication.readDrStatus(b, {}, { accept: [503] }), timers);
    const wanted = { operations: OPERATIONS, ttl: "24h" };
    return (await replication.drOperatorTicket(a, wanted)).data.ticket;
  } finally {
    a.close();
    b.close();
  }
}

/** The second is another region, which serves when this resolves. */
async function shared(
  primary: ServerPart,
  secondary: ServerPart,
  [rootToken, own]: readonly [string, string],
  id: string,
  { authority, world: { timers } }: ReplicaParts,
): Promise<void> {
  const a = clientOf(primary, rootToken, authority, timers);
  const b = clientOf(secondary, own, authority, timers);
  try {
    await replication.enablePerformancePrimary(a);
    const { data: key } = await replication.generatePerformancePublicKey(b);
    const { data: made } = await replication.makePerformanceSecondaryToken(a, { id, ...key });
    await replication.enablePerformanceSecondary(b, { token: made.token ?? "" });
    const status = () => replication.readPerformanceStatus(b, {}, { accept: [503] });
    await streaming(status, timers, servesNow);
  } finally {
    a.close();
    b.close();
  }
}

/** Everything was copied, and the rooms are open with it. */
function servesNow({ promotable_reasons: reasons }: JsonObject): boolean {
  const found: readonly unknown[] = Array.isArray(reasons) ? reasons : [];
  return !found.includes("copied") && !found.includes("alone");
}

async function streaming(
  ask: () => Promise<Answer<JsonObject>>,
  timers: Timers,
  isReady: (status: JsonObject) => boolean = () => true,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const { status, data } = await ask();
    if (status === 200 && data["state"] === "stream-wals" && isReady(data)) return;
    await new Promise<void>((resolve) => void timers.after(PACE, resolve));
  }
  throw devReplicaFailed();
}

function clientOf(
  { addresses }: ServerPart,
  token: string,
  ca: string | null,
  timers: Timers,
): Client {
  const tls = { ca, certificate: null, key: null, serverName: null, skipVerify: false };
  const address = parseServerAddress(addresses[0] ?? "");
  const transport = new NodeTransport({ address, tls, timeout: PATIENCE, timers });
  return new Client({ transport, token: new Secret(token), namespace: "", region: "" });
}
