// The life of a real server process, as its operators see it: initialise, unseal, seal, kill, stop, reload.

import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { type TLSSocket } from "node:tls";
import { Prng } from "../../sim/prng.ts";
import { CertificateFiles, TestAuthority } from "../../tests/support/certificates.ts";
import { at, call, errorsOf } from "../../tests/support/http-client.ts";
import { Api, NodePlace, ServerProcess } from "./api-server.ts";
import { discard, scratch } from "../child.ts";

const random = new Prng(20261115);

/** Starts servers on one directory; what still runs at the end of the test is killed. */
function node(t: TestContext): (listener?: string) => ServerProcess {
  const scene = scratch("api-life");
  const started: ServerProcess[] = [];
  t.after(async () => {
    for (const server of started) await server.kill();
    discard(scene);
  });
  return (listener) => {
    const place = new NodePlace(join(scene, "node"));
    const beside = join(scene, `beside${started.length}`);
    const server = new ServerProcess({ place, beside, ...(listener && { listener }) });
    started.push(server);
    return server;
  };
}

const team = "sys/namespaces/team";
const body = { custom_metadata: { owner: "platform", tier: "gold" } };

async function readsBack(api: Api): Promise<void> {
  const read = await api.expect([200], "GET", team);
  assert.deepEqual(at(read, "data", "custom_metadata"), body.custom_metadata);
}

test("init, unseal, write, seal, unseal, kill -9, restart, unseal: what was written is there", async (t) => {
  const start = node(t);
  const first = start();
  const url = await first.ready;
  const keys = await new Api(url).init();
  assert.equal(keys.shares.length, 5);
  const api = new Api(url, keys.token);
  assert.equal((await api.call("POST", team, { body })).status, 503);
  await api.unseal(keys, random);
  await api.expect([200], "POST", team, { body: { custom_metadata: { owner: "platform" } } });
  await api.expect([200], "PATCH", team, { body: { custom_metadata: { tier: "gold" } } });
  await readsBack(api);

  await api.expect([204], "POST", "sys/seal");
  for (const path of [team, "sys/audit", "sys/key-status", "sys/metrics", "sys/nothing", "kv/x"]) {
    const answer = await api.call("GET", path);
    assert.deepEqual([answer.status, errorsOf(answer)], [503, ["service is sealed"]], path);
  }
  for (const path of ["sys/init", "sys/seal-status", "sys/leader", "sys/health?sealedcode=200"]) {
    assert.equal((await api.call("GET", path)).status, 200, path);
  }
  await api.unseal(keys, random);
  await readsBack(api);

  await api.expect([200], "POST", "sys/namespaces/last", { body: {} });
  assert.equal((await first.kill()).signal, "SIGKILL");
  const second = start();
  const again = new Api(await second.ready, keys.token);
  assert.equal((await again.call("GET", team)).status, 503);
  await again.unseal(keys, random);
  await readsBack(again);
  await again.expect([200], "GET", "sys/namespaces/last");
});

test("of two inits at the same time one answers 200 and the other 400", async (t) => {
  const url = await node(t)().ready;
  const both = await Promise.all([1, 2].map(() => call(url, "POST", "/v1/sys/init", { body: {} })));
  const [made, refused] = both.toSorted((a, b) => a.status - b.status);
  assert.deepEqual([made?.status, refused?.status], [200, 400]);
  assert.deepEqual(refused && errorsOf(refused), ["service is already initialized"]);
});

test("a second server on the same data ends with 3 and says why; the first goes on", async (t) => {
  const start = node(t);
  const url = await start().ready;
  const second = start();
  await assert.rejects(second.ready);
  const { code, errors } = await second.ended;
  assert.equal(code, 3);
  assert.match(errors, /the storage at \S+ is in use by another process/);
  assert.equal((await call(url, "GET", "/v1/sys/init")).status, 200);
});

test("SIGTERM ends with 0, and what was written is there after the next start", async (t) => {
  const start = node(t);
  const first = start();
  const url = await first.ready;
  const keys = await new Api(url).init();
  const api = new Api(url, keys.token);
  await api.unseal(keys, random);
  await api.expect([200], "POST", team, { body });
  first.process.kill("SIGTERM");
  assert.deepEqual([(await first.ended).code, (await first.ended).signal], [0, null]);
  const again = new Api(await start().ready, keys.token);
  await again.unseal(keys, random);
  await readsBack(again);
});

test("SIGHUP with a new certificate: new connections see it, one that is open goes on", async (t) => {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("first", "11"));
  const { certFile, keyFile } = files;
  const listener = `tls_cert_file = "${certFile}"\n  tls_key_file = "${keyFile}"`;
  const server = node(t)(listener);
  const url = await server.ready;
  const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.pem });
  t.after(() => kept.destroy());
  const before = await ask(url, kept);
  assert.deepEqual([before.status, before.serial], [200, "11"]);

  files.write(await authority.issue("second", "22"));
  server.process.kill("SIGHUP");
  await until(() => server.log.includes("reloaded"));
  const same = await ask(url, kept);
  assert.deepEqual([same.status, same.serial, same.port], [200, "11", before.port]);
  const fresh = new Agent({ ca: authority.pem });
  const after = await ask(url, fresh);
  assert.deepEqual([after.status, after.serial], [200, "22"]);
});

interface Heard {
  readonly status: number | undefined;
  /** Of the certificate that the server showed on this connection. */
  readonly serial: string;
  /** Ours: tells connections apart. */
  readonly port: number | undefined;
}

async function ask(url: string, agent: Agent): Promise<Heard> {
  const sent = request(`${url}/v1/sys/init`, { agent });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const socket = response.socket as TLSSocket;
  const { serialNumber } = socket.getPeerCertificate();
  const heard = { status: response.statusCode, serial: serialNumber, port: socket.localPort };
  response.resume();
  await once(response, "end");
  return heard;
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < end, "it never came to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
