import assert from "node:assert/strict";
import { test } from "node:test";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import {
  DAY,
  isThere,
  issue,
  madeLeases,
  pass,
  providerMount,
  SECOND,
  TEAM,
} from "../../tests/support/made/made-leases.ts";
import { until } from "../../tests/support/until.ts";

const M1 = { uuid: "m1", namespace: ROOT_NAMESPACE, path: () => "m1/" };

test("an engine counts the leases that a path of its mount has given, and no others", async () => {
  const made = await madeLeases();
  made.mounts.set("m2", providerMount(made.provider, "m2"));
  for (const path of ["m1/creds/a", "m1/creds/a", "m1/creds/ab", "m1/sts/a"]) {
    await issue(made, { path });
  }
  await issue(made, { path: "m1/creds/a", namespace: TEAM });
  await issue(made, { path: "m2/creds/a", mount: "m2" });
  const own = made.leases.of(M1);
  assert.equal(await own.count("creds/a"), 2);
  assert.equal(await own.count("creds/ab"), 1);
  assert.equal(await own.count("creds/none"), 0);
  assert.equal(await made.leases.of({ ...M1, namespace: TEAM }).count("creds/a"), 1);
});

test("counting many leases gives way to others", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 1001; i++) await issue(made, { path: "m1/creds/a" });
  const before = made.world.timers.turns;
  assert.equal(await made.leases.of(M1).count("creds/a"), 1001);
  assert.equal(made.world.timers.turns, before + 1);
});

test("an engine has the leases of a path revoked, and no others", async () => {
  const made = await madeLeases();
  const gone = await issue(made, { path: "m1/creds/a" });
  const kept = await issue(made, { path: "m1/creds/ab" });
  await made.leases.of(M1).revoke("creds/a");
  await until(() => !isThere(made, gone.id));
  assert.ok(isThere(made, kept.id));
});

test("an engine whose trouble is mended has its stuck leases tried again at once", async () => {
  const made = await madeLeases();
  made.provider.trouble = () => {
    throw new Error("refused");
  };
  const { id } = await issue(made, { ttl: SECOND });
  for (let i = 0; i < 40 && made.leases.total.irrevocable === 0; i++)
    await pass(made, 200n * SECOND);
  assert.equal(made.leases.total.irrevocable, 1);
  made.provider.trouble = () => {};
  await made.leases.of(M1).retryStuck();
  await pass(made, SECOND);
  await until(() => !isThere(made, id));
  assert.ok(made.leases.now() > DAY);
});
