import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSocketServer, type Server, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { requestBytes } from "../api/api-caller.ts";
import { readAnswer } from "./load-answer.ts";
import { load } from "./load.ts";

async function listening(t: TestContext, server: Server): Promise<URL> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  return new URL(`http://127.0.0.1:${address.port}`);
}

async function http(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<URL> {
  const server = createServer(answer);
  t.after(() => server.closeAllConnections());
  return await listening(t, server);
}

/** Answers whatever comes in with `answer`, given the socket. */
async function raw(t: TestContext, answer: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", () => answer(socket));
  });
  return await listening(t, server);
}

const request = (url: URL, path: string) => {
  return requestBytes({ url: url.origin, headers: { "X-Service-Token": "t" } }, "GET", path);
};

test("every client goes through its own requests over one connection, and all are counted", async (t) => {
  const seen = new Map<string, number>();
  const connections = new Set<Socket>();
  const url = await http(t, (incoming, response) => {
    const by = `${incoming.url} ${String(incoming.headers["x-service-token"])}`;
    seen.set(by, (seen.get(by) ?? 0) + 1);
    connections.add(incoming.socket);
    response.end("{}");
  });
  const clients = [[request(url, "a"), request(url, "b")], [request(url, "c")]];
  const { latencies, perSecond, processorMicros } = await load(
    url,
    { clients, statuses: [200] },
    50,
  );
  assert.deepEqual([...seen.keys()].toSorted(), ["/v1/a t", "/v1/b t", "/v1/c t"]);
  assert.equal(connections.size, 2);
  const total = [...seen.values()].reduce((sum, count) => sum + count);
  assert.equal(latencies.length, total);
  assert.ok(latencies.every((millis) => millis > 0 && millis < 10_000));
  assert.ok(perSecond > 0 && perSecond <= total * 20);
  assert.ok(processorMicros > 0);
  assert.ok(Math.abs((seen.get("/v1/a t") ?? 0) - (seen.get("/v1/b t") ?? 0)) <= 1);
});

test("a body is sent with its length and arrives whole", async (t) => {
  const bodies = new Set<string>();
  const url = await http(t, (incoming, response) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (part: string) => (text += part));
    incoming.on("end", () => {
      bodies.add(`${incoming.method} ${text}`);
      response.writeHead(204).end();
    });
  });
  const caller = { url: url.origin, headers: {} };
  const clients = [[requestBytes(caller, "POST", "x", { name: "größer" })]];
  await load(url, { clients, statuses: [204] }, 20);
  assert.deepEqual([...bodies], ['POST {"name":"größer"}']);
});

test("what follows is made of the answer before, also over a new connection, and counts with it", async (t) => {
  let granted = 0;
  const requests: string[] = [];
  const url = await http(t, (incoming, response) => {
    requests.push(incoming.url ?? "");
    if (granted % 3 === 2) response.shouldKeepAlive = false;
    response.end(incoming.url === "/v1/first" ? `${++granted}` : "{}");
  });
  const clients = [[request(url, "first")]];
  const follow = (body: string) => request(url, `then-${body}`);
  const { latencies } = await load(url, { clients, statuses: [200], follow }, 50);
  assert.ok(granted > 3);
  assert.equal(latencies.length, granted);
  const expected = Array.from({ length: granted }, (_, i) => ["/v1/first", `/v1/then-${i + 1}`]);
  assert.deepEqual(requests, expected.flat());
});

test("answers in pieces are put together", async (t) => {
  const pieces = ["HTTP/1.1 200 OK\r\nContent-", "Length: 6\r\n\r\n", "abc", "def"];
  let answered = 0;
  const url = await raw(t, (socket) => {
    answered++;
    const send = (at: number) => {
      const piece = pieces[at];
      if (piece !== undefined) socket.write(piece, () => setImmediate(send, at + 1));
    };
    send(0);
  });
  const clients = [[request(url, "a")]];
  const { latencies } = await load(url, { clients, statuses: [200] }, 30);
  assert.ok(latencies.length > 1);
  assert.equal(latencies.length, answered);
});

test("a connection that the server ends with its answer is replaced", async (t) => {
  const connections = new Set<Socket>();
  const url = await raw(t, (socket) => {
    connections.add(socket);
    socket.end("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  });
  const clients = [[request(url, "a")]];
  const { latencies } = await load(url, { clients, statuses: [204] }, 30);
  assert.ok(latencies.length > 1);
  assert.equal(connections.size, latencies.length);
});

test("any other status, a lost connection or a surplus of bytes fails the load", async (t) => {
  const answers: [string, RegExp][] = [
    ["HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", /answered 503/],
    ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", /more than was asked/],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", /no Content-Length/],
    ["SSH-2.0\r\n\r\n", /not HTTP\/1\.1/],
  ];
  for (const [answer, reason] of answers) {
    const url = await raw(t, (socket) => socket.write(answer));
    const clients = [[request(url, "a")], [request(url, "b")]];
    await assert.rejects(load(url, { clients, statuses: [200] }, 30), reason);
  }
  const closing = await raw(t, (socket) => socket.end());
  const clients = [[request(closing, "a")]];
  await assert.rejects(load(closing, { clients, statuses: [200] }, 30), /closed a connection/);
});

test("a server that does not answer fails the load instead of holding it up", async (t) => {
  const requested = Promise.withResolvers<void>();
  const url = await raw(t, () => requested.resolve());
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const clients = [[request(url, "a")]];
  const failed = assert.rejects(load(url, { clients, statuses: [200] }, 30), /not answered within/);
  await requested.promise;
  t.mock.timers.tick(60_000);
  await failed;
});

test("an answer is read by its head, whatever the case and order of its lines", () => {
  const head = "HTTP/1.1 404 Not Found\r\nconnection: Close\r\nCONTENT-LENGTH:12\r\n\r\n";
  const answer = { status: 404, length: head.length + 12, closes: true };
  assert.deepEqual(readAnswer(Buffer.from(`${head}{"errors"`)), answer);
  assert.equal(readAnswer(Buffer.from(head.slice(0, -1))), null);
  const hidden = "HTTP/1.1 200 OK\r\nX-Content-Length: 7\r\nContent-Length: 0\r\n\r\n";
  assert.deepEqual(readAnswer(Buffer.from(hidden)), {
    status: 200,
    length: hidden.length,
    closes: false,
  });
  assert.throws(() => readAnswer(Buffer.alloc(20_000, "x")), /does not end/);
});
