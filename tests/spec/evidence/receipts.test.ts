// Receipts: what is left of a lease that has ended, however it did, and that no secret is in them.

import assert from "node:assert/strict";
import test from "node:test";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { type Receipt, Receipts } from "../../../src/evidence/receipts.ts";
import { at } from "../../support/http-client.ts";
import { madeBarrier } from "../../support/made/made-barrier.ts";
import { engineServer, HOUR, MINUTE } from "../../support/servers/engine-server.ts";

interface WireReceipt {
  readonly lease_id: string;
  readonly why: string;
  readonly result: string;
  readonly tries: number;
  readonly error: string;
  readonly accessor: string;
  readonly objects: readonly string[];
}

test("every lease that ends leaves a receipt that says why, how often it was tried, and what came of it", async (t) => {
  const server = await engineServer(t);
  const receipt = async (id: string, namespace?: string) =>
    at(
      await server.must("GET", `sys/evidence/receipts/${id}`, undefined, { namespace }),
      "data",
    ) as WireReceipt;
  const whenThere = (id: string) =>
    server.passUntil(
      async () => (await server.ask("GET", `sys/evidence/receipts/${id}`)).status === 200,
    );
  await server.counting("count", { ttl: 600 });

  const revoked = await server.issue();
  await server.revoke(revoked.id, { sync: true });
  const one = await receipt(revoked.id);
  assert.deepEqual([one.why, one.result, one.tries], ["revoke", "ended", 1]);
  assert.ok(one.accessor !== "" && one.lease_id === revoked.id);

  const queued = await server.issue();
  await server.revoke(queued.id);
  await whenThere(queued.id);
  assert.equal((await receipt(queued.id)).why, "revoke");

  const expired = await server.issue();
  await server.time.passSlowly(11n * MINUTE, MINUTE);
  await whenThere(expired.id);
  assert.equal((await receipt(expired.id)).why, "expiry");

  const { secret } = await server.clientToken('path "count/*" { capabilities = ["read"] }');
  const owned = await server.issue("count/creds/r", { token: secret });
  await server.must("POST", "auth/token/revoke", { token: secret });
  await whenThere(owned.id);
  assert.equal((await receipt(owned.id)).why, "token");

  // One that fails first says so, and is ended for the reason that it was to be.
  const stubborn = await server.issue();
  server.outside.fail("revoke", () => new Error("the provider is down"), 1);
  await server.revoke(stubborn.id, { sync: true });
  await server.time.passSlowly(2n * MINUTE, 10n * 1_000_000_000n);
  await whenThere(stubborn.id);
  const late = await receipt(stubborn.id);
  assert.deepEqual([late.why, late.tries], ["revoke", 2]);
  assert.notEqual(late.error, "");

  const forced = await server.issue();
  server.outside.fail("revoke", () => new PermanentFailure("no such thing"), 1);
  await server.must("POST", `sys/leases/revoke-force/${forced.id}`);
  assert.equal((await receipt(forced.id)).result, "given-up");

  const last = await server.issue();
  await server.must("DELETE", "sys/mounts/count");
  await whenThere(last.id);
  assert.equal((await receipt(last.id)).why, "unmount");

  // Listed for who may, of one namespace, and signed for within the hour.
  const ids = at(await server.must("LIST", "sys/evidence/receipts"), "data", "keys") as string[];
  assert.equal(ids.length, 7);
  await server.namespaces("team");
  assert.equal(
    (
      await server.ask("GET", `sys/evidence/receipts/${revoked.id}`, undefined, {
        namespace: "team",
      })
    ).status,
    404,
  );
  const token = await server.client('path "sys/evidence/*" { capabilities = ["read", "list"] }');
  assert.equal(
    (await server.ask("GET", `sys/evidence/receipts/${revoked.id}`, undefined, { token })).status,
    403,
  );
  await server.time.passSlowly(2n * HOUR, 10n * MINUTE);
  const kinds = async () => {
    const listed = await server.must("LIST", "sys/evidence");
    const info = at(listed, "data", "key_info") as Record<string, { readonly kind: string }>;
    return Object.values(info).map(({ kind }) => kind);
  };
  await server.passUntil(async () => (await kinds()).includes("leases.ended"));
  const reports = (await kinds()).length;
  await server.time.passSlowly(5n * HOUR, 10n * MINUTE);
  assert.equal((await kinds()).length, reports, "nothing more has ended");
});

test("receipts are kept to their room, the newest of them", async () => {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/").sub("evidence/receipts/");
  const sign = async () => assert.fail("nothing is signed here");
  const receipts = new Receipts({ view, evidence: { sign }, ...world, keptBytes: 5000 });
  const root = { id: "root", path: "", created: 0n };
  const put = (i: number, more: Partial<Receipt> = {}) => {
    world.clock.pass(1n);
    const receipt: Receipt = {
      lease_id: `count/creds/r/${String(i).padStart(3, "0")}`,
      namespace_id: "root",
      path: "count/creds/r",
      secret_type: "object",
      role: "r",
      objects: ["o"],
      accessor: "a",
      origin: null,
      issued: "i",
      ended: "e",
      why: "expiry",
      result: "ended",
      good_until: null,
      request_ids: [],
      tries: 1,
      error: "",
      ...more,
    };
    return view.write((tx) => receipts.put(tx, receipt, world.clock.now()));
  };
  for (let i = 0; i < 100; i++) await put(i);
  const kept = receipts.list(root, { limit: 1000 });
  assert.ok(kept.length > 10 && kept.length < 40, String(kept.length));
  assert.equal(kept.at(-1), "count/creds/r/099");
  assert.equal(receipts.find(root, kept[0]!).tries, 1);
  assert.throws(() => receipts.find(root, "count/creds/r/000"));
  // One that was given up and has ended later is found when its first receipt has made way.
  await put(200, { result: "given-up" });
  for (let i = 201; i < 208; i++) await put(i);
  await put(200, { tries: 7 });
  const ofIt = () => view.keys("by-time/", { limit: 1000 }).filter((key) => key.endsWith("/200"));
  assert.equal(ofIt().length, 2);
  for (let i = 208; ofIt().length > 1; i++) await put(i);
  assert.equal(receipts.find(root, "count/creds/r/200").tries, 7);
  // What has ended has done so once, whatever a restore brings back.
  await put(200, { tries: 9 });
  assert.equal(receipts.find(root, "count/creds/r/200").tries, 7);
});
