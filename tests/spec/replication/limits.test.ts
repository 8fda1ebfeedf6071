// What the storage of a secondary can take: a primary writes nothing larger, and a disk that is nearly full only stops the
// secondary until there is room.

import assert from "node:assert/strict";
import test from "node:test";
import type { StorageEngine } from "../../../src/storage/engines/engine.ts";
import type { Generations, NextGeneration } from "../../../src/storage/generations/generations.ts";
import { MemoryGenerations } from "../../../src/storage/generations/memory-generations.ts";
import {
  inSync,
  joined,
  sealedToken,
  startCluster,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { WatchedEngine } from "../../support/stores/watched-engine.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;

/** A storage that takes less at once than others. */
class SmallGenerations extends MemoryGenerations implements Generations {
  readonly #bytes: number;

  constructor(bytes: number) {
    super();
    this.#bytes = bytes;
  }

  override async open(): Promise<StorageEngine> {
    return this.#small(await super.open());
  }

  override async begin(): Promise<NextGeneration> {
    const next = await super.begin();
    return { ...next, engine: this.#small(next.engine) };
  }

  #small(inner: StorageEngine): StorageEngine {
    const engine = new WatchedEngine(inner);
    engine.limits = { ...inner.limits, bytes: this.#bytes };
    return engine;
  }
}

test("a primary takes no write that a secondary could not, until that one is revoked", async (t) => {
  const a = await startPrimary(t);
  const write = async () => {
    const body = { data: { n: "x".repeat(700 * 1024) } };
    return await a.server.call("POST", "/v1/secret/data/large", { token: a.token, body });
  };
  assert.equal((await write()).status, 200, "a value of this size is taken anywhere");
  const deleted = await a.server.call("DELETE", "/v1/secret/metadata/large", { token: a.token });
  assert.ok(deleted.status < 300, deleted.text);
  const generations = new SmallGenerations(MIB);
  const b = await joined(t, a, "small", { generations });
  await inSync(a, b);
  const refused = await write();
  assert.equal(refused.status, 413, refused.text);
  await a.put("small", { n: "1" });
  await inSync(a, b);
  // It is kept for as long as that one is away.
  await b.server.stop();
  const sealed = await a.server.call("POST", "/v1/sys/seal", { token: a.token });
  assert.ok(sealed.status < 300, sealed.text);
  await a.server.unseal(a.opened.shares);
  assert.equal((await write()).status, 413);
  assert.ok((await a.dr("primary/revoke-secondary", { id: "small" })).status < 300);
  assert.equal((await write()).status, 200);
});

test("a cluster that takes less than a megabyte at once is refused as a secondary, and hears why", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t, { generations: new SmallGenerations(MIB - 1) });
  const enabled = await b.dr("secondary/enable", { token: await sealedToken(a, b, "tiny") });
  assert.equal(enabled.status, 502, enabled.text);
  assert.match(enabled.text, /nothing was changed: .*a megabyte is needed/);
  const body = { data: { n: "x".repeat(700 * 1024) } };
  const written = await a.server.call("POST", "/v1/secret/data/x", { token: a.token, body });
  assert.equal(written.status, 200, "it does not count");
});

test("a secondary whose disk is nearly full says so and stops, and goes on when there is room", async (t) => {
  const a = await startPrimary(t);
  const generations = new KeptGenerations();
  const b = await joined(t, a, "full", { generations });
  await inSync(a, b);
  generations.free = 1000;
  let count = 0;
  await until(async () => {
    await a.put(`x-${count++ % 10}`, { n: "1" }); // room is looked at now and then
    const { last_sync_error: error } = await b.status();
    return typeof error === "string" && error.includes("nearly full");
  });
  const status = await b.status();
  assert.deepEqual([status["state"], status["connection_state"]], ["idle", "ready"]);
  assert.ok(b.index < a.index);
  generations.free = null;
  await inSync(a, b);
  assert.equal((await b.status())["last_sync_error"] ?? "", "");
});

test("max_secondaries of the configuration is how many a primary of each kind admits", async (t) => {
  const primary = await startPrimary(t, { settings: { replication: { max_secondaries: 2 } } });
  for (const id of ["a", "b"]) {
    const made = await primary.dr("primary/secondary-token", { id });
    assert.equal(made.status, 200, made.text);
  }
  const third = await primary.dr("primary/secondary-token", { id: "c" });
  assert.equal(third.status, 400, third.text);
  assert.equal(third.headers["x-service-error"], "joining_too_many");
  assert.match(third.text, /at most 2 /);
  for (const max_secondaries of [0, 65]) {
    const refused = startPrimary(t, { settings: { replication: { max_secondaries } } });
    await assert.rejects(refused, /max_secondaries.*from 1 to 64/);
  }
});
