// The ledger of a cloud after a forced failover: the primary of before has handed out credentials after it was cut off, and was
// in the middle of it when another one took its place. When it follows that one, the cloud holds what leases account for.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { startFakeCloudA } from "../../fakes/clouda/fake.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { ask, leasesOf, OutsideSite } from "../../support/replication/outside-site.ts";
import { cloudaCredentialsIn, READ_ONLY } from "../../support/servers/cloud-server.ts";

const CREDS = "clouda/creds/deploy";

test("after a forced promotion and the rejoin the cloud holds exactly what leases account for", async (t) => {
  const site = new OutsideSite(t);
  const fake = await startFakeCloudA({ now: () => Number(site.time.clock.now() / 1_000_000n) });
  t.after(() => fake.close());
  const settings = { outbound_allow: ["127.0.0.1"] };
  const a = await site.primary({ settings });
  const write = async (path: string, body: object) => {
    const answer = await site.timed(ask(a, a.token, "POST", path, body));
    assert.ok(answer.status < 300, answer.text);
  };
  const { url, accessKeyId: access_key, secretAccessKey: secret_key } = fake;
  const root = { access_key, secret_key, iam_endpoint: url, sts_endpoint: url };
  await write("clouda/config/root", root);
  await write("clouda/roles/deploy", { credential_type: "iam_user", policy_arns: [READ_ONLY] });
  const mint = async (cluster: Cluster) =>
    cloudaCredentialsIn(await site.timed(ask(cluster, a.token, "GET", CREDS)));
  const users = () => {
    const all = fake.control.state().users.map(({ name }) => name);
    return all.filter((name) => name !== "holdfast");
  };
  const kept = await mint(a);
  const b = await site.secondary(a, { settings });

  await b.replication.rest(); // cut off
  const since = [await mint(a), await mint(a)];
  // In the middle of it: one whose user is made and whose key is not, and one whose user may be made or not.
  const stop = fake.control.fault({ kind: "hold", action: "CreateAccessKey", when: "before" });
  const first = ask(a, a.token, "GET", CREDS);
  await site.timed(fake.control.whenHeld());
  fake.control.faults.remove(stop);
  const more = fake.control.fault({ kind: "hold", action: "CreateUser", when: "after" });
  const second = ask(a, a.token, "GET", CREDS);
  await site.timed(fake.control.whenHeld(2));
  fake.control.faults.remove(more);
  assert.equal(users().length, 5);
  await site.forced(a, b);
  const late = await mint(b);
  // They never hear from the cloud again: what was asked for there has its effect, and nobody says so.
  fake.control.cut(true);
  fake.control.cut(false);
  for (const answer of await site.timed(Promise.all([first, second]))) {
    assert.ok(answer.status >= 500, answer.text);
  }

  await site.followed(a, b);
  await site.passUntil(() => users().length === 2, 5n * SECOND);
  assert.deepEqual(users().toSorted(), [kept.username, late.username].toSorted());
  const leases = await leasesOf(b, a.token, CREDS);
  const ids = leases.map((name) => `${CREDS}/${name}`);
  assert.deepEqual(ids.toSorted(), [kept.lease, late.lease].toSorted());
  for (const { lease } of since) assert.ok(!ids.includes(lease));
  for (const user of fake.control.state().users) assert.equal(user.keys.length, 1, user.name);
  // Nothing waits to be undone, and nothing to be taken over.
  await site.passUntil(() => recordsOf(b).length === 0, 5n * SECOND);
  await site.inSync(b, a);
  assert.equal((await a.status())["orphans_waiting"], 0);
  assert.equal((await b.status())["orphans_left"], 0);
  // What is kept goes on: it ends when somebody says so, and not before.
  const revoked = await site.timed(
    ask(b, a.token, "POST", "sys/leases/revoke", { lease_id: kept.lease, sync: true }),
  );
  assert.equal(revoked.status, 204, revoked.text);
  assert.deepEqual(users(), [late.username]);
});

/** Write-ahead records of all mounts. */
function recordsOf({ server }: Cluster): string[] {
  const keys = server.server.barrier.view("local/").keys("ns/", { limit: 10_000 });
  return keys.filter((key) => key.includes("/wal/"));
}
