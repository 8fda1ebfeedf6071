// Write-ahead records and rollback: whatever step an engine is stopped at, what it
// made outside has a lease or is taken away again.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  absent,
  dataOf,
  DAY,
  done,
  engineServer,
  type EngineServer,
  grants,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";
import type { Step } from "../../support/stores/outside.ts";

const down = () => new Failure("upstream", "provider-down", "the provider is down");

/** A request that gets to a step and no further when the process dies. */
async function dieAt(server: EngineServer, step: Step): Promise<void> {
  const before = server.outside.reached(step);
  server.outside.hold(step);
  void server.ask("GET", "count/creds/r").catch(() => {});
  await until(() => server.outside.reached(step) > before);
  await server.crash();
}

test("a crash at any step of issuing leaves nothing outside without a lease", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const kept = await server.issue();
  for (const step of ["issue", "recorded", "made"] as const) await dieAt(server, step);
  assert.equal(server.outside.objects.length, 2, "made, and its lease was never written");
  await server.time.passSlowly(9n * MINUTE, 30n * SECOND);
  assert.equal(
    server.outside.objects.length,
    2,
    "a younger record may belong to a running request",
  );
  await server.passUntil(() => server.outside.objects.length === 1);
  assert.deepEqual(server.outside.objects, [kept.object]);
  assert.equal(await server.isThere(kept.id), true);
  // And nothing is left to be done.
  const undone = server.outside.reached("undo");
  assert.equal(undone, 2, "one record had made nothing yet");
  await server.time.passSlowly(30n * MINUTE, MINUTE);
  assert.equal(server.outside.reached("undo"), undone);
});

test("a lease settles its record: nothing is undone that has one", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const leases = await Promise.all(Array.from({ length: 10 }, () => server.issue()));
  await server.time.passSlowly(HOUR, MINUTE);
  assert.equal(server.outside.reached("undo"), 0);
  assert.equal(server.outside.objects.length, leases.length);
});

test("a known failure of the engine is rolled back in time as well", async (t) => {
  const server = await engineServer(t, { counting: { minUndoAge: 5n * MINUTE } });
  await server.counting("count");
  server.outside.fail("made", down, 1);
  refused(await server.ask("GET", "count/creds/r"), 502, /the provider is down/);
  assert.equal(server.outside.objects.length, 1);
  await server.time.passSlowly(4n * MINUTE, 30n * SECOND);
  assert.equal(server.outside.objects.length, 1);
  await server.passUntil(() => server.outside.objects.length === 0);
});

test("a crash at any step of revoking ends with the object gone once and the lease gone", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (const step of ["revoke", "revoked"] as const) {
    const { id, object } = await server.issue();
    const before = server.outside.reached(step);
    server.outside.hold(step);
    void server.revoke(id, { sync: true }).catch(() => {});
    await until(() => server.outside.reached(step) > before);
    await server.crash();
    // Nobody has been told that it is revoked: it is asked for again, or was queued before.
    await server.revoke(id);
    await until(async () => !(await server.isThere(id)));
    assert.equal(server.outside.has(object), false);
    assert.equal(server.outside.removals(object), 1, "once with effect");
  }
});

test("an undo that fails is tried with growing pauses and becomes an orphan after a day", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  server.outside.fail("made", down, 1);
  await server.ask("GET", "count/creds/r");
  const [object] = server.outside.objects;
  server.outside.fail("undo", down);
  absent(await server.ask("LIST", "count/orphans"));
  await server.time.passSlowly(2n * HOUR, MINUTE);
  const tries = server.outside.reached("undo");
  // 1, 2, 4, 8, 16 and 32 minutes, then an hour each: far fewer than one a minute.
  assert.ok(tries >= 5 && tries <= 9, `${tries}`);
  const isOrphan = async () => (await server.ask("LIST", "count/orphans")).status === 200;
  await server.time.passSlowly(20n * HOUR, 10n * MINUTE);
  assert.equal(await isOrphan(), false, "not before a day");
  await server.passUntil(isOrphan, 10n * MINUTE);
  const orphans = dataOf(await server.ask("GET", "count/orphans"));
  const [id] = orphans["keys"] as string[];
  const info = (orphans["key_info"] as Record<string, Record<string, unknown>>)[id ?? ""];
  assert.equal(info?.["kind"], "object");
  assert.match(JSON.stringify(info), new RegExp(object ?? "none"));
  assert.match(String(info?.["last_error"]), /the provider is down/);
  assert.match(String(info?.["created_at"]), /^2026-01-01T/);
  const errors = () => server.test.lines.filter((line) => /\[ERROR\].*orphan/i.test(line)).length;
  await server.passUntil(() => errors() === 1, 10n * MINUTE); // with the next failure
  const metrics = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(metrics.text, /holdfast_engine_orphans\{[^}]*\} 1/);
  // Still tried, every six hours: it may heal by itself.
  const before = server.outside.reached("undo");
  await server.time.passSlowly(DAY, 30n * MINUTE);
  const slow = server.outside.reached("undo") - before;
  assert.ok(slow >= 3 && slow <= 5, `${slow}`);
  assert.ok(errors() <= 2, "once a day");
  server.outside.heal();
  await server.passUntil(() => server.outside.objects.length === 0, 30n * MINUTE);
  await until(async () => (await server.ask("LIST", "count/orphans")).status === 404);
});

test("an orphan can be removed by hand, with sudo", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  server.outside.fail("made", down, 1);
  await server.ask("GET", "count/creds/r");
  server.outside.fail("undo", down);
  await server.passUntil(
    async () => (await server.ask("GET", "count/orphans")).status === 200,
    10n * MINUTE,
  );
  const [id] = at(await server.ask("GET", "count/orphans"), "data", "keys") as string[];
  const every = ["create", "read", "update", "delete", "list"];
  const token = await server.client(grants("count/*", ...every));
  for (const [method, path] of [
    ["GET", "count/orphans"],
    ["LIST", "count/orphans"],
    ["DELETE", `count/orphans/${id}`],
  ] as const) {
    refused(await server.ask(method, path, undefined, { token }), 403, "permission denied");
  }
  done(await server.ask("DELETE", `count/orphans/${id}`));
  absent(await server.ask("LIST", "count/orphans"));
  const before = server.outside.reached("undo");
  await server.time.passSlowly(DAY, HOUR);
  assert.equal(server.outside.reached("undo"), before);
});

test("periodic work is asked for about once a minute, one at a time", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const before = server.outside.reached("periodic");
  await server.time.passSlowly(10n * MINUTE, 10n * SECOND);
  const ran = server.outside.reached("periodic") - before;
  assert.ok(ran >= 8 && ran <= 11, `${ran}`);
  const letGo = server.outside.hold("periodic", 1);
  await server.time.passSlowly(2n * MINUTE, 10n * SECOND);
  const held = server.outside.reached("periodic");
  await server.time.pass(10n * SECOND);
  assert.equal(server.outside.reached("periodic"), held);
  letGo();
});
