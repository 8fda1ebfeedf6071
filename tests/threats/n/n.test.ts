// Threats N: the HTTP server, parsers, exhaustion, races. Through HTTP, against a whole server; what needs
// a clock in our hand or bytes between the segments is tested beside src/http.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { objectCodec } from "../../../src/wrapping/cubbyhole-contents.ts";
import { documentCodec } from "../../../engines/kv/document.ts";
import { secretCodec } from "../../../engines/kv/secret-codec.ts";
import { userCodec } from "../../../engines/userpass/user.ts";
import { leaseCodec } from "../../../src/leases/lease.ts";
import { recordCodec as mountCodec } from "../../../src/mounts/table/mount-record.ts";
import { recordCodec as namespaceCodec } from "../../../src/namespaces/record.ts";
import { governingCodec } from "../../../src/policies/governing/governing-record.ts";
import { policyCodec } from "../../../src/policies/policy-record.ts";
import { decodeEntry } from "../../../src/storage/rows/log-entry.ts";
import { tokenCodec } from "../../../src/tokens/token.ts";
import { takesAtMost } from "../../support/processor-time.ts";
import { CertificateFiles, TestAuthority } from "../../support/certificates.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { request } from "../../support/http-front.ts";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { Dice } from "../dice.ts";
import { auditLines, bothRecords, lastIndex, rule, scene, visible } from "../scene.ts";

const MEBIBYTE = 1024 * 1024;
const NAMESPACE = "/v1/sys/namespaces/n";

test("T-N01: a body over the limit is 413, with a length or in chunks, and changes nothing", async (t) => {
  const stage = await scene(t);
  const before = await lastIndex(stage);
  const token = `X-Service-Token: ${stage.root}`;
  const body = JSON.stringify({ a: "x".repeat(MEBIBYTE) });
  const declared = request("POST", NAMESPACE, token, `Content-Length: ${body.length}`);
  assert.equal((await stage.raw(declared)).status, 413, "before a byte of it was sent");
  const half = body.length / 2;
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const chunked = request("POST", NAMESPACE, token, "Transfer-Encoding: chunked");
  assert.equal((await stage.raw(chunked + chunks.join(""))).status, 413);
  assert.equal(await lastIndex(stage), before);
});

test("T-N01: whoever has no token is refused before a byte of the body is there", async (t) => {
  const stage = await scene(t);
  for (const token of [[], ["X-Service-Token: made-up"]]) {
    for (const length of ["Content-Length: 1000000", "Transfer-Encoding: chunked"]) {
      const client = await stage.connect();
      await client.send(request("POST", NAMESPACE, ...token, length));
      // Not a byte of the body is sent: the answer must not depend on it.
      const answer = await client.answer();
      assert.equal(answer.status, 403, length);
      assert.equal(answer.headers.get("connection"), "close", "and what follows is not read on");
      client.destroy();
    }
  }
});

/** Bodies that are cheap to send and dear to read. */
const HOSTILE: Readonly<Record<string, string>> = {
  brackets: "[".repeat(MEBIBYTE - 1),
  "brackets in a field": `{"a":${"[".repeat(MEBIBYTE - 10)}`,
  braces: '{"a":'.repeat(200_000),
  "distinct keys": `{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
  // T-N07: keys that a table of integers would put into one place.
  "integer-like keys": `{${Array.from({ length: 60_000 }, (_, i) => `"${i * 4096}":1`).join(",")}}`,
  "empty objects": `{"a":[${"{},".repeat(300_000)}{}]}`,
  numbers: `{"a":[${"1,".repeat(500_000)}1]}`,
  "a long number": `{"a":${"9".repeat(1_000_000)}}`,
  "an exponent": `{"a":1e${"9".repeat(100_000)}}`,
  "escapes in one text": `{"a":"${"\\u0041".repeat(170_000)}`,
  "an open text": `{"a":"${"x".repeat(1_000_000)}`,
  spaces: `{${" ".repeat(1_000_000)}`,
};

test("T-N02 T-N07: hostile JSON within the size limit is refused in under 50 ms, and serves nobody else later", async (t) => {
  const stage = await scene(t);
  for (const [what, body] of Object.entries(HOSTILE)) {
    const ask = async () => {
      const answer = await stage.server.call("POST", NAMESPACE, { token: stage.root, body });
      assert.equal(answer.status, 400, what);
    };
    await keepsNobodyWaiting(what, ask);
  }
});

test("T-N02: size, rate and right are judged before a body is parsed", async (t) => {
  const stage = await scene(t);
  const body = "{ this is no JSON";
  const ask = async (token: string, path = NAMESPACE) => {
    const answer = await stage.server.call("POST", path, { token, body });
    return [answer.status, answer.headers["x-service-error"]];
  };
  assert.deepEqual(await ask("made-up"), [403, "invalid_token"]);
  assert.deepEqual(await ask(stage.root), [400, "body_malformed"]);
  // Who has a token, but no right, is told of the JSON, yet of no field.
  const weak = await stage.clientWith(rule("sys/nothing", ["read"]));
  const fields = { token: weak, body: { custom_metadata: 5 } };
  assert.equal((await stage.server.call("POST", NAMESPACE, fields)).status, 403);
  const quota = { path: "sys/namespaces/n", rate: 1, interval: "1h" };
  await stage.must("POST", "/v1/sys/quotas/rate-limit/q", { body: quota });
  assert.deepEqual(await ask(stage.root), [400, "body_malformed"]);
  assert.deepEqual((await ask(stage.root))[0], 429);
  assert.deepEqual((await ask("made-up"))[0], 429, "before the token as well");
});

test("T-N05: a request that hides another one is refused by the whole server too", async (t) => {
  const stage = await scene(t);
  const file = await stage.audit();
  const before = auditLines(file).length;
  const token = `X-Service-Token: ${stage.root}`;
  const hidden = request("DELETE", NAMESPACE, token);
  for (const head of [
    [`Content-Length: ${hidden.length}`, "Transfer-Encoding: chunked"],
    ["Content-Length: 0", `Content-Length: ${hidden.length}`],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: xchunked"],
    ["Content-Length: 0,0"],
    ["X-A: b\r\n Content-Length: 3"],
  ]) {
    const client = await stage.connect();
    const answer = await client.ask(request("POST", NAMESPACE, token, ...head) + hidden);
    assert.equal(answer.status, 400, head.join());
    assert.equal(await client.next(), null, "and the connection ends");
    client.destroy();
  }
  assert.equal(auditLines(file).length, before, "none of them became a request");
});

test("T-N05: two requests in one segment are neither of them done", async (t) => {
  const stage = await scene(t);
  const before = await lastIndex(stage);
  const token = `X-Service-Token: ${stage.root}`;
  const pairs = [
    request("POST", NAMESPACE, token, "Content-Length: 0") + request("GET", "/v1/sys/health"),
    request("GET", "/v1/sys/health") + request("POST", NAMESPACE, token, "Content-Length: 0"),
    request("LIST", "/v1/sys/namespaces", token) + request("DELETE", NAMESPACE, token),
  ];
  for (const pair of pairs) {
    const client = await stage.connect();
    const answer = await client.ask(pair); // one that is served would be answered 200
    assert.equal(answer.status, 400, pair);
    assert.equal(answer.headers.get("connection"), "close");
    client.destroy();
  }
  assert.equal(await lastIndex(stage), before);
});

test("T-N03: two hundred half-open connections keep nobody out", async (t) => {
  const stage = await scene(t, {
    config: (config) => ({
      ...config,
      listeners: config.listeners.map((listener) => ({
        ...listener,
        limits: { ...listener.limits, connectionsPerAddress: 20 }, // ten times from here
      })),
    }),
  });
  const half = await Promise.all(Array.from({ length: 200 }, () => stage.connect()));
  await Promise.all(half.map((client, i) => client.send(i % 2 ? "GET /v1/sys/he" : "")));
  for (let i = 0; i < 10; i++) {
    assert.equal((await stage.server.call("GET", "/v1/sys/health")).status, 200);
  }
  for (const client of half) client.destroy(); // before the server waits for them
});

test("T-N04: a server speaks no HTTP/2 unless it is told to", async (t) => {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("localhost"));
  const { certFile, keyFile } = files;
  const settings = {
    listener: { tcp: { address: "127.0.0.1:0", tls_cert_file: certFile, tls_key_file: keyFile } },
  };
  const server = await startServer({ settings });
  t.after(() => server.stop());
  const { port } = new URL(server.url);
  const protocols = await Promise.all(
    [["h2"], ["h2", "http/1.1"]].map(async (ALPNProtocols) => {
      const socket = connect({
        port: Number(port),
        host: "127.0.0.1",
        ca: authority.pem,
        ALPNProtocols,
      });
      const { promise, resolve } = Promise.withResolvers<string>();
      socket.once("secureConnect", () => resolve(String(socket.alpnProtocol)));
      socket.once("error", () => resolve("refused"));
      const found = await promise;
      socket.destroy();
      return found;
    }),
  );
  assert.deepEqual(protocols, ["refused", "http/1.1"]);
});

test("T-N10: no stored row, whatever its bytes, takes long to read, overflows the stack or is half read", () => {
  const decoders: readonly ((bytes: Buffer) => unknown)[] = [
    (bytes) => tokenCodec.decode(bytes),
    (bytes) => leaseCodec.decode(bytes),
    (bytes) => policyCodec.decode(bytes),
    (bytes) => governingCodec.decode(bytes),
    (bytes) => mountCodec.decode(bytes),
    (bytes) => namespaceCodec.decode(bytes),
    (bytes) => secretCodec.decode(bytes),
    (bytes) => documentCodec.decode(bytes),
    (bytes) => objectCodec.decode(bytes),
    (bytes) => userCodec.decode(bytes),
    (bytes) => decodeEntry(bytes),
  ];
  const read = (bytes: Buffer) => {
    for (const decode of decoders) {
      takesAtMost(250, () => {
        try {
          decode(Buffer.from(bytes)); // some wipe what they have read
        } catch (error) {
          assert.ok(error instanceof Error);
          assert.ok(
            !(error instanceof RangeError && /call stack/.test(error.message)),
            String(error),
          );
        }
      });
    }
  };
  const deep = 200_000;
  for (const text of [
    "[".repeat(deep),
    `${"[".repeat(deep)}${"]".repeat(deep)}`,
    `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
    `{"a":"${"\\u0041".repeat(deep)}"}`,
    `{"a":${"9".repeat(deep)}}`,
    "",
    "null",
    '{"__proto__":{"x":1}}',
  ]) {
    read(Buffer.from(text));
  }
  assert.equal(Object.hasOwn(Object.prototype, "x"), false);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => read(Buffer.from(bytes))),
    { seed: 10, numRuns: 500 },
  );
  // Lengths that promise more than there is.
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 24 }), fc.nat(20), (bytes, at) => {
      const row = Buffer.from(bytes);
      row.fill(0xff, Math.min(at, row.length), Math.min(at + 8, row.length));
      read(row);
    }),
    { seed: 11, numRuns: 500 },
  );
});

test("T-N06: odd heads and endless chunk extensions end with their connection", async (t) => {
  const stage = await scene(t);
  for (const name of ["__proto__", "constructor", "prototype"]) {
    assert.equal((await stage.target("GET", "/v1/sys/health", `${name}: x`)).status, 400, name);
  }
  const client = await stage.connect();
  await client.send(
    request("POST", NAMESPACE, `X-Service-Token: ${stage.root}`, "Transfer-Encoding: chunked"),
  );
  const answer = await client.ask(`1;${"a=b;".repeat(10_000)}`);
  assert.ok(answer.status === 413 || answer.status === 400, String(answer.status));
  client.destroy();
  assert.equal((await stage.server.call("GET", "/v1/sys/health")).status, 200);
});

test("T-N09: no name of a caller's becomes a prototype", async (t) => {
  const stage = await scene(t);
  const names = ["__proto__", "constructor", "prototype"];
  const { root: token } = stage;
  for (const name of names) {
    for (const body of [
      `{"${name}":{"polluted":true}}`,
      `{"custom_metadata":{"${name}":"x"}}`,
      `{"a":[{"b":{"${name}":{"polluted":true}}}]}`,
      `{"${name.replace("o", "\\u006f")}":1}`,
    ]) {
      const answer = await stage.server.call("POST", NAMESPACE, { token, body });
      assert.equal(answer.status, 400, body);
    }
    const escaped = name.replace("o", "%6F");
    for (const query of [`${name}=1`, `${escaped}=1`, `a=1&${name}=polluted`]) {
      const answer = await stage.server.call("LIST", `/v1/sys/namespaces?${query}`, { token });
      assert.equal(answer.status, 400, query);
    }
  }
  // As names of things they are names like any other: own members of lists, and of nothing else.
  for (const name of [...names, "toString", "hasOwnProperty"]) {
    await stage.namespaces(name);
    await stage.must("POST", `/v1/sys/config/auditing/request-headers/${name}`);
  }
  const listed = await stage.must("LIST", "/v1/sys/namespaces");
  assert.deepEqual(
    Object.keys(at(listed, "data", "key_info") as object).toSorted(),
    [...names, "toString", "hasOwnProperty"].map((name) => `${name}/`).toSorted(),
  );
  const headers = await stage.must("GET", "/v1/sys/config/auditing/request-headers");
  assert.equal(Object.keys(at(headers, "data", "headers") as object).length, 5);
  assert.equal("polluted" in {}, false);
  assert.equal("hmac" in {}, false);
  assert.equal(
    (await stage.server.call("GET", "/v1/sys/namespaces/valueOf", { token })).status,
    404,
  );
});

test("T-N12: only plain JSON is a body", async (t) => {
  const stage = await scene(t);
  const { root: token } = stage;
  const status = async (headers: Readonly<Record<string, string>>, body: string) =>
    (await stage.server.call("POST", NAMESPACE, { token, headers, body })).status;
  for (const encoding of ["gzip", "deflate", "br", "zstd", "identity", "gzip, gzip"]) {
    assert.equal(await status({ "Content-Encoding": encoding }, "{}"), 415, encoding);
  }
  for (const type of [
    "multipart/form-data; boundary=x",
    "text/plain",
    "application/xml",
    "application/x-msgpack",
    "application/json; charset=utf-16",
    "application/merge-patch+json",
    "*/*",
  ]) {
    assert.equal(await status({ "Content-Type": type }, "{}"), 415, type);
  }
  assert.equal(await status({ "Content-Type": "application/x-www-form-urlencoded" }, "a=b"), 415);
  const curl = { "Content-Type": "application/x-www-form-urlencoded" };
  assert.equal(await status(curl, "{}"), 200, "what curl says of JSON (decision 33)");
  for (const verb of ["GET", "LIST"]) {
    const bytes = `${request(verb, NAMESPACE, `X-Service-Token: ${token}`, "Content-Length: 2")}{}`;
    assert.equal((await stage.raw(bytes)).status, 400, verb);
  }
});

test("T-N13: calls on one object at once leave it as one of their orders would", async (t) => {
  const stage = await scene(t);
  const { root: token } = stage;
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  t.after(() => agent.destroy());
  const dice = new Dice(13);
  const call = (verb: string, path: string, body?: unknown) =>
    stage.server.call(verb, path, { token, body, agent });
  const file = (name: string) => join(stage.server.auditDirectory, `${name}.log`);
  const device = { type: "file", options: { file_path: file("raced") } };
  // Beside the raced ones, a device that stays: refusals are to come from the race alone.
  await stage.audit("stays");
  const objects: Readonly<Record<string, readonly (() => Promise<Answer>)[]>> = {
    namespace: [
      () => call("POST", NAMESPACE),
      () => call("POST", NAMESPACE, { custom_metadata: { a: "1" } }),
      () => call("PATCH", NAMESPACE, { custom_metadata: { b: "2" } }),
      () => call("DELETE", NAMESPACE),
      () => call("GET", NAMESPACE),
    ],
    "audit device": [
      () => call("POST", "/v1/sys/audit/raced", device),
      () => call("POST", "/v1/sys/audit/raced", { ...device, local: true }),
      () => call("DELETE", "/v1/sys/audit/raced"),
      () => call("GET", "/v1/sys/audit"),
    ],
    quota: [
      () => call("POST", "/v1/sys/quotas/rate-limit/a", { path: "acl/", rate: 1e6 }),
      () => call("POST", "/v1/sys/quotas/rate-limit/b", { path: "acl/", rate: 1e6 }),
      () => call("DELETE", "/v1/sys/quotas/rate-limit/a"),
      () => call("DELETE", "/v1/sys/quotas/rate-limit/b"),
      () => call("LIST", "/v1/sys/quotas/rate-limit"),
    ],
  };
  for (const [what, acts] of Object.entries(objects)) {
    const [first, ...others] = acts;
    assert.ok(first !== undefined);
    const statuses = new Set<number>();
    for (let run = 0; run < 60; run++) {
      const some: (typeof first)[] = Array.from({ length: 6 }, () => dice.of([first, ...others]));
      for (const { status, text } of await Promise.all(some.map((act) => act()))) {
        assert.ok(status < 500, `${what}: ${status} ${text}`);
        statuses.add(status);
      }
      // One quota on the path at most, and each device by one name: whichever came first.
      const quotas = at(await call("LIST", "/v1/sys/quotas/rate-limit"), "data", "keys");
      assert.ok(quotas === undefined || (Array.isArray(quotas) && quotas.length === 1));
    }
    assert.ok(statuses.size > 2, `${what}: ${[...statuses].join(" ")}`);
  }
  // Each is there or not, and can be made and taken away again.
  await stage.server.server.namespaces.idle();
  assert.equal((await call("POST", NAMESPACE)).status, 200);
  assert.equal((await call("DELETE", NAMESPACE)).status, 202);
  await call("DELETE", "/v1/sys/audit/raced");
  assert.equal((await call("POST", "/v1/sys/audit/raced", device)).status, 204);
  await stage.must("GET", "/v1/sys/key-status");
  const last = await call("GET", "/v1/sys/audit");
  const listed = at(last, "data") as Record<string, object>;
  assert.deepEqual(Object.keys(listed).toSorted(), ["raced/", "stays/"]);
  for (const name of ["raced", "stays"]) await bothRecords(file(name), at(last, "request_id"));
});

test("T-N13: of many that create the same thing at once one does, and the others are told", async (t) => {
  const stage = await scene(t);
  const { root: token } = stage;
  for (let run = 0; run < 20; run++) {
    const body = {
      type: "file",
      options: { file_path: join(stage.server.auditDirectory, `run-${run}.log`) },
    };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        stage.server.call("POST", `/v1/sys/audit/run-${run}`, { token, body }),
      ),
    );
    const made = answers.filter(({ status }) => status === 204);
    assert.equal(made.length, 1, answers.map(({ status }) => status).join(" "));
    await stage.must("DELETE", `/v1/sys/audit/run-${run}`);
    const created = await Promise.all(
      Array.from({ length: 8 }, () =>
        stage.server.call("POST", `/v1/sys/namespaces/r${run}`, { token }),
      ),
    );
    assert.equal(new Set(created.map((answer) => at(answer, "data", "uuid"))).size, 1);
  }
});

test("T-N14: a rate is counted by the address and the canonical path, before anything else", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const quota = { path: "team/sys/", rate: 3, interval: "1h" };
  await stage.must("POST", "/v1/sys/quotas/rate-limit/q", { body: quota });
  const { root } = stage;
  const call = (path: string, namespace?: string, token?: string, headers = {}) =>
    stage.server.call("GET", path, { namespace, token, headers });
  assert.equal((await call("/v1/team/sys/namespaces/x", undefined, root)).status, 404);
  assert.equal((await call("/v1/sys/namespaces/x", "team", root)).status, 404);
  assert.equal((await call("/v1/sys/namespaces/x", "/team/", root)).status, 404);
  // The three are used up, by whichever spelling and whoever asks.
  const refused = [
    await call("/v1/team/sys/namespaces/x", undefined, root),
    await call("/v1/sys/namespaces/y", "team", root),
    await call("/v1/sys/namespaces/x", "team"),
    await call("/v1/sys/namespaces/x", "team", "made-up"),
    await call("/v1/team/sys/namespaces?list=true", undefined, root),
    await call("/v1/sys/namespaces/x", "team", root, { "X-Forwarded-For": "192.0.2.7" }),
    await call("/v1/sys/namespaces/x", "team", root, { Forwarded: "for=192.0.2.7" }),
  ];
  const like = visible(refused[0] ?? assert.fail());
  for (const answer of refused) {
    assert.equal(answer.status, 429);
    assert.deepEqual(visible(answer), like, "nothing tells who asked, or for what");
  }
  assert.equal((await call("/v1/sys/namespaces/team", undefined, root)).status, 200, "elsewhere");
  assert.deepEqual(errorsOf(refused[0] ?? assert.fail()), errorsOf(refused[1] ?? assert.fail()));
});
