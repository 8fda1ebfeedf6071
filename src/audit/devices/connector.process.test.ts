// Real sockets: what arrives, what happens when nobody is there, and when the other side stalls.

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { aRequest, madeAudit, temporary } from "../../../tests/support/made/made-audit.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemClock } from "../../system/clock.ts";
import { SystemTimers } from "../../system/timers.ts";
import { SystemConnector } from "./connector.ts";

const connector = new SystemConnector(() => true);
const real = { clock: new SystemClock(), timers: new SystemTimers() };

interface Receiver {
  readonly lines: string[];
  readonly sockets: Socket[];
  readonly server: Server;
}

async function receiver(
  t: TestContext,
  on: { readonly port: number } | { readonly path: string },
  reads = true,
): Promise<Receiver> {
  const lines: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    let text = "";
    if (!reads) return void socket.pause();
    socket.on("data", (chunk: Buffer) => {
      const parts = (text + chunk.toString()).split("\n");
      text = parts.pop() ?? "";
      lines.push(...parts);
    });
  });
  server.listen({ host: "127.0.0.1", ...on });
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { lines, sockets, server };
}

function portOf(server: Server): number {
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

const socketDevice = (options: Record<string, string>) => ({
  path: "sock",
  type: "socket",
  description: "",
  local: false,
  options,
});

for (const kind of ["tcp", "unix"] as const) {
  test(`records arrive over ${kind}, a line each`, async (t) => {
    const path = join(temporary(t), "s");
    const made = await receiver(t, kind === "tcp" ? { port: 0 } : { path });
    const { audit } = await madeAudit(t, real);
    await audit.open();
    const address = kind === "tcp" ? `127.0.0.1:${portOf(made.server)}` : path;
    await audit.enable(socketDevice({ address, socket_type: kind }));
    await Promise.all([audit.request(aRequest(), ""), audit.request(aRequest(), "")]);
    await until(() => made.lines.length === 3);
    assert.deepEqual(
      made.lines.map((line) => JSON.parse(line).type),
      ["test", "request", "request"],
    );
    await audit.close();
  });
}

test("records arrive over udp, a datagram each", async (t) => {
  const socket = createSocket("udp4");
  t.after(() => socket.close());
  const got: string[] = [];
  socket.on("message", (message) => void got.push(message.toString()));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { audit } = await madeAudit(t, real);
  await audit.open();
  const address = `127.0.0.1:${socket.address().port}`;
  await audit.enable(socketDevice({ address, socket_type: "udp" }));
  await audit.request(aRequest(), "");
  await until(() => got.length === 2);
  assert.equal(JSON.parse(got[1]!).request.path, "secret/data/x");
  // One that fits into no datagram is refused here, not cut.
  const large = aRequest({ mountPoint: "m".repeat(70_000) });
  await assert.rejects(async () => audit.request(large, ""), /no audit device succeeded/);
  await audit.request(aRequest(), "");
  await audit.close();
});

test("a receiver that went away and came back is found again, and no record is lost", async (t) => {
  const path = join(temporary(t), "s");
  const first = await receiver(t, { path });
  const { audit } = await madeAudit(t, real);
  await audit.open();
  await audit.enable(socketDevice({ address: path, socket_type: "unix" }));
  await until(() => first.lines.length === 1);
  first.server.close();
  for (const socket of first.sockets) socket.destroy();
  await once(first.server, "close");
  const second = await receiver(t, { path });
  await audit.request(aRequest({ id: "after" }), "");
  await until(() => second.lines.some((line) => JSON.parse(line).request?.id === "after"));
  await audit.close();
});

test("T-G04: a receiver that stops reading holds nobody up longer than the time-out", async (t) => {
  const path = join(temporary(t), "s");
  const { sockets } = await receiver(t, { path }, false);
  const { audit, file } = await madeAudit(t, real);
  await audit.open();
  const options = { address: path, socket_type: "unix", write_timeout: "200ms" };
  await audit.enable({ ...socketDevice(options), skipTest: true });
  await until(() => sockets.length > 0);
  const large = aRequest({ mountPoint: "m".repeat(1_000_000) });
  const began = performance.now();
  await assert.rejects(
    (async () => {
      for (;;) await audit.request(large, ""); // until the kernel takes no more
    })(),
    /no audit device succeeded/,
  );
  assert.ok(performance.now() - began < 30_000);
  const only = { path: "file", type: "file", description: "", local: false };
  await audit.enable({ ...only, options: { file_path: file("a.log") } });
  const healthyToo = performance.now();
  for (let i = 0; i < 10; i++) await audit.request(large, "");
  assert.ok(performance.now() - healthyToo < 30_000);
  await audit.close();
});

test("nobody there: the way does not open, for every kind", async (t) => {
  const nobody = await receiver(t, { port: 0 });
  const port = portOf(nobody.server);
  nobody.server.close();
  await once(nobody.server, "close");
  await assert.rejects(connector.tcp({ host: "127.0.0.1", port }));
  await assert.rejects(connector.unix(join(temporary(t), "none")));
  const udp = await connector.udp({ host: "127.0.0.1", port });
  await udp.write(Buffer.from("x"));
  await until(() => udp.broken); // told by the network, after the fact
  await assert.rejects(udp.write(Buffer.from("y")));
});

test("logger passes lines on, and its end is noticed", async (t) => {
  const socket = createSocket("udp4");
  t.after(() => socket.close());
  const got: string[] = [];
  socket.on("message", (message) => void got.push(message.toString()));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  // To a port of ours: the machine of a test need not have a system log.
  const there = ["--server", "127.0.0.1", "--port", String(socket.address().port), "--udp"];
  const outlet = await connector.logger([...there, "--tag", "trail", "--priority", "auth.info"]);
  await outlet.write(Buffer.from('{"a":1}\n{"b":2}\n'));
  assert.equal(outlet.broken, false);
  await until(() => got.length === 2);
  assert.match(got[0]!, /^<38>.* trail .*\{"a":1\}$/);
  await outlet.close();
  const refusing = await connector.logger(["--no-such-option"]);
  await until(() => refusing.broken);
});

test("an address that is refused is not called, by number or by name", async (t) => {
  const refusing = new SystemConnector(() => false);
  const accepted: string[] = [];
  const server = createServer(() => accepted.push("tcp")).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const host of ["127.0.0.1", "localhost"]) {
    await assert.rejects(refusing.tcp({ host, port }), /records may not go to this address/);
    await assert.rejects(refusing.udp({ host, port }), /records may not go to this address/);
  }
  assert.deepEqual(accepted, []);
});
