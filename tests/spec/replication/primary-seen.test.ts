// What a promotion and its rehearsal say of a primary that was called in vain: sealed, somebody else in its place, or nobody.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcp, type Server } from "node:net";
import test, { type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import { type Cluster, inSync, joined, startPrimary } from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { freePort } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

interface Pair {
  readonly a: Cluster;
  readonly b: Cluster;
  readonly port: number;
  readonly token: string;
}

async function pair(t: TestContext): Promise<Pair> {
  const port = await freePort();
  const a = await startPrimary(t, { world: HURRIED, clusterPort: port });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  return { a, b, port, token: await b.operationToken(a.opened.shares) };
}

/** The rehearsal says so, and so does the promotion, which needs no force. */
async function sees({ b, token, port }: Pair, seen: string, warning: RegExp): Promise<void> {
  await until(async () => (await b.status())["promotable"] === true);
  const rehearsal = await b.dr("secondary/promote", { dry_run: true }, token);
  assert.equal(at(rehearsal, "data", "ready"), true, rehearsal.text);
  assert.equal(at(rehearsal, "data", "primary_seen"), seen, rehearsal.text);
  assert.ok(String(at(rehearsal, "data", "primary_seen_text")).includes(`:${port}`));
  const promoted = await b.dr("secondary/promote", {}, token);
  assert.equal(promoted.status, 200, promoted.text);
  assert.equal(at(promoted, "data"), null, "only a rehearsal has data");
  for (const { json } of [rehearsal, promoted]) {
    const { warnings } = json as { warnings: string[] };
    assert.match(warnings.join("\n"), warning);
  }
}

async function listening(t: TestContext, server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
}

test("a sealed primary is said to be there, and to lead on when it is unsealed", async (t) => {
  const all = await pair(t);
  await all.a.server.server.keeper.seal();
  await sees(
    all,
    "sealed",
    /the primary is perhaps not gone: a server is there and sealed, at .*Keep it sealed/,
  );
  assert.match(JSON.stringify(await all.b.status()), /"mode":"primary"/);
  // It is told when it is back.
  await all.a.server.unseal(all.a.opened.shares);
  await until(async () => (await all.a.status())["state"] === "fenced");
});

test("the status of a secondary says that its primary is sealed", async (t) => {
  const { a, b } = await pair(t);
  await a.server.server.keeper.seal();
  const error = async () => (await b.status())["last_sync_error"];
  await until(async () => (await error()) === "the cluster there is sealed");
});

test("a primary that has left its set while a secondary was away is said to answer as something else", async (t) => {
  const all = await pair(t);
  await all.b.server.server.keeper.seal();
  assert.equal((await all.a.dr("primary/disable")).status, 200);
  await all.b.server.unseal(all.a.opened.shares);
  await sees(all, "other", /perhaps not gone: something else answers at .*does not lead this set/);
});

for (const [who, what, server] of [
  ["a web server", /does not speak TLS/, () => createServer((_, answer) => answer.end("hello"))],
  ["somebody who hangs up", /ended the handshake/, () => createTcp((socket) => socket.destroy())],
] as const) {
  test(`${who} at the address of the primary is named, and not taken for nobody`, async (t) => {
    const all = await pair(t);
    await all.a.server.crash();
    await listening(t, server(), all.port);
    await sees(all, "other", what);
  });
}

test("where nobody answers that is said, with the addresses", async (t) => {
  const all = await pair(t);
  await all.a.server.crash();
  await sees(all, "nobody", /the primary was not heard of: nobody answers at .*stop it, or cut it/);
});
