// Wrapped activation tokens handed in at a primary: a server of our own in one test, and servers with TLS that answer as a
// test wants in the others.

import assert from "node:assert/strict";
import { mkdirSync, rmSync, mkdtempSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Address, Timers } from "@holdfast/shared/world";
import { type Pem, TestAuthority } from "../../../tests/support/certificates.ts";
import { FakeClock, FakeTimers } from "../../../tests/support/fake-world.ts";
import { at } from "../../../tests/support/http-client.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { failure } from "../../../tests/support/servers/sealed-node.ts";
import { startServer } from "../../../tests/support/servers/test-server.ts";
import { PeerCalls, type PeerCallsOptions } from "../../outbound/peer-calls.ts";
import { SystemFs } from "../../system/fs.ts";
import { SystemNet } from "../../system/net.ts";
import { SystemTimers } from "../../system/timers.ts";
import { ActivationKey, makeToken, openToken } from "./activation-token.ts";
import { type TrustOptions, unwrapAt } from "./unwrapping.ts";

const JWT = "e30.e30.c2ln";
const PUBLIC = "93.184.216.34";

/** What a primary has to hand over. */
async function wrapped(): Promise<{ stage: SetStage; wrap: JsonObject }> {
  const stage = await SetStage.start();
  const place = { address: ADDRESS, epoch: EPOCH };
  const { random } = stage.made.world;
  const token = await makeToken(stage.secondaries, { id: "berlin" }, place, random);
  assert.ok(token.form === "wrapped");
  return { stage, wrap: token.wrap };
}

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

function handing(data: unknown): Answering {
  return (_, response) => void response.end(JSON.stringify({ data }));
}

/** A host with TLS; gives its port. */
async function host(
  t: TestContext,
  { cert, key }: Pem,
  answering: Answering,
  options: ServerOptions = {},
): Promise<number> {
  const server = createServer({ cert, key, ...options }, answering);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

interface Reach extends Partial<PeerCallsOptions> {
  readonly trust?: TrustOptions;
  readonly timers?: Timers;
}

/** A name that the primary is known by stands for `address`; whatever is connected to ends at loopback. */
function reaching(
  address: string,
  connected: string[] = [],
): Pick<PeerCallsOptions, "net" | "resolve"> {
  const real = new SystemNet();
  return {
    resolve: () => Promise.resolve([address]),
    net: {
      connect: (to: Address, signal?: AbortSignal) => {
        connected.push(`${to.host}:${to.port}`);
        return real.connect({ host: "127.0.0.1", port: to.port }, signal);
      },
    },
  };
}

function unwrap(
  address: string,
  { trust = {}, timers = new SystemTimers(), ...reach }: Reach = {},
) {
  const calls = new PeerCalls({ allow: [], dev: true, net: new SystemNet(), timers, ...reach });
  const { signal } = new AbortController();
  const clock = new FakeClock(BigInt(Date.now()) * 1_000_000n);
  const request = { jwt: JWT, address: "", primaryApiAddress: address, trust, signal } as const;
  return unwrapAt({ ...request, kind: "dr" }, { calls, clock, fs: new SystemFs() });
}

test("a server of ours unwraps it once, whoever hands it in", async (t) => {
  const { wrap } = await wrapped();
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const answer = await server.call("POST", "/v1/sys/wrapping/wrap", {
    token,
    headers: { "X-Service-Wrap-TTL": "60s", "X-Service-Wrap-Format": "jwt" },
    body: wrap,
  });
  const jwt = String(at(answer, "wrap_info", "token"));
  const made = await madeBarrier();
  const clock = new FakeClock(BigInt(Date.now()) * 1_000_000n);
  const key = new ActivationKey(made.barrier.view("core/replication/dr/"));
  const opened = openToken(jwt, { kind: "dr", key, clock });
  assert.ok(opened.form === "wrapped");
  const timers = new SystemTimers();
  const calls = new PeerCalls({ allow: [], dev: true, net: new SystemNet(), timers });
  const { signal } = new AbortController();
  const world = { calls, clock, fs: new SystemFs() };
  const primaryApiAddress = `${server.url}/`;
  const request = { ...opened, primaryApiAddress, trust: {}, kind: "dr", signal } as const;
  const altered = { ...request, jwt: `${jwt.slice(0, -4)}AAAA` };
  const refusal = failure("invalid", /refuses the activation token/);
  await assert.rejects(unwrapAt(altered, world), refusal);
  const activation = await unwrapAt(request, world);
  assert.deepEqual([activation.id, activation.address], ["berlin", ADDRESS]);
  await assert.rejects(unwrapAt(request, world), refusal);
  await assert.rejects(
    unwrapAt({ ...request, primaryApiAddress: "" }, world),
    failure("invalid", /give primary_api_addr/),
  );
});

test("trust is what the operator says for this one call: a text, a file, a directory", async (t) => {
  const { wrap } = await wrapped();
  const [authority, other] = await Promise.all([
    TestAuthority.make(),
    TestAuthority.make("CN=Other"),
  ]);
  const seen: IncomingMessage[] = [];
  const port = await host(t, await authority.issue("primary"), (request, response) => {
    seen.push(request);
    handing(wrap)(request, response);
  });
  const directory = mkdtempSync(join(tmpdir(), "holdfast-trust-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "ca.pem");
  writeFileSync(file, `${other.pem}\n${authority.pem}`);
  writeFileSync(join(directory, "notes.txt"), "no certificate");
  const address = `https://127.0.0.1:${port}`;
  for (const trust of [{ caPem: authority.pem }, { caFile: file }, { caPath: directory }]) {
    assert.equal((await unwrap(address, { trust })).id, "berlin");
  }
  assert.deepEqual(
    seen.map(({ method, url, headers }) => [method, url, headers["x-service-token"]]),
    Array.from({ length: 3 }, () => ["POST", "/v1/sys/wrapping/unwrap", JWT]),
  );
  const unreachable = failure("upstream", /cannot be reached/);
  for (const trust of [{}, { caPem: other.pem }]) {
    await assert.rejects(unwrap(address, { trust }), unreachable);
  }
  await assert.rejects(
    unwrap(`https://[::1]:${port}`, { ...reaching("::1"), trust: { caPem: authority.pem } }),
    unreachable, // its certificate is for another name
  );
  assert.equal(seen.length, 3, "nobody else was sent the token");
  const empty = join(directory, "empty");
  mkdirSync(empty);
  for (const trust of [
    { caFile: join(directory, "none") },
    { caFile: directory },
    { caFile: join(directory, "notes.txt") },
    { caPath: empty },
    { caPath: join(directory, "none") },
    { caPem: "x" },
    { caPem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
  ]) {
    await assert.rejects(unwrap(address, { trust }), failure("invalid", /certificates in PEM/));
  }
});

test("a primary that wants a certificate of its callers gets the one that the operator gives", async (t) => {
  const { wrap } = await wrapped();
  const authority = await TestAuthority.make();
  const own = await authority.issue("primary");
  const caPem = authority.pem;
  const wants = { ca: caPem, requestCert: true, rejectUnauthorized: true };
  const port = await host(t, own, handing(wrap), wants);
  const client = await authority.issue("joining", "03");
  const clientCertPem = client.cert;
  const clientKeyPem = client.key;
  const address = `https://localhost:${port}`;
  const reach = reaching("127.0.0.1");
  const trust = { caPem, clientCertPem, clientKeyPem };
  assert.equal((await unwrap(address, { ...reach, trust })).id, "berlin");
  await assert.rejects(unwrap(address, { ...reach, trust: { caPem } }), failure("upstream", /./));
  for (const bad of [
    { clientCertPem },
    { clientKeyPem },
    { clientCertPem, clientKeyPem: own.key },
    { clientCertPem: "x", clientKeyPem },
  ]) {
    const attempt = unwrap(address, { ...reach, trust: { caPem, ...bad } });
    await assert.rejects(attempt, failure("invalid", /a certificate and its key/));
  }
});

test("one redirect to the active node is followed, judged like the first address", async (t) => {
  const { wrap } = await wrapped();
  const authority = await TestAuthority.make();
  const pem = await authority.issue("primary");
  const trust = { caPem: authority.pem };
  const active = await host(t, pem, handing(wrap));
  const redirecting = (to: string, status = 307) =>
    host(t, pem, (_, response) => void response.writeHead(status, { Location: to }).end());
  const path = "/v1/sys/wrapping/unwrap";
  const once = await redirecting(`https://127.0.0.1:${active}${path}`);
  assert.equal((await unwrap(`https://127.0.0.1:${once}`, { trust })).id, "berlin");
  const twice = await redirecting(`https://127.0.0.1:${once}${path}`);
  const noAnswer = failure("upstream", /did not hand over/);
  await assert.rejects(unwrap(`https://127.0.0.1:${twice}`, { trust }), noAnswer);
  const moved = await redirecting(`https://127.0.0.1:${active}${path}`, 302);
  await assert.rejects(unwrap(`https://127.0.0.1:${moved}`, { trust }), noAnswer);
  const inside = await redirecting(`https://169.254.169.254:${active}${path}`);
  const forbidden = failure("invalid", /may not be called/);
  await assert.rejects(unwrap(`https://127.0.0.1:${inside}`, { trust }), forbidden);
  const plain = await redirecting(`http://primary.example:${active}${path}`);
  await assert.rejects(
    unwrap(`https://127.0.0.1:${plain}`, { trust, ...reaching("10.0.0.1") }),
    forbidden,
  );
  // Also to this machine itself, where nobody tries things out.
  const listed = { trust, dev: false, allow: ["127.0.0.1"] };
  const here = await redirecting(`http://127.0.0.1:${active}${path}`);
  await assert.rejects(unwrap(`https://127.0.0.1:${here}`, listed), forbidden);
  assert.equal((await unwrap(`https://127.0.0.1:${once}`, listed)).id, "berlin");
  const nowhere = await redirecting("");
  await assert.rejects(unwrap(`https://127.0.0.1:${nowhere}`, { trust }), failure("upstream", /./));
});

test("private and public addresses are called, this machine where it is listed, and others never", async (t) => {
  const { wrap } = await wrapped();
  const authority = await TestAuthority.make();
  const names = [{ type: "dns", value: "primary.example" }] as const;
  const port = await host(t, await authority.issue("primary", "02", { names }), handing(wrap));
  const trust = { caPem: authority.pem };
  const url = `https://primary.example:${port}`;
  const connected: string[] = [];
  const call = (address: string, more: Reach = {}) =>
    unwrap(url, { dev: false, trust, ...reaching(address, connected), ...more });
  for (const address of ["10.1.2.3", "192.168.0.9", "fd12::1", PUBLIC]) {
    assert.equal((await call(address)).id, "berlin", address);
  }
  assert.equal((await call("127.0.0.1", { allow: ["127.0.0.1"] })).id, "berlin");
  assert.equal((await call("127.0.0.1", { allow: ["primary.example"] })).id, "berlin");
  assert.equal((await call("127.0.0.1", { dev: true })).id, "berlin");
  const before = connected.length;
  const forbidden = failure("invalid", /^primary_api_addr: .*may not be called/);
  for (const address of ["127.0.0.1", "::1", "0.0.0.0", "64:ff9b::a00:1", "::ffff:10.0.0.1"]) {
    await assert.rejects(call(address), forbidden, address);
  }
  const allow = ["169.254.0.0/16", "fe80::/10", "168.63.129.16", "primary.example"];
  for (const address of ["169.254.169.254", "fe80::1", "168.63.129.16", "fd00:ec2::254"]) {
    await assert.rejects(call(address, { allow, dev: true }), forbidden, address);
  }
  assert.equal(connected.length, before, "nothing was connected to");
});

test("an address that is none, or without TLS, is refused before anything is sent", async () => {
  const connected: string[] = [];
  const reach = reaching("10.0.0.1", connected);
  for (const address of [
    "x",
    "ftp://a.example",
    "https://u:p@a.example",
    "https://a.example/?q",
    "https://2130706433/",
  ]) {
    await assert.rejects(unwrap(address, reach), failure("invalid", /^primary_api_addr/), address);
  }
  const plain = "http://a.example:8200";
  await assert.rejects(unwrap(plain, { ...reach, dev: false }), failure("invalid", /https/));
  await assert.rejects(unwrap(plain, reach), failure("invalid", /only https/));
  assert.deepEqual(connected, []);
});

test("what is no answer, too long, or of another primary is refused with what it is", async (t) => {
  const { wrap } = await wrapped();
  const authority = await TestAuthority.make();
  const pem = await authority.issue("primary");
  const trust = { caPem: authority.pem };
  const call = async (answering: Answering) =>
    unwrap(`https://127.0.0.1:${await host(t, pem, answering)}`, { trust });
  const status =
    (code: number): Answering =>
    (_, response) =>
      void response.writeHead(code).end();
  await assert.rejects(call(status(403)), failure("invalid", /refuses the activation token/));
  await assert.rejects(call(status(503)), failure("upstream", /status 503/));
  for (const body of ["", "x", "[]", '{"data":null}', '{"data":7}']) {
    const answering: Answering = (_, response) => void response.end(body);
    await assert.rejects(call(answering), failure("upstream", /did not hand over/), body);
  }
  const long = handing("A".repeat(70_000));
  await assert.rejects(call(long), failure("upstream", /the primary: /));
  await assert.rejects(
    call(handing({ ...wrap, mode: "performance" })),
    failure("invalid", /not one for dr/),
  );
  await assert.rejects(call(handing({ ...wrap, id: "paris" })), failure("invalid", /client_cert/));
});

test("a primary that does not answer is waited for five seconds", async (t) => {
  const authority = await TestAuthority.make();
  const { promise: came, resolve } = Promise.withResolvers<void>();
  const port = await host(t, await authority.issue("primary"), () => resolve());
  const timers = new FakeTimers(new FakeClock());
  const trust = { caPem: authority.pem };
  let over = false;
  const call = unwrap(`https://127.0.0.1:${port}`, { trust, timers }).finally(() => (over = true));
  const refusal = assert.rejects(call, failure("upstream", /the primary: /));
  await came;
  await timers.advance(5n * SECOND - 1n);
  assert.equal(over, false);
  await timers.advance(1n);
  await refusal;
});
