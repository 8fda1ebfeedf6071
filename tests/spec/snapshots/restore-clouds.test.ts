// After a restore a cloud holds exactly what leases account for: what was issued since the snapshot ends.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { HOUR, MINUTE, SECOND } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";

interface Receipt {
  readonly why: string;
  readonly result: string;
  readonly ended: string;
}

test(
  "users that were made since the snapshot are removed, and those that it knows stay",
  { timeout: 300_000 },
  async (t) => {
    const server = await cloudaServer(t);
    await server.makeRole("r");
    const known = await server.creds("clouda/creds/r");
    const ended = await server.creds("clouda/creds/r");
    const taken = await takeSnapshot(server.test.url, server.root);
    assert.equal(taken.status, 200);
    await server.revokeNow(ended.lease);
    const receipt = async (lease: string) =>
      at(await server.must("GET", `sys/evidence/receipts/${lease}`), "data") as Receipt;
    const first = await receipt(ended.lease);
    assert.equal(first.why, "revoke");
    const since = [await server.creds("clouda/creds/r"), await server.creds("clouda/creds/r")];
    // One whose request dies at the provider: a write-ahead record is all that tells of it.
    const { control } = server.fake;
    const denial = { kind: "error", status: 403, code: "AccessDenied", times: null } as const;
    const faults = ["CreateAccessKey", "DeleteUser"].map((action) =>
      control.fault({ ...denial, action }),
    );
    assert.ok((await server.askCreds("clouda/creds/r")).status >= 400);
    for (const id of faults) control.faults.remove(id);
    assert.equal(server.users().length, 4, "one of them is nobody's");

    const sent = await server.timed(
      sendSnapshot(server.test.url, server.root, "snapshot", taken.body),
    );
    assert.equal(sent.status, 204, sent.text);
    let status: unknown = null;
    await until(async () => {
      const answer = await server.ask("GET", "sys/storage/raft/restore-status");
      status = answer.status === 200 ? at(answer, "data") : null;
      return answer.status === 200 && at(answer, "data", "state") === "done";
    });
    await server.passUntil(() => server.users().length === 1, SECOND);
    assert.deepEqual(server.users(), [known.username], JSON.stringify(status));
    assert.match(await server.identity(known), new RegExp(known.username));
    for (const { accessKey, username } of since) {
      assert.ok(!server.users().includes(username), accessKey);
    }
    // Leases account for what is there, and for nothing else: the one that had ended before does not come back.
    await server.passUntil(async () => !(await server.isThere(ended.lease)), SECOND);
    assert.equal(await server.isThere(known.lease), true);
    assert.deepEqual(await receipt(ended.lease), first, "it has ended once");
    // Those that were issued since did not end by their time: somebody restored older data.
    for (const { lease } of since) assert.equal((await receipt(lease)).why, "revoke");
    await server.time.passSlowly(MINUTE, SECOND);
    assert.deepEqual(server.users(), [known.username]);
  },
);

test(
  "a lease that had ended and is brought back where the provider refuses everything: six tries, told in attention, and gone when it can be",
  { timeout: 300_000 },
  async (t) => {
    const server = await cloudaServer(t);
    await server.makeRole("r");
    const { lease, username } = await server.creds("clouda/creds/r");
    const { body } = await takeSnapshot(server.test.url, server.root);
    await server.revokeNow(lease);
    assert.deepEqual(server.users(), []);
    const path = `sys/evidence/receipts/${lease}`;
    const first = at(await server.must("GET", path), "data");
    const { control } = server.fake;
    const denial = { kind: "error", status: 403, code: "AccessDenied", times: null } as const;
    const fault = control.fault({ ...denial, action: "ListGroupsForUser" });
    const tried = () => control.calls("ListGroupsForUser").length;
    const before = tried();
    const sent = await server.timed(sendSnapshot(server.test.url, server.root, "snapshot", body));
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const answer = await server.ask("GET", "sys/storage/raft/restore-status");
      return answer.status === 200 && at(answer, "data", "state") === "done";
    });
    const codes = async () => {
      const items = at(await server.must("GET", "sys/attention"), "data", "items");
      return (items as { code: string }[]).map(({ code }) => code);
    };
    await server.time.passSlowly(15n * MINUTE, 10n * SECOND);
    await until(async () => (await codes()).includes("lease.irrevocable"));
    const tries = tried() - before; // one that ran out of time on its way is none that the provider saw
    assert.ok(tries > 1 && tries <= 6, `${tries} tries`);
    const lookup = await server.must("POST", "sys/leases/lookup", { lease_id: lease });
    assert.equal(at(lookup, "data", "ttl"), 0, "nobody is told that it is good");
    control.faults.remove(fault);
    await server.passUntil(async () => !(await server.isThere(lease)), HOUR);
    await until(async () => !(await codes()).includes("lease.irrevocable"));
    assert.deepEqual(at(await server.must("GET", path), "data"), first);
    assert.ok(!server.users().includes(username));
  },
);
