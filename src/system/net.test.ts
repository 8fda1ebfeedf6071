// Real sockets on the loopback address.

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import test from "node:test";
import type { TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { SystemNet } from "./net.ts";
import type { Listener } from "@holdfast/shared/world";

const net = new SystemNet();

async function listening(t: TestContext, accept: (connection: Duplex) => void): Promise<Listener> {
  const listener = await net.listen({ host: "127.0.0.1", port: 0 }, accept);
  t.after(() => listener.close());
  return listener;
}

test("bytes travel both ways over a connection to the port that listen() chose", async (t) => {
  const listener = await listening(t, (connection) => connection.pipe(connection));
  assert.equal(listener.address.host, "127.0.0.1");
  assert.ok(listener.address.port > 0);
  const connection = await net.connect(listener.address);
  connection.end("hello");
  assert.equal(await text(connection), "hello");
});

test("connect() to a port where nobody listens is a Failure that names the address", async (t) => {
  const listener = await listening(t, () => {});
  await listener.close();
  const { host, port } = listener.address;
  await assert.rejects(net.connect(listener.address), (error) => {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, "unavailable");
    assert.equal(error.message, `cannot connect to ${host}:${port}: ECONNREFUSED`);
    return true;
  });
});

test("listen() on a port in use is a Failure", async (t) => {
  const { address } = await listening(t, () => {});
  await assert.rejects(
    net.listen(address, () => {}),
    (error) =>
      error instanceof Failure && /cannot listen on .*: the address is in use/.test(error.message),
  );
});

test("an aborted signal ends the attempt to connect with the signal's reason", async (t) => {
  let accepted = 0;
  const { address } = await listening(t, () => accepted++);
  const reason = new Error("shutting down");
  await assert.rejects(net.connect(address, AbortSignal.abort(reason)), reason);
  assert.equal(accepted, 0);

  const controller = new AbortController();
  const attempt = net.connect(address, controller.signal);
  controller.abort(reason);
  await assert.rejects(attempt, reason);
});

test("once connected, the signal is forgotten", async (t) => {
  const { address } = await listening(t, (connection) => connection.pipe(connection));
  const controller = new AbortController();
  const connection = await net.connect(address, controller.signal);
  controller.abort();
  connection.end("still here");
  assert.equal(await text(connection), "still here");
});

test("close() ends the listener and every connection it accepted", async (t) => {
  const accepted: Duplex[] = [];
  const listener = await listening(t, (connection) => accepted.push(connection));
  const connections = await Promise.all([
    net.connect(listener.address),
    net.connect(listener.address),
  ]);
  const closed = connections.map((connection) => once(connection.resume(), "close"));
  // The client may be connected before the server's side has been handed over.
  while (accepted.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([listener.close(), listener.close()]);
  await Promise.all(closed);
  assert.ok(accepted.every((connection) => connection.destroyed));
  await assert.rejects(net.connect(listener.address), Failure);
});

test("a connection reset by its peer does not end the process", async (t) => {
  const accepted = Promise.withResolvers<Duplex>();
  const { address } = await listening(t, (connection) => accepted.resolve(connection));
  const client = await net.connect(address);
  const server = await accepted.promise;
  assert.ok("resetAndDestroy" in client && typeof client.resetAndDestroy === "function");
  // Not events.once(): it listens to errors itself, which is what must have been done already.
  const closed = new Promise((resolve) => server.resume().once("close", resolve));
  client.resetAndDestroy();
  await closed;
  assert.ok(server.errored !== null, "the reset was an error, and had a listener");
});
