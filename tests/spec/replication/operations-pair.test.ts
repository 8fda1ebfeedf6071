// Operation tokens and tickets on a secondary that really follows a primary: whole servers, real TLS.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { SystemClock } from "../../../src/system/clock.ts";
import { uncovered } from "../../support/covered-token.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type Cluster, inSync, joined, startPrimary } from "../../support/replication/clusters.ts";

const ATTEMPT = "secondary/generate-operation-token/attempt";
const UPDATE = "secondary/generate-operation-token/update";

async function pair(t: TestContext) {
  const primary = await startPrimary(t);
  await primary.put("x", { n: "1" });
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  return { primary, secondary };
}

/** Without a token: nobody has one there. */
function send(cluster: Cluster, path: string, body: object = {}): Promise<Answer> {
  return cluster.server.call("POST", `/v1/sys/replication/dr/${path}`, { body });
}

async function tokenOn(secondary: Cluster, share: string): Promise<string> {
  const begun = await send(secondary, ATTEMPT);
  assert.equal(begun.status, 200, begun.text);
  const done = await send(secondary, UPDATE, { key: share, nonce: at(begun, "nonce") });
  assert.equal(at(done, "complete"), true, done.text);
  return uncovered(String(at(done, "encoded_token")), String(at(begun, "otp")));
}

test("R-44: on a secondary the shares of the primary make the token, those of its own past do not", async (t) => {
  const { primary, secondary } = await pair(t);
  const [own = ""] = secondary.opened.shares;
  const begun = await send(secondary, ATTEMPT);
  const nonce = at(begun, "nonce");
  const refused = await send(secondary, UPDATE, { key: own, nonce });
  assert.equal(refused.status, 400, refused.text);
  const [share = ""] = primary.opened.shares;
  const done = await send(secondary, UPDATE, { key: share, nonce });
  assert.equal(at(done, "complete"), true, done.text);
});

test("R-25, R-43: a secondary that follows refuses what is ordinary, and does what its operation token asks", async (t) => {
  const { primary, secondary } = await pair(t);
  const read = await secondary.server.call("GET", "/v1/secret/data/x", { token: primary.token });
  assert.equal(read.status, 503, read.text);
  const token = await tokenOn(secondary, primary.opened.shares[0] ?? "");
  await primary.put("y", { n: "2" });
  await inSync(primary, secondary);
  const body = { dr_operation_token: token, dry_run: true };
  assert.equal((await send(secondary, "secondary/promote", body)).status, 200);
  const evidence = await secondary.server.call("LIST", "/v1/sys/evidence", { token });
  assert.ok([200, 404].includes(evidence.status), evidence.text);
  const snapshot = await secondary.server.call("GET", "/v1/sys/storage/raft/snapshot", { token });
  assert.equal(snapshot.status, 200, snapshot.text.slice(0, 200));
  const wrong = { dr_operation_token: primary.token, dry_run: true };
  assert.equal((await send(secondary, "secondary/promote", wrong)).status, 403);
});

for (const [what, operation] of [
  ["leaves its set", "disable"],
  ["is promoted", "promote"],
] as const) {
  test(`R-43: operation tokens end when the cluster ${what}`, async (t) => {
    const { primary, secondary } = await pair(t);
    const [share = ""] = primary.opened.shares;
    const tokens = [await tokenOn(secondary, share), await tokenOn(secondary, share)];
    const { operations } = secondary.server.server;
    const good = () => tokens.map((token) => operations.judge(token, operation, 0n) !== null);
    assert.deepEqual(good(), [true, true]);
    const body = { dr_operation_token: tokens[0], force: true };
    const changed = await send(secondary, `secondary/${operation}`, body);
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual(good(), [false, false]);
  });
}

test("R-45: a ticket of the primary is good on its secondary, for what it names", async (t) => {
  const { primary, secondary } = await pair(t);
  const made = await primary.dr("primary/operator-ticket", { operations: ["promote"], ttl: "1h" });
  assert.equal(made.status, 200, made.text);
  const ticket = at(made, "data", "ticket");
  const dry = { dr_operation_token: ticket, dry_run: true };
  const rehearsed = await send(secondary, "secondary/promote", dry);
  assert.equal(rehearsed.status, 200, rehearsed.text);
  const other = await send(secondary, "secondary/disable", { dr_operation_token: ticket });
  assert.equal(other.status, 403, other.text);
  await primary.dr("primary/demote");
  const promoted = await send(secondary, "secondary/promote", { dr_operation_token: ticket });
  assert.equal(promoted.status, 200, promoted.text);
  const { operations } = secondary.server.server;
  const now = new SystemClock().now();
  assert.equal(operations.judge(String(ticket), "promote", now), null, "it has done its work");
});

test("R-45: a ticket that a primary has made for another cluster does not promote itself again when it was demoted", async (t) => {
  const a = await startPrimary(t);
  const made = await a.dr("primary/operator-ticket", { operations: ["promote"], ttl: "1h" });
  const ticket = String(at(made, "data", "ticket"));
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  const refused = await a.dr("secondary/promote", { force: true }, ticket);
  assert.equal(refused.status, 403, refused.text);
  assert.match(refused.text, /before the role of this cluster changed/);
});

test("R-45: a ticket changes the primary once", async (t) => {
  const { primary, secondary } = await pair(t);
  const made = await primary.dr("primary/operator-ticket", { operations: ["update-primary"] });
  const ticket = String(at(made, "data", "ticket"));
  const first = await secondary.dr("secondary/update-primary", { token: "" }, ticket);
  assert.equal(first.status, 200, first.text);
  const second = await secondary.dr("secondary/update-primary", { token: "" }, ticket);
  assert.equal(second.status, 403, second.text);
  assert.match(second.text, /used already/);
});
