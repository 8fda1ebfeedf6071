// Failovers and the way back, and what becomes of entries that only one cluster had.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";

async function attentionOf(cluster: Cluster, token: string): Promise<string[]> {
  const answer = await cluster.server.call("GET", "/v1/sys/attention", { token });
  assert.equal(answer.status, 200, answer.text);
  const items = at(answer, "data", "items") as { code: string }[];
  return items.map(({ code }) => code).filter((code) => code.startsWith("replication."));
}

test("a planned failover, and back: each rejoins by its log, and nothing diverges", async (t) => {
  const a = await startPrimary(t);
  const { shares } = a.opened;
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  let token = await b.operationToken(shares);
  assert.equal((await a.dr("primary/demote")).status, 200);
  assert.deepEqual(await attentionOf(a, await a.operationToken(shares)), ["replication.lag"]);
  const promoted = await b.dr("secondary/promote", {}, token);
  assert.equal(promoted.status, 200, promoted.text);
  await rejoined(b, a, "site-a", shares);
  await inSync(b, a);
  assert.equal((await a.status())["divergent_entries"], 0);
  const written = await b.server.call("POST", "/v1/secret/data/x", {
    token: a.token,
    body: { data: { n: "2" } },
  });
  assert.equal(written.status, 200, written.text);
  await inSync(b, a);
  token = await a.operationToken(shares);
  assert.equal((await b.dr("primary/demote", {}, a.token)).status, 200);
  const back = await a.dr("secondary/promote", {}, token);
  assert.equal(back.status, 200, back.text);
  const read = await a.server.call("GET", "/v1/secret/data/x", { token: a.token });
  assert.equal(at(read, "data", "data", "n"), "2");
  assert.equal((await a.status())["ssct_generation_counter"], 2);
});

test("a forced failover: what the old primary wrote alone is kept and listed, and its state becomes the new one's", async (t) => {
  const a = await startPrimary(t);
  const { shares } = a.opened;
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  await b.server.server.replication.rest(); // cut off
  for (let i = 0; i < 10; i++) await a.put(`alone-${i}`, { n: "1" });
  const { index } = a;
  const token = await b.operationToken(shares);
  const forced = await b.dr("secondary/promote", { force: true }, token);
  assert.equal(forced.status, 200, forced.text);
  const written = await b.server.call("POST", "/v1/secret/data/x", {
    token: a.token,
    body: { data: { n: "3" } },
  });
  assert.equal(written.status, 200, written.text);
  await until(async () => (await a.status())["state"] === "fenced");
  assert.deepEqual(await attentionOf(a, a.token), ["replication.fenced"]);
  assert.equal((await a.dr("primary/demote")).status, 200);
  const operation = await rejoined(b, a, "site-a", shares);
  await inSync(b, a);
  const { divergent_entries: count } = await a.status();
  assert.ok(Number(count) >= 10, JSON.stringify(count));
  assert.deepEqual(await attentionOf(a, operation), ["replication.divergent"]);
  const listed = await a.server.call("GET", "/v1/sys/replication/divergent", { token: operation });
  const [tail] = at(listed, "data", "tails") as { id: string; fork: number; head: number }[];
  assert.equal(tail?.head, Number(index));
  const exported = await a.server.call("GET", `/v1/sys/replication/divergent/${tail?.id}`, {
    token: operation,
  });
  const entries = at(exported, "data", "entries") as { changed: string[] }[];
  assert.equal(entries.length, Number(count));
  assert.ok(entries.every(({ changed }) => changed.length > 0));
  // without a primary it is told as well
  assert.equal((await a.dr("secondary/update-primary", { token: "" }, operation)).status, 200);
  const alone = await a.status();
  assert.deepEqual([alone["secondary_id"], alone["divergent_entries"]], ["", count]);
});

/** The new primary restores a snapshot of its own, and the old one follows it: what that one gives up. `alone`: entries that only the old
 *  one has written. */
async function afterRestores(t: TestContext, { alone = 3, restores = 1 } = {}) {
  const a = await startPrimary(t);
  const { shares } = a.opened;
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  await b.server.server.replication.rest(); // cut off
  for (let i = 0; i < alone; i++) await a.put(`alone-${i}`, { n: "1" });
  const { index } = a;
  const forced = { force: true };
  const token = await b.operationToken(shares);
  assert.equal((await b.dr("secondary/promote", forced, token)).status, 200);
  await until(async () => (await a.status())["state"] === "fenced");
  for (let i = 0; i < restores; i++) {
    const { lineage } = b.server.server.store.timeline!;
    const { body: archive } = await takeSnapshot(b.server.url, a.token);
    const sent = await sendSnapshot(b.server.url, a.token, "snapshot", archive);
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const path = "/v1/sys/storage/raft/restore-status";
      const status = await b.server.call("GET", path, { token: a.token });
      const isDone = status.status === 200 && at(status, "data", "state") === "done";
      return isDone && b.server.server.store.timeline?.lineage !== lineage;
    });
  }
  assert.equal((await a.dr("primary/demote")).status, 200);
  const operation = await rejoined(b, a, "site-a", shares);
  await inSync(b, a);
  const listed = await a.server.call("GET", "/v1/sys/replication/divergent", { token: operation });
  const tails = at(listed, "data", "tails") as { id: string; fork: number; head: number }[];
  return { a, index, operation, tails };
}

test("what the old primary wrote alone is kept and listed, and no more, also where the new one has begun another log by a restore", async (t) => {
  const { a, index, operation, tails } = await afterRestores(t);
  const [tail] = tails;
  assert.deepEqual([tail?.head, tail?.fork], [Number(index), Number(index - 3n)]);
  assert.equal((await a.status())["divergent_entries"], 3);
  const path = `/v1/sys/replication/divergent/${tail?.id}`;
  const exported = await a.server.call("GET", path, { token: operation });
  const entries = at(exported, "data", "entries") as { index: number }[];
  assert.deepEqual(
    entries.map((one) => one.index),
    [index - 2n, index - 1n, index].map(Number),
  );
});

test("an old primary that wrote nothing alone gives nothing up after a restore on the new one", async (t) => {
  const { a, tails } = await afterRestores(t, { alone: 0 });
  assert.deepEqual(tails, []);
  assert.equal((await a.status())["divergent_entries"], 0);
});

test("where the new primary was restored twice nobody can tell where the two parted: all is kept, and the log says why", async (t) => {
  const { a, index, tails } = await afterRestores(t, { restores: 2 });
  const [tail] = tails;
  assert.equal(tail?.head, Number(index));
  assert.ok(tail.fork < Number(index - 3n), "also what the other one had");
  assert.match(a.server.lines.join("\n"), /not known what of these the primary had before/);
});
