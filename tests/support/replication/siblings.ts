// A primary with two secondaries that know of each other, and what one of them can say to another with its certificates.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  type Answered,
  exchange,
  type Saying as Words,
} from "../../../src/replication/links/fencing.ts";
import {
  putSiblings,
  storedSiblings,
  storedUpstream,
  type Upstream,
} from "../../../src/replication/links/upstream.ts";
import type { Epoch } from "../../../src/replication/roles/role.ts";
import type { Sibling } from "../../../src/replication/stream/messages.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { at } from "../http-client.ts";
import { until } from "../until.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startPrimaryBehind,
} from "./clusters.ts";
import { HURRIED } from "./hurried-world.ts";

export const FORCED = { force: true, address: "" };
export const WORLD = { world: HURRIED };
export const PLAIN = { force: false, address: "" };

export const viewOf = ({ server }: Cluster) => server.server.barrier.view("core/replication/dr/");

/** A primary with two secondaries that know of each other; its way is cut then. */
export async function parted(t: TestContext) {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  await a.put("x", { n: "1" });
  for (const one of [b, c]) {
    await inSync(a, one);
    const isKnown = () => storedSiblings(viewOf(one)).some(({ addresses }) => addresses.length > 0);
    await until(isKnown);
  }
  const made = await a.dr("primary/operator-ticket", { operations: ["promote", "read"] });
  const ticket = String(at(made, "data", "ticket"));
  way.cut();
  for (const one of [b, c]) await until(async () => (await one.status())["state"] === "idle");
  return { a, b, c, way, ticket };
}

interface Saying {
  /** By which certificate; default: that which it has. */
  readonly member?: Pick<
    Upstream["member"],
    "set" | "kind" | "id" | "authority" | "certificate" | "key"
  >;
  /** Whose keys prove it; default: those of who says it. */
  readonly keysOf?: Cluster;
  /** Default: the sibling of who says it, where siblings tell each other. */
  readonly to?: readonly string[];
  /** Default: the first that it knows. */
  readonly sibling?: Sibling;
  /** What is said besides. */
  readonly words?: Words;
}

/** What whoever has the certificate of `by` and says to be `from` is answered. */
export async function answerTo(
  by: Cluster,
  later: Epoch,
  from: string,
  {
    member = storedUpstream(viewOf(by), "dr")?.member,
    keysOf = by,
    to,
    sibling = storedSiblings(viewOf(by))[0],
    words = {},
  }: Saying = {},
): Promise<Answered | null> {
  assert.ok(member !== undefined && sibling !== undefined);
  const { serials } = sibling;
  const beside = { ...member, beside: true, serials } as const;
  const world = {
    ...HURRIED,
    net: new SystemNet(),
    barrier: keysOf.server.server.barrier,
    clusterId: () => from,
    version: "0.1.0",
  };
  const dialled = to === undefined ? beside : member;
  return await exchange(to ?? sibling.addresses, dialled, later, world, words);
}

/** Who leads, by what it is answered. */
export async function saidBy(
  by: Cluster,
  later: Epoch,
  from: string,
  saying: Saying = {},
): Promise<Epoch | null> {
  return (await answerTo(by, later, from, saying))?.leading ?? null;
}

/** Whoever hears it believes it as soon as its primary counts as silent there. */
export async function believed(...said: Parameters<typeof saidBy>): Promise<void> {
  await until(async () => (await saidBy(...said))?.cluster === said[1].cluster);
}

/** How many others it could call. */
export function knownTo(one: Cluster): number {
  return storedSiblings(viewOf(one)).filter(({ addresses }) => addresses.length > 0).length;
}

export async function threeInSync(t: TestContext, options: ClusterOptions = WORLD) {
  const { primary: a, way, clusterPort } = await startPrimaryBehind(t, options);
  const [b, c] = [await joined(t, a, "site-b", options), await joined(t, a, "site-c", options)];
  await inSync(a, b);
  await inSync(a, c);
  for (const one of [b, c]) await until(() => knownTo(one) === 1);
  return { a, b, c, way, clusterPort };
}

/** A cluster that was demoted, and is away since: who is promoted in its place hears nothing from it. */
export async function demotedAway(t: TestContext) {
  const all = await threeInSync(t);
  assert.equal((await all.a.dr("primary/demote", {}, all.a.token)).status, 200);
  all.way.cut();
  return all;
}

/** It knows them, and not where they are. */
export async function losesAddresses(one: Cluster): Promise<void> {
  const siblings = storedSiblings(viewOf(one)).map((each) => ({ ...each, addresses: [] }));
  await viewOf(one).write((tx) => putSiblings(tx, siblings));
}
