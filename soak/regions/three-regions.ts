// Three regions in this process, with real TLS between their cluster ports: the first writes what is shared, and the others come to it
// by a way that can be cut.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Nanos, Timer, World } from "@holdfast/shared/world";
import { SystemTimers } from "../../src/system/timers.ts";
import { type Answer, at } from "../../tests/support/http-client.ts";
import { type Cluster, ShiftedClock } from "../../tests/support/replication/clusters.ts";
import {
  joinedRegion,
  regionInSync,
  startPerformancePrimary,
} from "../../tests/support/replication/performance.ts";
import { freePort, TcpProxy } from "../../tests/support/replication/tcp-proxy.ts";
import type { TestServerOptions } from "../../tests/support/servers/test-server.ts";

const MILLISECOND: Nanos = 1_000_000n;

/** A known bug: whoever has failed comes again much later. */
export class LateTimers extends SystemTimers {
  override after(delay: Nanos, call: () => void): Timer {
    const isPause = delay >= 700n * MILLISECOND && delay <= 4000n * MILLISECOND;
    return super.after(isPause ? 8n * delay : delay, call);
  }
}

export interface ThreeRegions {
  readonly a: Cluster;
  readonly others: readonly Cluster[];
  readonly all: readonly Cluster[];
  readonly way: TcpProxy;
  /** A management token of all regions. */
  readonly root: string;
  /** The wall of all of them. */
  readonly clock: ShiftedClock;
}

export async function threeRegions(
  t: TestContext,
  {
    names = ["b", "c"],
    world = {},
    server = {},
    members = {},
  }: {
    readonly names?: readonly string[];
    /** Of those that follow. */
    readonly world?: Partial<World>;
    readonly server?: TestServerOptions;
    /** Of those that follow, in its place. */
    readonly members?: TestServerOptions;
  } = {},
): Promise<ThreeRegions> {
  const clock = new ShiftedClock();
  const clusterPort = await freePort();
  const way = await TcpProxy.before(t, clusterPort);
  const address = `https://127.0.0.1:${way.port}`;
  const options = { ...server, world: { clock, ...server.world } };
  const a = await startPerformancePrimary(t, { ...options, clusterPort, address });
  const others: Cluster[] = [];
  for (const name of names) {
    const own = { ...options, ...members, world: { ...options.world, ...world } };
    const one = await joinedRegion(t, a, name, own);
    await regionInSync(a, one);
    others.push(one);
  }
  return { a, others, all: [a, ...others], way, root: a.token, clock };
}

export interface MadeToken {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
}

export function createToken(
  { server }: Cluster,
  token: string,
  fields: { readonly Name: string; readonly Global: boolean; readonly ExpirationTTL?: string },
): Promise<Answer> {
  const body = { Type: "client", Policies: ["p"], ...fields };
  return server.call("POST", "/v1/acl/token", { token, body });
}

export function madeToken(answer: Answer): MadeToken {
  assert.equal(answer.status, 200, answer.text);
  const text = (name: string) => String(at(answer, name));
  return { id: text("AccessorID"), secret: text("SecretID"), name: text("Name") };
}

export async function isGood({ server }: Cluster, { secret }: MadeToken): Promise<boolean> {
  const { status, text } = await server.call("GET", "/v1/acl/token/self", { token: secret });
  assert.ok(status === 200 || status === 403, text);
  return status === 200;
}
