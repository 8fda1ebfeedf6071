// A secondary of disaster recovery, from its token to the day on which it takes over: whole servers, real TLS.

import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { connect } from "node:net";
import { at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";
import { inSync, joined, startPrimary } from "../../support/replication/clusters.ts";

test("a cluster joins with a sealed token, copies everything, and follows what is written", async (t) => {
  const primary = await startPrimary(t);
  await primary.put("before", { a: "1" });
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  await primary.put("after", { a: "2" });
  await inSync(primary, secondary);
  await until(async () => {
    const [here, there] = [await primary.status(), await secondary.status()];
    return there["merkle_root"] === here["merkle_root"]; // each is at most a second old
  });
});

test("a planned failover and back: the demoted primary follows by its log, nothing is lost, old tokens work", async (t) => {
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  assert.match(demoted.text, /(?<!NOT )everything is on: site-b/);
  await b.replication.promote({ force: false, address: "" });
  const read = await b.server.call("GET", "/v1/secret/data/x", { token: a.token });
  assert.equal(read.status, 200, read.text);
  const written = await b.server.call("POST", "/v1/secret/data/x", {
    token: a.token,
    body: { data: { n: "2" } },
  });
  assert.equal(written.status, 200, written.text);
});

test("a secondary that is promoted while its primary lives fences it: it writes nothing any more, and still reads", async (t) => {
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  await assert.rejects(b.replication.promote({ force: false, address: "" }), /primary-gone/);
  const { warnings } = await b.replication.promote({ force: true, address: "" });
  assert.match(warnings.join("\n"), /promoted without the check "primary-gone"/);
  await until(async () => (await a.status())["state"] === "fenced");
  const status = await a.status();
  assert.equal(status["conflicting_primary"], await b.clusterId());
  const refused = await a.server.call("POST", "/v1/secret/data/x", {
    token: a.token,
    body: { data: { n: "2" } },
  });
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.headers["x-service-error"], "replication_fenced");
  const read = await a.server.call("GET", "/v1/secret/data/x", { token: a.token });
  assert.equal(read.status, 200, read.text);
  const written = await b.server.call("POST", "/v1/secret/data/x", {
    token: a.token,
    body: { data: { n: "3" } },
  });
  assert.equal(written.status, 200, written.text);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  assert.equal((await a.status())["mode"], "secondary");
});

test("keys that the primary rotates or rekeys reach the secondary, which seals and takes over with them", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const rotated = await a.server.call("POST", "/v1/sys/rotate", { token: a.token });
  assert.ok(rotated.status < 300, rotated.text);
  await a.put("rotated", { n: "1" });
  const begun = await a.server.call("POST", "/v1/sys/rekey/init", {
    token: a.token,
    body: { secret_shares: 1, secret_threshold: 1 },
  });
  assert.equal(begun.status, 200, begun.text);
  const done = await a.server.call("POST", "/v1/sys/rekey/update", {
    body: { nonce: at(begun, "nonce"), key: a.opened.shares[0] },
  });
  assert.equal(done.status, 200, done.text);
  const shares = at(done, "keys") as string[];
  await a.put("rekeyed", { n: "2" });
  await inSync(a, b);
  await until(() => {
    const [here, there] = [
      a.server.server.barrier.keysVersion,
      b.server.server.barrier.keysVersion,
    ];
    return here.generation === there.generation && here.term === there.term;
  });
  await b.server.server.keeper.seal();
  await b.server.unseal(shares);
  await inSync(a, b);
  await b.replication.promote({ force: true, address: "" });
  for (const path of ["rotated", "rekeyed"]) {
    const read = await b.server.call("GET", `/v1/secret/data/${path}`, { token: a.token });
    assert.equal(read.status, 200, read.text);
  }
});

test("a promotion that a crash interrupts is finished where its epoch had begun, and else it is none", async (t) => {
  for (const begun of [false, true]) {
    const a = await startPrimary(t);
    assert.equal((await a.dr("primary/demote")).status, 200);
    const { barrier, store, replication, keeper } = a.server.server;
    // Its own epoch is the last of the log, as of a cluster that was never anything but the primary.
    const logEpoch = store.timeline!.epochs.at(-1)!.epoch - (begun ? 1 : 0);
    const promoting = { address: "", logEpoch };
    const codec = jsonCodec<object>();
    await barrier
      .view("core/replication/dr/")
      .write((tx) => tx.put("role", { ...replication.role, promoting }, codec));
    const { term } = barrier.keyStatus;
    await keeper.seal();
    await a.server.unseal(a.opened.shares);
    const status = await a.status();
    assert.equal(status["mode"], begun ? "primary" : "secondary");
    assert.equal(barrier.keyStatus.term, begun ? term + 1 : term);
    const { role } = a.server.server.replication;
    assert.equal(role.mode === "secondary" && role.promoting !== null, false);
    const written = await a.server.call("POST", "/v1/secret/data/x", {
      token: a.token,
      body: { data: { n: "1" } },
    });
    assert.equal(written.status, begun ? 200 : 503, written.text);
  }
});

test("a demotion that breaks off half way seals the cluster, and unsealing finishes it", async (t) => {
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const left = t.mock.method(a.server.server.life, "leave", async () => {
    throw new Error("a room did not close");
  });
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 500, demoted.text);
  assert.equal(left.mock.callCount(), 1);
  await until(async () => at(await a.server.call("GET", "/v1/sys/seal-status"), "sealed") === true);
  left.mock.restore();
  for (const key of a.opened.shares) {
    const answer = await a.server.call("POST", "/v1/sys/unseal", { body: { key } });
    assert.equal(answer.status, 200, answer.text);
  }
  assert.equal((await a.status())["mode"], "secondary");
  const refused = await a.server.call("GET", "/v1/secret/data/x", { token: a.token });
  assert.equal(refused.status, 503, refused.text);
});

/** A request of which all but the body has come; `finish` gives the status that it gets. */
async function begun(url: string, path: string, body: string, token: string | null) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answered = "";
  socket.setEncoding("latin1").on("data", (text: string) => (answered += text));
  const over = new Promise((resolve) => socket.on("close", resolve));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    "Connection: close",
    "Expect: 100-continue",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...(token === null ? [] : [`X-Service-Token: ${token}`]),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await until(() => answered.includes("100 Continue"));
  answered = "";
  return async () => {
    socket.write(body);
    await over;
    return Number(/HTTP\/1\.1 (\d{3})/.exec(answered)?.[1]);
  };
}

test("a request whose body comes after a demotion is one to a secondary", async (t) => {
  const a = await startPrimary(t);
  const { token } = a;
  const user = { type: "userpass" };
  await a.server.call("POST", "/v1/sys/auth/userpass", { token, body: user });
  const { url } = a.server;
  const held = [
    await begun(url, "/v1/secret/data/y", '{"data":{"a":"b"}}', token),
    await begun(url, "/v1/auth/userpass/login/u", '{"password":"pw123456"}', null),
  ];
  const enabling = await begun(url, "/v1/sys/replication/dr/primary/enable", "{}", token);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  for (const finish of held) assert.equal(await finish(), 503);
  assert.equal(await enabling(), 400);
});

test("a ticket that was for the way there does not make the demoted primary one again", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const made = await a.dr("primary/operator-ticket", { operations: ["promote"], ttl: "1h" });
  assert.equal(made.status, 200, made.text);
  const ticket = String(at(made, "data", "ticket"));
  assert.equal((await a.dr("primary/demote")).status, 200);
  assert.equal((await b.dr("secondary/promote", {}, ticket)).status, 200);
  const refused = await a.dr("secondary/promote", {}, ticket);
  assert.equal(refused.status, 403, refused.text);
  assert.equal((await a.status())["mode"], "secondary");
});
