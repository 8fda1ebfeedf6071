// Part 3 of the threats: every limit of the listener's defaults, at its value and one above, through HTTP.
// Times are tested beside src/http, with the clock in the test's hand.

import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../support/until.ts";
import { get, request } from "../support/http-front.ts";
import { type Scene, scene } from "./scene.ts";

const MEBIBYTE = 1024 * 1024;

async function reads(stage: Scene, target: string): Promise<number> {
  return (await stage.target("GET", target, `X-Service-Token: ${stage.root}`)).status;
}

test("a target has 8,192 bytes, a path 1,024, a segment 256, and there are 32 of them", async (t) => {
  const stage = await scene(t);
  const NOT_THERE = 404; // read, routed, and nothing found
  // The path that is counted is the one behind /v1; long segments, so that there are few of them.
  const path = (length: number) => {
    const start = `/sys${`/${"a".repeat(249)}`.repeat(4)}/`;
    return `/v1${start}${"b".repeat(length - start.length)}`;
  };
  assert.equal(path(1024).length, "/v1".length + 1024);
  assert.equal(await reads(stage, path(1024)), NOT_THERE);
  assert.equal(await reads(stage, path(1025)), 400);
  assert.equal(await reads(stage, `/v1/sys/${"a".repeat(256)}`), NOT_THERE);
  assert.equal(await reads(stage, `/v1/sys/${"a".repeat(257)}`), 400);
  // Decoded bytes are what counts: an é is two.
  assert.equal(await reads(stage, `/v1/sys/${"%C3%A9".repeat(128)}`), NOT_THERE);
  assert.equal(await reads(stage, `/v1/sys/${"%C3%A9".repeat(128)}a`), 400);
  assert.equal(await reads(stage, `/v1/sys${"/a".repeat(31)}`), NOT_THERE);
  assert.equal(await reads(stage, `/v1/sys${"/a".repeat(32)}`), 400);
  const query = (length: number) => {
    const start = "/sys/key-status?x=";
    return `/v1${start}${"y".repeat(length - start.length)}`;
  };
  assert.equal(await reads(stage, query(8192)), 200);
  assert.equal(await reads(stage, query(8193)), 400);
  const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join("&");
  assert.equal(await reads(stage, `/v1/sys/key-status?${many(64)}`), 200);
  assert.equal(await reads(stage, `/v1/sys/key-status?${many(65)}`), 400);
});

/** A text of JSON at a limit, and the same with one more. */
const JSON_LIMITS: Readonly<Record<string, (more: 0 | 1) => string>> = {
  "depth 32": (more) => `{"a":${"[".repeat(31 + more)}${"]".repeat(31 + more)}}`,
  "1,000 keys in an object": (more) =>
    `{${Array.from({ length: 1000 + more }, (_, i) => `"k${i}":1`).join(",")}}`,
  "1,000 keys in an inner object": (more) =>
    `{"a":{${Array.from({ length: 1000 + more }, (_, i) => `"k${i}":1`).join(",")}}}`,
  "5,000 elements": (more) => `{"a":[${Array.from({ length: 5000 + more }, () => "1").join(",")}]}`,
  "a key of 256 bytes": (more) => `{"${"k".repeat(256 + more)}":1}`,
  "a key of 256 bytes in UTF-8": (more) => `{"${"é".repeat(128)}${"k".repeat(more)}":1}`,
  "a number of 1,024 bytes": (more) => `{"a":${"1".repeat(1024 + more)}}`,
  // The object, its key and the outer list are three; each inner list is one, and its elements.
  "50,000 tokens": (more) => {
    const inner = `[${Array.from({ length: 4999 }, () => "1").join(",")}]`;
    const rest = `[${Array.from({ length: 4996 + more }, () => "1").join(",")}]`;
    return `{"a":[${[...Array.from({ length: 9 }, () => inner), rest].join(",")}]}`;
  },
};

for (const [what, make] of Object.entries(JSON_LIMITS)) {
  test(`T-N02: ${what} pass, one more is 400`, async (t) => {
    const stage = await scene(t);
    const ask = (body: string) =>
      stage.server.call("POST", "/v1/sys/namespaces/n", { token: stage.root, body });
    const at = await ask(make(0));
    assert.equal(at.status, 200, at.text.slice(0, 300));
    assert.equal((await ask(make(1))).status, 400);
  });
}

test("T-N01: a body of 1 MiB passes, one byte more is 413", async (t) => {
  const stage = await scene(t);
  const body = (size: number) => `{"a":"${"x".repeat(size - 8)}"}`;
  const ask = async (size: number) =>
    (
      await stage.server.call("POST", "/v1/sys/namespaces/n", {
        token: stage.root,
        body: body(size),
      })
    ).status;
  assert.equal(body(100).length, 100);
  assert.equal(await ask(MEBIBYTE), 200);
  assert.equal(await ask(MEBIBYTE + 1), 413);
});

test("64 headers and 16 KiB of them pass, more is 431", async (t) => {
  const stage = await scene(t);
  const headers = Array.from({ length: 63 }, (_, i) => `X-H${i}: ${i}`);
  assert.equal((await stage.raw(get("/v1/sys/health", ...headers))).status, 200);
  assert.equal((await stage.raw(get("/v1/sys/health", ...headers, "X-More: 1"))).status, 431);
  const head = (bytes: number) => {
    const rest = get("/v1/sys/health", "X-Long: ").length;
    return get("/v1/sys/health", `X-Long: ${"x".repeat(bytes - rest)}`);
  };
  assert.equal((await stage.raw(head(16 * 1024))).status, 200);
  assert.equal((await stage.raw(head(16 * 1024 + 256))).status, 431); // the parser counts its own way
});

test("headers that decide something come once", async (t) => {
  const stage = await scene(t);
  const token = `X-Service-Token: ${stage.root}`;
  for (const header of [
    token,
    "X-Service-Namespace: a",
    "Host: localhost",
    "X-Service-Wrap-TTL: 60",
    "X-Service-Index: 1",
    "Authorization: Bearer x",
    "Content-Type: application/json",
    "X-Service-Policy-Override: true",
  ]) {
    // Where somebody must say who asks: what nobody is asked for is not looked at.
    const own = /Token|Bearer/.test(header) ? [] : [token];
    const ask = (...headers: readonly string[]) =>
      stage.raw(request("GET", "/v1/sys/key-status", ...own, ...headers));
    assert.equal((await ask(header, header)).status, 400, header);
    // An index is for what can be waited for, one namespace is not there, one token is none.
    if (!/Index|Namespace|Bearer|Host/.test(header)) {
      assert.equal((await ask(header)).status, 200, header);
    }
  }
});

test("T-N03: an address has so many connections, and one more costs it its oldest", async (t) => {
  const stage = await scene(t, {
    config: (config) => ({
      ...config,
      listeners: config.listeners.map((listener) => ({
        ...listener,
        limits: { ...listener.limits, connectionsPerAddress: 2 }, // ten times from here
      })),
    }),
  });
  const connected = async () => {
    const client = await stage.connect();
    assert.equal((await client.ask(get("/v1/sys/health"))).status, 200);
    return client;
  };
  const clients: Awaited<ReturnType<typeof connected>>[] = [];
  for (let i = 0; i < 20; i++) clients.push(await connected());
  assert.deepEqual(clients.filter(({ ended }) => ended).length, 0);
  for (let more = 1; more <= 5; more++) {
    clients.push(await connected());
    await until(() => clients.filter(({ ended }) => ended).length >= more);
    assert.deepEqual(
      clients.map(({ ended }) => ended),
      clients.map((_, i) => i < more),
    );
  }
  for (const client of clients) client.destroy();
});

test("a connection serves 1,000 requests", async (t) => {
  const stage = await scene(t);
  const client = await stage.connect();
  for (let i = 1; i <= 1000; i++) {
    const { headers } = await client.ask(get("/v1/sys/seal-status"));
    assert.equal(headers.get("connection"), i < 1000 ? "keep-alive" : "close", `${i}`);
  }
  assert.equal(await client.next(), null);
});
