// Clusters whose data outlives their servers. Power fails at whichever commit a test says, and each begins again with what
// lies on its disk, at the same cluster port.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { EngineError } from "../../../src/storage/engines/engine.ts";
import type { NextGeneration } from "../../../src/storage/generations/generations.ts";
import { startServer, type TestServerOptions } from "../servers/test-server.ts";
import { KeptGenerations } from "../stores/kept-generations.ts";
import { at } from "../http-client.ts";
import { until } from "../until.ts";
import { Cluster, inSync } from "./clusters.ts";
import { HURRIED } from "./hurried-world.ts";
import { freePort } from "./tcp-proxy.ts";

/** That other data is taken into use counts as a commit. */
class CountedGenerations extends KeptGenerations {
  override async begin(): Promise<NextGeneration> {
    const next = await super.begin();
    const takeIntoUse = async () => {
      if (this.left-- <= 0) throw new EngineError("no power to take other data into use");
      await next.takeIntoUse();
    };
    return { ...next, takeIntoUse };
  }
}

export class KeptCluster {
  readonly #generations = new CountedGenerations();
  readonly #port: number;
  #now: Cluster | null = null;
  /** What unseals it, and its root token: those of its primary once it has joined. */
  opened = { shares: [] as readonly string[], token: "" };

  readonly #settings: TestServerOptions["settings"];

  private constructor(port: number, settings: TestServerOptions["settings"]) {
    this.#port = port;
    this.#settings = settings;
  }

  /** Fresh, unsealed. */
  static async start(
    t: TestContext,
    settings: NonNullable<TestServerOptions["settings"]> = {},
  ): Promise<KeptCluster> {
    const kept = new KeptCluster(await freePort(), settings);
    t.after(() => kept.fail());
    const server = await kept.#begin();
    kept.opened = await server.open();
    kept.#now = new Cluster(server, kept.opened);
    return kept;
  }

  get now(): Cluster {
    assert.ok(this.#now !== null, "it has no power");
    return this.#now;
  }

  get token(): string {
    return this.opened.token;
  }

  /** Commits until the power fails. */
  set left(commits: number) {
    this.#generations.left = commits;
  }

  get left(): number {
    return this.#generations.left;
  }

  /** At once: nothing is written any more. */
  async fail(): Promise<void> {
    const gone = this.#now;
    this.#now = null;
    this.#generations.left = 0;
    await gone?.server.stop().catch(() => {});
  }

  /** It begins with what lies on the disk. Whether these shares have unsealed it. */
  async begin(shares = this.opened.shares): Promise<boolean> {
    this.#generations.left = Infinity;
    const server = await this.#begin();
    this.#now = new Cluster(server, this.opened);
    for (const key of shares) {
      const answer = await server.call("POST", "/v1/sys/unseal", { body: { key } });
      if (answer.status !== 200) return false;
    }
    return !server.server.keeper.sealed;
  }

  /** What it gives puts the disk back as it is now; the cluster has no power then. */
  saved(): () => Promise<void> {
    const { opened } = this;
    const back = this.#generations.saved();
    return async () => {
      await this.fail();
      back();
      this.opened = opened;
    };
  }

  #begin() {
    const clusterPort = { host: "127.0.0.1", port: this.#port };
    return startServer({
      generations: this.#generations,
      world: HURRIED,
      settings: this.#settings ?? {},
      config: (config) => ({ ...config, clusterPort }),
    });
  }
}

export interface Pair {
  readonly a: KeptCluster;
  readonly b: KeptCluster;
}

export async function put(cluster: Cluster, token: string, path: string): Promise<number> {
  const body = { data: { n: "1" } };
  return (await cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body })).status;
}

export async function must(answering: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await answering;
  assert.ok(status < 300, text);
}

export async function primaryIn(t: TestContext): Promise<KeptCluster> {
  const a = await KeptCluster.start(t);
  const { token } = a;
  const body = { type: "kv", options: { version: "2" } };
  await must(a.now.server.call("POST", "/v1/sys/mounts/secret", { token, body }));
  await must(a.now.dr("primary/enable"));
  assert.equal(await put(a.now, token, "before"), 200);
  return a;
}

export async function tokenFor(primary: Cluster, root: string, key: unknown, id: string) {
  const body = { id, secondary_public_key: key };
  const made = await primary.dr("primary/secondary-token", body, root);
  assert.equal(made.status, 200, made.text);
  return String(at(made, "data", "token"));
}

/** A primary and a cluster with a token for it. */
export async function acquainted(t: TestContext): Promise<Pair & { readonly joining: string }> {
  const a = await primaryIn(t);
  const b = await KeptCluster.start(t);
  const key = await b.now.dr("secondary/generate-public-key");
  const joining = await tokenFor(a.now, a.token, at(key, "data", "secondary_public_key"), "site-b");
  return { a, b, joining };
}

/** A primary and its secondary, equal. */
export async function replicated(t: TestContext): Promise<Pair> {
  const { a, b, joining } = await acquainted(t);
  // Time is short where the machine has none for us.
  await until(async () => (await b.now.dr("secondary/enable", { token: joining })).status === 200);
  b.opened = a.opened;
  await inSync(a.now, b.now);
  return { a, b };
}
