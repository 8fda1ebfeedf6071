// A client that goes away while its secret is being made. Whatever step it is at, the handler goes
// on to its end; then nobody knows the secret, so it is ended at once. Never is anything left half.

import assert from "node:assert/strict";
import { request } from "node:http";
import test from "node:test";
import { dataOf, engineServer, type EngineServer } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import type { Step } from "../../support/stores/outside.ts";

/** Asks for a secret; gives how to hang up, which resolves when the server has noticed. */
function asking(server: EngineServer) {
  const { hostname, port } = new URL(server.test.url);
  const headers = { "X-Service-Token": server.root };
  const sent = request({ host: hostname, port, path: "/v1/count/creds/r", headers, agent: false });
  sent.on("error", () => {}); // hanging up is one
  sent.end();
  return () => sent.destroy();
}

async function inFlight(server: EngineServer): Promise<number> {
  const answer = await server.must("GET", "sys/in-flight-req");
  return JSON.stringify(dataOf(answer)).split("countingCredsRead").length - 1;
}

for (const step of ["issue", "recorded", "made"] satisfies Step[]) {
  test(`B23: a client that hangs up at the step "${step}" leaves neither a secret nor a record`, async (t) => {
    const server = await engineServer(t);
    await server.counting();
    const letGo = server.outside.hold(step);
    const hangUp = asking(server);
    await until(() => server.outside.reached(step) === 1);
    hangUp();
    // Another request on another connection has its answer: by then the server has seen the end.
    assert.equal(await inFlight(server), 1);
    await new Promise((resolve) => setImmediate(resolve));
    letGo();
    await until(async () => (await inFlight(server)) === 0);
    assert.equal(server.outside.events.filter(({ did }) => did === "made").length, 1);
    await until(() => server.outside.objects.length === 0);
    assert.deepEqual(server.storedKeys("leases/records/"), []);
    assert.equal(server.outside.removals(), 1);
    // What is left of it is a record, and rollback finds nothing to undo.
    await server.passUntil(() => server.storedKeys("/wal/").length === 0);
    assert.equal(server.outside.removals(), 1);
  });
}

test("B23: where ending it at once fails, rollback ends it", async (t) => {
  const server = await engineServer(t);
  await server.counting();
  const letGo = server.outside.hold("made");
  server.outside.fail("revoke", () => new Error("refused"));
  const hangUp = asking(server);
  await until(() => server.outside.reached("made") === 1);
  hangUp();
  assert.equal(await inFlight(server), 1);
  letGo();
  await until(async () => (await inFlight(server)) === 0);
  assert.equal(server.outside.objects.length, 1);
  assert.deepEqual(server.storedKeys("leases/records/"), []);
  await server.passUntil(() => server.outside.objects.length === 0);
  assert.equal(server.outside.events.at(-1)?.cause, "undo");
  await until(() => server.storedKeys("/wal/").length === 0);
});
