// Two clusters whose engines make things outside, on time that a test moves, with real TLS between their cluster ports.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { nextTurn } from "../fake-world.ts";
import { type Answer, at } from "../http-client.ts";
import { ServerTime } from "../servers/server-time.ts";
import { countingEngine } from "../stores/counting-engine.ts";
import { Outside } from "../stores/outside.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  rejoined,
  startPrimary,
} from "./clusters.ts";

/** Of the event loop, in each step of time: what is under way on real sockets gets on. */
const TURNS = 60;

export class OutsideSite {
  /** From the time of the machine on: TLS looks at the dates of certificates by that. */
  readonly time = new ServerTime(BigInt(Date.now()) * 1_000_000n);
  readonly outside = new Outside();
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  options(more: ClusterOptions = {}): ClusterOptions {
    return {
      world: { clock: this.time.clock, timers: this.time },
      engineTypes: [anyEngine(countingEngine(this.outside))],
      ...more,
    };
  }

  /** With a mount `count` and its role `r`. */
  async primary(more: ClusterOptions = {}): Promise<Cluster> {
    const primary = await startPrimary(this.#t, this.options(more));
    await mountCounting(primary, "count");
    return primary;
  }

  async secondary(primary: Cluster, more: ClusterOptions = {}): Promise<Cluster> {
    const secondary = await joined(this.#t, primary, "site-b", this.options(more));
    await this.inSync(primary, secondary);
    return secondary;
  }

  /** What was written last may wait for time to pass before it leaves. */
  inSync(primary: Cluster, secondary: Cluster): Promise<void> {
    return this.timed(inSync(primary, secondary));
  }

  /** The second takes the place of the first, which has not told it of its last entries. */
  async forced(a: Cluster, b: Cluster): Promise<void> {
    const token = await b.operationToken(a.opened.shares);
    const promoted = await b.dr("secondary/promote", { force: true }, token);
    assert.equal(promoted.status, 200, promoted.text);
    await this.passUntil(async () => (await a.status())["state"] === "fenced");
  }

  /** The first follows the second. */
  async followed(a: Cluster, b: Cluster): Promise<void> {
    const demoted = await this.timed(a.dr("primary/demote"));
    assert.equal(demoted.status, 200, demoted.text);
    await rejoined(b, a, "site-a", a.opened.shares);
    // An attempt may fail and come again: that takes time.
    await this.passUntil(async () => (await a.status())["state"] === "stream-wals");
  }

  /** Lets time pass, in steps, until something holds. */
  async passUntil(holds: () => Promise<boolean> | boolean, step: Nanos = SECOND): Promise<void> {
    for (let i = 0; i < 2000; i++) {
      for (let turns = 0; turns < TURNS; turns++) {
        if (turns % 20 === 0 && (await holds())) return;
        await nextTurn();
      }
      await this.time.passSlowly(step, step);
    }
    assert.fail(`this never came: ${String(holds)}`);
  }

  /** What comes of work that may wait for time to pass. */
  async timed<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const end = () => {
      over = true;
    };
    work.then(end, end);
    await this.passUntil(() => over, SECOND / 10n);
    return work;
  }
}

/** As the token of the first primary says, which all of them know. */
export function ask(cluster: Cluster, token: string, method: string, path: string, body?: object) {
  const sent = body === undefined ? {} : { body };
  return cluster.server.call(method, `/v1/${path}`, { token, ...sent });
}

export async function mountCounting(cluster: Cluster, path: string): Promise<void> {
  const { token } = cluster;
  const mounted = await ask(cluster, token, "POST", `sys/mounts/${path}`, { type: "counting" });
  assert.equal(mounted.status, 204, mounted.text);
  const role = await ask(cluster, token, "POST", `${path}/roles/r`, { ttl: 3600 });
  assert.equal(role.status, 204, role.text);
}

export async function issued(
  cluster: Cluster,
  path = "count/creds/r",
): Promise<{ readonly id: string; readonly object: string }> {
  const answer = await ask(cluster, cluster.token, "GET", path);
  assert.equal(answer.status, 200, answer.text);
  return { id: String(at(answer, "lease_id")), object: String(at(answer, "data", "object")) };
}

/** The leases below a path. */
export async function leasesOf(cluster: Cluster, token: string, path: string): Promise<string[]> {
  const answer: Answer = await ask(cluster, token, "LIST", `sys/leases/lookup/${path}`);
  if (answer.status === 404) return [];
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data", "keys") as string[];
}
