// Damage in what is shared, at a primary whose members have shared rows alone: they are asked for these, and nothing is given up that one of them
// may have.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import { TreeWork } from "../../../src/replication/tree-work.ts";
import type { Batch, StorageEngine } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { slotOf } from "../../../src/storage/rows/merkle.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  joinedRegion,
  regionInSync,
  startPerformancePrimaryBehind,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { ReplicatedPair } from "../../support/replication/replicated-pair.ts";
import { tamper } from "../../support/stores/watched-engine.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };
const KEY = "shared/7";
const SLOT = slotOf("shared", KEY)!;

function flipped(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
}

const DAMAGES: Readonly<Record<string, (engine: StorageEngine) => Promise<void>>> = {
  "a bit of a value": (engine) =>
    tamper(engine, { data: [{ key: KEY, value: flipped(engine.get(KEY)!) }] }),
  "a row": (engine) => tamper(engine, { data: [{ key: KEY, value: null }] }),
  "a row and its leaf": (engine) =>
    tamper(engine, {
      data: [{ key: KEY, value: null }],
      leaves: [{ slot: SLOT, key: KEY, leaf: null }],
    }),
};

async function following(): Promise<ReplicatedPair> {
  const pair = await ReplicatedPair.make({ kind: "performance" });
  for (let i = 0; i < 20; i++) await pair.put(`shared/${i}`, `value ${i}`, i);
  await pair.put("local/x");
  pair.receiver.open();
  await pair.atRest();
  return pair;
}

function checksOf(pair: ReplicatedPair): TreeWork {
  return new TreeWork({
    store: pair.primary.store,
    ...pair.world,
    hasReplicas: () => true,
    replicas: () => pair.sender.replicas(),
    follows: () => false,
    refetch: () => false,
  });
}

describe("a primary of shared rows", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  for (const [what, damage] of Object.entries(DAMAGES)) {
    test(`R-101: that has lost ${what} gets it back, and its member stays as it is`, async () => {
      pair = await following();
      const root = hex(pair.primary.store.trees.shared.root());
      await damage(pair.primary.engine);
      const { report } = await checksOf(pair).check(true);
      assert.equal(report["healed_keys_count"], 1);
      assert.ok((await pair.primary.store.check({ deep: true })).ok);
      assert.deepEqual(Buffer.from(pair.primary.store.get(KEY)!), Buffer.from("value 7"));
      const roots = [pair.primary, pair.secondary].map(({ store }) =>
        hex(store.trees.shared.root()),
      );
      assert.deepEqual(roots, [root, root]);
    });
  }

  test("R-101: that has lost something of its own asks no member for it, and does not give it up", async () => {
    pair = await following();
    await tamper(pair.primary.engine, { data: [{ key: "local/x", value: null }] });
    const checks = checksOf(pair);
    const { report } = await checks.check(true);
    assert.equal(report["healed_keys_count"], 0);
    await assert.rejects(checks.reindex({ force: false, diff: false }), /1/);
    await pair.atRest();
  });
});

const CHECK = "/v1/sys/replication/merkle-check";
const REINDEX = "/v1/sys/replication/reindex";

/** The row of a policy, on the disk of a server that runs. */
async function lost(disk: MemoryDisk): Promise<void> {
  const rows = disk.rows.rows({ from: "shared/", to: "shared0", limit: Infinity });
  const { key } = rows.find((row) => /policies\/.*lost/.test(row.key))!;
  const commit = async (batch: Batch) => disk.rows.apply(batch); // nobody is told
  await tamper({ commit } as unknown as StorageEngine, { data: [{ key, value: null }] });
}

const body = { policy: 'path "secret/*" { capabilities = ["read"] }' };

test("R-101: a performance primary that has lost a record is healed from its secondary", async (t) => {
  const disk = new MemoryDisk();
  const a = await startPerformancePrimary(t, { disk });
  const { token } = a;
  const call = (path: string, sent: object): Promise<Answer> =>
    a.server.call("POST", path, { token, body: sent });
  assert.equal((await call("/v1/sys/policies/acl/lost", body)).status, 204);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  await lost(disk);
  const checked = await call(CHECK, { deep: true });
  assert.equal(checked.status, 200, checked.text);
  assert.match(JSON.stringify(at(checked, "warnings")), /1 damaged records were healed/);
  assert.ok((await a.server.server.store.check({ deep: true })).ok);
  assert.equal((await call(REINDEX, {})).status, 200);
});

test("R-104: a performance primary does not give up a record that a secondary which is away may have", async (t) => {
  const disk = new MemoryDisk();
  const { primary: a, way } = await startPerformancePrimaryBehind(t, { disk });
  const { token } = a;
  const call = (path: string, sent: object): Promise<Answer> =>
    a.server.call("POST", path, { token, body: sent });
  assert.equal((await call("/v1/sys/policies/acl/lost", body)).status, 204);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  way.cut();
  await until(() => a.server.server.performance.replicas().length === 0);
  await lost(disk);
  const refused = await call(REINDEX, {});
  assert.equal(refused.status, 409, refused.text);
  assert.equal((await call(REINDEX, { force: true })).status, 200);
});
