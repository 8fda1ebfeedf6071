// `holdfast status -wait` and `-alive`: what units, containers and scripts go by after they started a server.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import net, { type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { SystemClock } from "../../src/system/clock.ts";
import { makeDevCertificate } from "../../src/daemon/dev/dev-certificate.ts";
import { configured, PROGRAM, StartedServer } from "../support/servers/started-server.ts";
import { FakeServer } from "./fakes/fake-server.ts";
import { makeHome, run } from "./harness.ts";

function cli(t: TestContext, address: string, args: readonly string[]) {
  const home = makeHome((call) => t.after(call));
  return run(args, { env: { HOLDFAST_ADDR: address, HOME: home } });
}

async function listening(t: TestContext, listener: net.Server): Promise<string> {
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  t.after(() => listener.close());
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

test("status -wait goes on past connections that are not answered, until one is", async (t) => {
  let connections = 0;
  const body = '{"initialized":false,"sealed":true}';
  const starting = net.createServer((socket) => {
    socket.on("error", () => {});
    connections += 1;
    if (connections < 3) socket.destroy();
    else
      socket.once("data", () =>
        socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
        ),
      );
  });
  const ran = await cli(t, await listening(t, starting), ["status", "-wait", "10m"]);
  assert.equal(ran.code, 2, ran.all);
  assert.equal(connections, 3);
});

test("status -wait waits for a socket that is not there yet", async (t) => {
  const { home, config } = configured(t, "");
  const socket = `${home}/api.sock`;
  const extra = `${home}/socket.hcl`;
  writeFileSync(extra, `listener "unix" { address = "${socket}" }\n`);
  const waiting = cli(t, `unix://${socket}`, ["status", "-alive", "-wait", "10m"]);
  const server = new StartedServer(t, home, [
    PROGRAM,
    "server",
    "--config",
    config,
    "--config",
    extra,
  ]);
  const ran = await waiting;
  assert.equal(ran.code, 0, ran.all);
  assert.match(ran.stdout, /^Initialized +false$/m);
  assert.equal(await server.stop(), 0);
});

test("after the given time it says what stood in the way", async (t) => {
  const gone = net.createServer();
  const address = await listening(t, gone);
  await new Promise((resolve) => gone.close(resolve));
  const refused = await cli(t, address, ["status", "-wait", "2s"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /nothing is listening at/);

  const sockets: net.Socket[] = [];
  const mute = net.createServer((socket) => void sockets.push(socket.on("error", () => {})));
  const silent = await cli(t, await listening(t, mute), ["status", "-wait", "50ms"]);
  for (const socket of sockets) socket.destroy();
  assert.equal(silent.code, 1);
  assert.match(silent.stderr, /no answer came within 50ms/);
});

test("what waiting does not mend is told at once", async (t) => {
  const now = new SystemClock().now();
  const made = await makeDevCertificate([{ type: "ip", value: "127.0.0.1" }], now);
  const server = await FakeServer.start({ cert: made.certificate, key: made.key });
  const ran = await cli(t, server.address, ["status", "-wait", "10h"]);
  await server.stop();
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /authority that is not trusted/);
});

test("-alive: a sealed server is not one to restart; one that does not answer is", async (t) => {
  const server = await FakeServer.start();
  const { address } = server;
  assert.equal((await cli(t, address, ["status"])).code, 2);
  assert.equal((await cli(t, address, ["status", "-alive"])).code, 0);
  await server.stop();
  assert.equal((await cli(t, address, ["status", "-alive"])).code, 1);
});
