// Threats J that need many leases at once: an hour in which everything falls due, and an end that a crash
// comes between. Through HTTP, against a whole server, with an engine that counts what is outside.

import assert from "node:assert/strict";
import test from "node:test";
import { engineServer, grants, MINUTE, SECOND } from "../support/servers/engine-server.ts";
import { until } from "../support/until.ts";

const PER_MOUNT = 8; // revocations of one mount at once

test("T-J06: leases that fall due together are revoked few at a time, and no mount waits for another", async (t) => {
  const server = await engineServer(t);
  const mounts = { big: 150, small: 3 };
  const objects = { big: new Set<string>(), small: new Set<string>() };
  for (const name of ["big", "small"] as const) {
    await server.counting(name, { ttl: 600 });
    for (let i = 0; i < mounts[name]; i++) {
      objects[name].add((await server.issue(`${name}/creds/r`)).object);
    }
  }
  // The provider of the big one hangs.
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
  let [waiting, max] = [0, 0];
  server.outside.happen("revoke", async (object) => {
    if (!objects.big.has(object)) return;
    max = Math.max(max, ++waiting);
    await open.finally(() => waiting--);
  });
  await server.time.passSlowly(10n * MINUTE + SECOND, MINUTE);
  await until(() => [...objects.small].every((object) => !server.outside.has(object)));
  await until(() => waiting === PER_MOUNT);
  for (let i = 0; i < 20; i++) await server.must("GET", "sys/key-status");
  assert.equal(max, PER_MOUNT, "at once, of one mount");
  assert.equal(server.outside.objects.length, mounts.big, "nothing else is gone, or forgotten");
  letGo();
  await until(() => server.outside.objects.length === 0); // at its own pace, without another second
  assert.ok(server.outside.busiest <= PER_MOUNT + mounts.small, `${server.outside.busiest}`);
  for (const object of [...objects.big, ...objects.small]) {
    assert.equal(server.outside.removals(object), 1, "each once");
  }
});

test("T-J05: what a token and a namespace had issued is revoked, though the server dies right after", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("a", "a/below");
  for (const namespace of ["a", "a/below"]) await server.counting("count", {}, namespace);
  await server.counting("count");
  const rules = grants("count/creds/r", "read") + grants("below/count/creds/r", "read");
  const { secret, accessor } = await server.clientToken(rules, {}, "a");
  for (const namespace of ["a", "a/below"]) {
    for (let i = 0; i < 3; i++) {
      await server.issue("count/creds/r", { namespace, token: secret });
    }
  }
  const kept = await server.issue();
  const issue = () => server.ask("GET", "count/creds/r", undefined, { namespace: "a/below" });
  assert.equal((await issue()).status, 200);
  assert.equal(server.outside.objects.length, 8);

  server.outside.hold("revoke");
  await server.must("POST", "auth/token/revoke-accessor", { accessor }, { namespace: "a" });
  await server.crash();
  await server.passUntil(() => server.outside.objects.length === 2);

  server.outside.hold("revoke");
  await server.must("DELETE", "sys/namespaces/a/below");
  await server.crash();
  assert.equal((await issue()).status, 403, "nothing is served meanwhile");
  await server.passUntil(() => server.outside.objects.length === 1);
  assert.deepEqual(server.outside.objects, [kept.object]);
});
