// Leases and a restore of older data: what had ended stays ended, and what ends because of it says why.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  type EngineServer,
  engineServer,
  MINUTE,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

async function restore(server: EngineServer, archive: Uint8Array): Promise<void> {
  const { epoch } = server.test.server.store.head!;
  const sent = await sendSnapshot(server.test.url, server.root, "snapshot", archive);
  assert.equal(sent.status, 204, sent.text);
  await until(async () => {
    const status = await server.ask("GET", "sys/storage/raft/restore-status");
    return status.status === 200 && at(status, "data", "state") === "done";
  });
  assert.equal(server.test.server.store.head?.epoch, epoch + 1);
}

test(
  "a lease that had ended and waits for its end again is not good after a second restore either",
  BOUND,
  async (t) => {
    const server = await engineServer(t);
    await server.counting("count", { ttl: 7200 });
    const [ended, good] = [await server.issue(), await server.issue()];
    const { body } = await takeSnapshot(server.test.url, server.root);
    await server.revoke(ended.id, { sync: true });
    server.outside.fail("revoke", () => new Error("the provider is down"));
    const ttl = async (id: string) =>
      Number(at(await server.must("POST", "sys/leases/lookup", { lease_id: id }), "data", "ttl"));
    for (const time of ["the first", "the second"]) {
      await restore(server, body);
      assert.equal(await ttl(ended.id), 0, `nobody is told that it is good after ${time}`);
      assert.ok((await ttl(good.id)) > 3600);
    }
  },
);

test(
  "receipts of what a restore ends: by who restores, unless its end had come already",
  BOUND,
  async (t) => {
    const server = await engineServer(t);
    await server.counting("count", { ttl: 600 });
    const { body } = await takeSnapshot(server.test.url, server.root);
    server.outside.fail("revoke", () => new Error("the provider is down"));
    const over = await server.issue();
    const { secret } = await server.clientToken('path "count/*" { capabilities = ["read"] }');
    await server.time.passSlowly(9n * MINUTE, MINUTE);
    const owned = await server.issue("count/creds/r", { token: secret });
    const live = await server.issue();
    await server.must("POST", "auth/token/revoke", { token: secret });
    await server.time.passSlowly(90n * SECOND, 10n * SECOND);
    for (const { object } of [over, owned, live])
      assert.ok(server.outside.objects.includes(object));
    server.outside.heal();
    await restore(server, body);
    await server.passUntil(() => server.outside.objects.length === 0, 10n * SECOND);
    const why = async ({ id }: { readonly id: string }) => {
      const path = `sys/evidence/receipts/${id}`;
      await server.passUntil(async () => (await server.ask("GET", path)).status === 200);
      return at(await server.must("GET", path), "data", "why");
    };
    assert.deepEqual(
      [await why(over), await why(owned), await why(live)],
      ["expiry", "token", "revoke"],
    );
  },
);
