// The client over fetch: what arrives, and why nothing arrives.

import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, ConnectionFailure, Failure, kv, kv1, policies, seal } from "./sdk.ts";
import { connect as connectInNode } from "./node.ts";
import { FetchTransport } from "./fetch-transport.ts";
import { parseServerAddress } from "./server-address.ts";
import { ownBytes, textOf } from "./utf8.ts";

async function answering(t: TestContext, answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer);
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const JSON_TYPE = { "content-type": "application/json" };

test("requests carry token, namespace and body, and numbers come back digit by digit", async (t) => {
  const seen: unknown[] = [];
  const address = await answering(t, (request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const { "x-service-token": token, "x-service-namespace": namespace } = request.headers;
      seen.push([request.method, request.url, token, namespace, body]);
      response.writeHead(200, JSON_TYPE);
      response.end('{"request_id":"r","data":{"big":12345678901234567890123},"lease_id":"l/1"}');
    });
  });
  const client = connect({ address, token: "t", namespace: "team" });
  await kv1.write(client, "/old/", { path: "a b", data: { n: 1 } });
  const { data, lease } = await kv1.read(client.inRoot(), "old", { path: "a b" });
  assert.equal(JSON.stringify(data), '{"big":12345678901234567890123}');
  assert.equal(lease?.id, "l/1");
  assert.deepEqual(seen, [
    ["POST", "/v1/old/a%20b", "t", "team", '{"n":1}'],
    ["GET", "/v1/old/a%20b", "t", undefined, ""],
  ]);
});

test("no redirect is followed, and an answer of somebody else is told", async (t) => {
  const address = await answering(t, (request, response) => {
    if (request.url === "/v1/sys/leader") {
      response.writeHead(307, { location: "http://192.0.2.1/v1/sys/leader" });
      return response.end();
    }
    return response.writeHead(200, { "content-type": "text/html" }).end("<h1>it works</h1>");
  });
  const client = connect({ address, token: "t" });
  await assert.rejects(seal.leader(client), { code: "redirected" });
  await assert.rejects(seal.status(client), { code: "answer-malformed" });
});

test("why there is no answer is told by one word, without what was sent", async (t) => {
  const broken = await answering(t, (request) => request.socket.destroy());
  const silent = await answering(t, () => {});
  const long = await answering(t, (_, response) => response.end("x".repeat(2000)));
  const problemOf = async (address: string, options: { timeout?: bigint; maxAnswer?: number }) => {
    const { timeout = 5_000_000_000n, ...more } = options;
    const settings = { address: parseServerAddress(address), timeout, ...more };
    const sent = { method: "GET", target: "/v1/x", headers: { a: "s3cret" }, body: null, held: 0n };
    const error: unknown = await new FetchTransport(settings).send(sent).catch((e: unknown) => e);
    assert.ok(error instanceof ConnectionFailure, String(error));
    assert.doesNotMatch(error.message, /s3cret/);
    return error.problem;
  };
  // Nobody is there: whoever takes any free port is given a higher one.
  assert.equal(await problemOf("http://127.0.0.1:2", {}), "refused");
  assert.equal(await problemOf(broken, {}), "broken");
  assert.equal(await problemOf(silent, { timeout: 20_000_000n }), "timed-out");
  assert.equal(await problemOf(long, { maxAnswer: 1000 }), "too-large");
  assert.throws(() => connect({ address: "unix:///run/h.sock" }), Failure);
});

test("a timeout is text or nanoseconds as a bigint; anything else is refused at once", () => {
  const address = "http://127.0.0.1:34567";
  for (const timeout of ["30s", "90", 1_000_000n]) {
    connect({ address, timeout });
    connectInNode({ address, timeout, env: {} });
  }
  for (const timeout of [1, 0, 0n, -1n, "0s", "soon", "", null, {}] as unknown as string[]) {
    assert.throws(() => connect({ address, timeout }), Failure);
    assert.throws(() => connectInNode({ address, timeout, env: {} }), Failure);
  }
  const plain = { address, timeout: 1 as unknown as bigint };
  assert.throws(() => connect(plain), /timeout must be text such as "30s"/);
});

test("what a program in JavaScript leaves out or misspells is refused with a Failure", async () => {
  const loose = connect as (options?: unknown) => ReturnType<typeof connect>;
  const looseInNode = connectInNode as typeof loose;
  assert.throws(() => loose(), { name: "Failure", code: "option-invalid" });
  assert.throws(() => loose({}), { name: "Failure", code: "address-invalid" });
  const address = "http://127.0.0.1:1";
  const known = /^there is no option timout; there is address, token, .*timeout/;
  for (const how of [loose, looseInNode]) {
    assert.throws(() => how({ address, timout: "3s" }), { code: "option-invalid", message: known });
    assert.throws(() => how({ address, timeout: "soon" }), {
      code: "option-invalid",
      message: /^timeout must be text such as "30s"/,
    });
  }
  assert.throws(() => looseInNode({ address, env: {}, tls: { cacert: "" } }), /there is ca, /);
  const client = connect({ address, timeout: "30" });
  const nothing = {} as { path: string };
  await assert.rejects(kv.read(client, "secret", nothing), { code: "path-segment" });
  for (const none of [undefined, null]) {
    await assert.rejects(kv.read(client, "secret", none as never), {
      name: "Failure",
      code: "path-segment",
      message: /^the input is missing/,
    });
  }
  await assert.rejects(kv.read(client, undefined as never, { path: "a" }), {
    code: "path-segment",
  });
  await assert.rejects(policies.readAclPolicy(client, {} as never), { code: "path-segment" });
  await assert.rejects(kv.read(client, "secret", { path: "a" }), { name: "ConnectionFailure" });
});

test("bytes have memory of their own, and a mark at the beginning of a text stays", () => {
  for (const text of ["", "a", "s3cret".repeat(100), "é"]) {
    const bytes = ownBytes(text);
    assert.equal(bytes.buffer.byteLength, bytes.length);
    assert.deepEqual(Buffer.from(bytes), Buffer.from(text, "utf8"));
    assert.equal(textOf(bytes), text);
  }
  assert.equal(textOf(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
});

test("what a name is made of never makes another request of it", async (t) => {
  const seen: (string | undefined)[] = [];
  const address = await answering(t, (request, response) => {
    seen.push(request.url);
    response.writeHead(200, JSON_TYPE).end("{}");
  });
  const client = connect({ address, token: "t" });
  const refused = { code: "path-segment" };
  for (const path of ["..", ".", "../metadata/x", "../../sys/seal", "a/../../b", "a/./b", "a/.."]) {
    await assert.rejects(kv.read(client, "secret", { path }), refused, path);
    await assert.rejects(kv.delete(client, "secret", { path }), refused, path);
    await assert.rejects(kv.read(client, `secret/${path}`, { path: "x" }), refused, path);
  }
  await assert.rejects(policies.readAclPolicy(client, { name: ".." }), refused);
  // Beneath all functions, for whoever writes whole paths.
  for (const path of ["sys/../acl/token", "sys/./mounts", "sys\\mounts", "sys/%2e%2e/mounts"]) {
    await assert.rejects(client.request("GET", path), refused, path);
  }
  assert.deepEqual(seen, []);
  for (const path of ["...", "a..b", "%2e%2e", "a?b#c", "it's (a) b~c*!", "\\", "ä/\u{1f600}"]) {
    await kv.read(client, "secret", { path });
  }
  assert.deepEqual(seen, [
    "/v1/secret/data/...",
    "/v1/secret/data/a..b",
    "/v1/secret/data/%252e%252e",
    "/v1/secret/data/a%3Fb%23c",
    "/v1/secret/data/it's%20(a)%20b~c*!",
    "/v1/secret/data/%5C",
    "/v1/secret/data/%C3%A4/%F0%9F%98%80",
  ]);
});
