// What a performance secondary leaves to its primary though it is an operation of the node: data that is restored and keys that are
// changed there would part it from its set.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const RESTORE_STATUS = "/v1/sys/storage/raft/restore-status";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function pair(t: TestContext) {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  return { a, b, root: a.token };
}

async function attentionCodes(cluster: Cluster, token: string): Promise<readonly string[]> {
  const answer = await cluster.server.call("GET", "/v1/sys/attention", { token });
  is(answer, 200);
  return (at(answer, "data", "items") as { code: string }[]).map(({ code }) => code);
}

test("R-127: nothing is restored on a performance secondary, by force neither; when it is promoted it is", async (t) => {
  const { a, b, root } = await pair(t);
  const { body: archive } = await takeSnapshot(b.server.url, root);
  const made = await a.server.call("PUT", "/v1/acl/token", {
    token: root,
    body: { Type: "management", Global: true },
  });
  is(made, 200);
  await regionInSync(a, b);
  const { generation } = b.server.server.barrier.keysVersion;
  const { lineage } = b.server.server.store.timeline!;
  for (const path of ["snapshot", "snapshot-force"] as const) {
    for (const body of [archive, Buffer.from("no archive")]) {
      const refused = await sendSnapshot(b.server.url, root, path, body);
      is(refused, 400, "restore_secondary");
      assert.match(refused.text, /restore on the primary, or promote or disable/);
    }
  }
  const status = await b.server.call("GET", RESTORE_STATUS, { token: root });
  assert.equal(at(status, "data", "state"), "idle");
  assert.equal(b.server.server.store.timeline!.lineage, lineage);
  assert.equal(b.server.server.barrier.keysVersion.generation, generation);
  await a.put("x", { n: "1" });
  await regionInSync(a, b);
  is(await perf(a, "primary/demote"), 200);
  is(await sendSnapshot(a.server.url, root, "snapshot", archive), 400, "restore_secondary");
  is(await perf(b, "secondary/promote", {}, root), 200);
  is(await sendSnapshot(b.server.url, root, "snapshot", archive), 204);
  await until(async () => {
    const now = await b.server.call("GET", RESTORE_STATUS, { token: root });
    return now.status === 200 && at(now, "data", "state") === "done";
  });
});

const CEREMONIES = ["rekey/init", "rotate/root/init"];

test("a performance secondary is not rekeyed and is not told to be: its keys are the primary's, and follow a rekey there", async (t) => {
  const { a, b, root } = await pair(t);
  const body = { secret_shares: 1, secret_threshold: 1 };
  for (const path of CEREMONIES) {
    const refused = await b.server.call("POST", `/v1/sys/${path}`, { token: root, body });
    is(refused, 400, "rekey_on_secondary");
    assert.match(refused.text, /rekey the primary/);
  }
  assert.ok((await attentionCodes(a, root)).includes("seal.share-one"));
  assert.ok(!(await attentionCodes(b, root)).includes("seal.share-one"));
  const begun = await a.server.call("POST", "/v1/sys/rekey/init", { token: root, body });
  is(begun, 200);
  const [key] = a.opened.shares;
  const done = await a.server.call("POST", "/v1/sys/rekey/update", {
    body: { nonce: at(begun, "nonce"), key },
  });
  is(done, 200);
  is(await b.server.call("POST", "/v1/sys/rotate", { token: root }), 204); // the primary does it
  await a.put("x", { n: "1" });
  await regionInSync(a, b);
  await until(() => {
    const [here, there] = [a, b].map(({ server }) => server.server.barrier.keysVersion);
    return here?.generation === there?.generation && here?.term === there?.term;
  });
});

test("a rekey that began on a primary is not ended when that was demoted meanwhile", async (t) => {
  const { a, root } = await pair(t);
  const body = { secret_shares: 1, secret_threshold: 1 };
  const begun = await a.server.call("POST", "/v1/sys/rekey/init", { token: root, body });
  is(begun, 200);
  const { generation } = a.server.server.barrier.keysVersion;
  is(await perf(a, "primary/demote"), 200);
  const [key] = a.opened.shares;
  const nonce = at(begun, "nonce");
  is(
    await a.server.call("POST", "/v1/sys/rekey/update", { body: { nonce, key } }),
    400,
    "rekey_on_secondary",
  );
  assert.equal(a.server.server.barrier.keysVersion.generation, generation);
});
