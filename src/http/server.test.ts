import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { SECOND } from "@holdfast/shared/text/duration";
import {
  dataOf,
  get,
  makeFront,
  RawClient,
  request,
  type Front,
} from "../../tests/support/http-front.ts";
import { until } from "../../tests/support/until.ts";

/** A front whose handlers wait until they are let go. */
async function waiting(): Promise<{ front: Front; release: () => void }> {
  const front = await makeFront();
  const { promise, resolve } = Promise.withResolvers<void>();
  front.script = async () => {
    await promise;
    return {};
  };
  return { front, release: resolve };
}

test("a server that stops lets requests finish, closes idle connections at once and takes no new ones", async () => {
  const { front, release } = await waiting();
  const [idle, fresh, busy, coming] = await Promise.all([
    front.client(),
    front.client(),
    front.client(),
    front.client(),
  ]);
  front.script = () => ({});
  assert.equal((await idle.ask(get("/v1/sys/a"))).status, 204);
  const held = Promise.withResolvers<void>();
  front.script = async () => {
    await held.promise;
    return {};
  };
  await busy.send(get("/v1/sys/a"));
  await coming.send("LIST /v1/sys/b HTTP/1.1\r\n");
  await front.settled();
  const closed = front.server.close(30n * SECOND);
  await Promise.all([idle.closed(), fresh.closed()]);
  assert.deepEqual([busy.ended, coming.ended], [false, false]);
  await assert.rejects(RawClient.connect(front.port));
  await coming.send("Host: localhost\r\n\r\n");
  await front.settled();
  held.resolve();
  release();
  for (const client of [busy, coming]) {
    const answer = await client.answer();
    assert.deepEqual([answer.status, answer.headers.get("connection")], [204, "close"]);
    await client.closed();
  }
  await closed;
  assert.equal(front.server.connections, 0);
  assert.equal(front.world.timers.armed, 0);
});

test("an answer that is on its way when the server stops is the last on its connection", async () => {
  const front = await makeFront();
  const held = Promise.withResolvers<void>();
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("first ");
    await held.promise;
    yield Buffer.from("second");
  }
  front.script = () => ({
    family: "bare",
    result: new Reply(new StreamBody("application/octet-stream", source())),
  });
  const client = await front.client();
  await client.send(get("/v1/sys/a"));
  await until(() => client.received.includes("first"));
  const closed = front.server.close(30n * SECOND);
  held.resolve();
  const answer = await client.answer();
  assert.match(answer.body, /second/);
  await client.closed(); // and not when the grace is over
  await closed;
});

test("what is not done when the grace is over is cut", async () => {
  const { front } = await waiting();
  const client = await front.client();
  await client.send(get("/v1/sys/a"));
  await front.settled();
  const closed = front.server.close(30n * SECOND);
  await front.world.timers.advance(29n * SECOND);
  assert.equal(client.ended, false);
  await front.world.timers.advance(2n * SECOND);
  await client.closed();
  await closed;
  assert.equal(front.seen[0]?.signal.aborted, true);
  await front.close(); // a second time is fine
});

test("several listeners share one count of connections", async () => {
  const front = await makeFront({ limits: { connections: 1 } });
  const more = await front.server.listen({ kind: "tcp", host: "127.0.0.1", port: 0, tls: null });
  const first = await RawClient.connect(more.address.port);
  assert.equal((await first.ask(get("/v1/sys/a"))).status, 200);
  const second = await front.client();
  assert.equal((await second.ask(get("/v1/sys/a"))).status, 200);
  await first.closed(); // it was idle, and made room
  assert.equal(front.server.connections, 1);
  second.destroy();
  await front.close();
});

test("a unix socket carries requests too, LIST among them, and needs no host of ours", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-http-"));
  const path = join(directory, "api.sock");
  const front = await makeFront({ kind: "unix", host: path });
  assert.equal(front.bound.url, `unix:${path}`);
  const client = new RawClient(connect(path));
  const answer = await client.ask(request("LIST", "/v1/sys/a").replace("localhost", "anything"));
  assert.equal(dataOf(answer).verb, "LIST");
  assert.deepEqual(front.seen[0]?.remote, { address: "unix", port: 0, loopback: true });
  assert.equal(front.seen[0]?.listener.keyCeremonies, "open");
  client.destroy();
  await front.close();
  assert.equal(existsSync(path), false);
  rmSync(directory, { recursive: true });
});

test("the socket of a process that was killed is taken over, one that is in use or a file is not", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-http-"));
  const path = join(directory, "api.sock");
  const killed = createServer();
  await new Promise<void>((resolve) => killed.listen(path, resolve));
  renameSync(path, `${path}.kept`); // closing removes the file by its name
  await new Promise((resolve) => killed.close(resolve));
  renameSync(`${path}.kept`, path);

  const front = await makeFront({ kind: "unix", host: path });
  const client = new RawClient(connect(path));
  assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
  client.destroy();
  await assert.rejects(makeFront({ kind: "unix", host: path }), /the address is in use/);
  await front.close();
  writeFileSync(path, "mine");
  await assert.rejects(makeFront({ kind: "unix", host: path }), /the address is in use/);
  assert.equal(readFileSync(path, "utf8"), "mine");
  rmSync(directory, { recursive: true });
});

test("an address that is in use is named", async () => {
  const front = await makeFront();
  await assert.rejects(makeFront({ port: front.port }), {
    message: `cannot listen on 127.0.0.1:${front.port}: the address is in use`,
  });
  await front.close();
});

test("a listener says what it lets pass", async () => {
  const front = await makeFront({
    keyCeremonies: "off",
    openMetrics: true,
    metricsOnly: true,
    maxRequestSize: 5,
  });
  const client = await front.client();
  await client.ask(get("/v1/sys/metrics"));
  assert.deepEqual(front.seen[0]?.listener, {
    keyCeremonies: "off",
    openings: { metrics: true },
    metricsOnly: true,
    maxBody: 5,
  });
  client.destroy();
  await front.close();
});
