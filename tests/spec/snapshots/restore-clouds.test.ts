// After a restore a cloud holds exactly what leases account for: what was issued since the snapshot ends.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { MINUTE, SECOND } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";

test(
  "users that were made since the snapshot are removed, and those that it knows stay",
  { timeout: 120_000 },
  async (t) => {
    const server = await cloudaServer(t);
    await server.makeRole("r");
    const known = await server.creds("clouda/creds/r");
    const ended = await server.creds("clouda/creds/r");
    const taken = await takeSnapshot(server.test.url, server.root);
    assert.equal(taken.status, 200);
    await server.revokeNow(ended.lease);
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
    // The lease that had ended is there again, and ends without a trouble, since its user is gone.
    assert.equal(await server.isThere(known.lease), true);
    await server.time.passSlowly(MINUTE, SECOND);
    assert.deepEqual(server.users(), [known.username]);
  },
);
