// A plugin by the wire alone, for tests of what runs plugins: it does what its arguments and its calls say, well or badly.

import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { connect as connectUnix, createServer as createPlainServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import {
  callUnary,
  serveBidirectional,
  serveUnary,
  serviceTable,
} from "@holdfast/shared/grpc/method";
import { ServerSession } from "@holdfast/shared/grpc/server-session";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { Sweep } from "@holdfast/shared/sweep";
import { makeCertificate, pemOf } from "@holdfast/plugin-sdk/wire/certificate";
import {
  chooseProtocol,
  Variable,
  writeHandshake,
  writeReattach,
} from "@holdfast/plugin-sdk/wire/handshake";
import { AUTHORITY, PLUGIN_LIMITS } from "@holdfast/plugin-sdk/wire/limits";
import { backend, BackendType, version } from "@holdfast/plugin-sdk/wire/backend";
import {
  broker,
  controller,
  health,
  multiplexing,
  MULTIPLEX_ID,
  SERVING,
} from "@holdfast/plugin-sdk/wire/processes";
import { storage } from "@holdfast/plugin-sdk/wire/storage";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import { SmallEngine } from "./small-engine.ts";
import { ask } from "./small-plugin-calls.ts";

const options = new Set(process.argv.slice(2));
const env = process.env;

for (const option of options) {
  const [name, file] = option.split("=");
  if (name === "--fails-while" && file !== undefined && existsSync(file)) {
    writeSync(2, "[ERROR] the file is there\n");
    process.exit(3);
  }
  if (name === "--counts" && file !== undefined) writeFileSync(file, "x", { flag: "a" });
  if (name === "--child-of" && file !== undefined) {
    const child = spawn("/bin/sleep", ["3600"], { stdio: "inherit" });
    writeFileSync(file, String(child.pid));
  }
}
if (options.has("--rubbish")) console.log("Hello, I am no plugin\u001b[31m");
if (options.has("--four-fields")) console.log("1|5|unix|/tmp/x");
if (options.has("--netrpc")) console.log("1|5|unix|/tmp/x|netrpc");
if (options.has("--elsewhere")) console.log("1|5|unix|/tmp/elsewhere|grpc|" + "A".repeat(400));
if (options.has("--exits")) {
  writeSync(2, "[ERROR] it begins badly\n");
  process.exit(7);
}
if (options.has("--silent") || options.has("--rubbish"))
  await new Promise((resolve) => setTimeout(resolve, 3600_000));
if (options.has("--endless")) {
  const piece = Buffer.alloc(1024 * 1024, "x");
  for (let i = 0; i < 1024;) i += writeSync(1, piece) / piece.length;
}

const clock = new SystemClock();
const timers = new SystemTimers();
const world = { clock, timers, sweep: new Sweep(clock, timers) };
const own = makeCertificate({ clock, random: new SystemRandom() });
/** Somebody debugs it: it is attached to, without TLS. */
const isDebugged = options.has("--test-mode");
const host = isDebugged ? null : new X509Certificate(env[Variable.certificate] ?? "");
const folder = env[Variable.socketDirectory] ?? env["TMPDIR"] ?? "";
const tls = {
  key: own.keyPem,
  cert: own.certificatePem,
  ...(host === null ? {} : { ca: pemOf(host.raw) }),
  ALPNProtocols: ["h2"],
  servername: options.has("--old-library") ? "unused" : AUTHORITY,
};

const services = new Map<number, string>();
let services_changed = Promise.withResolvers<void>();
const instances = new Map<string, number>(); // by id: number of the service

async function addressOf(id: number): Promise<string> {
  for (;;) {
    const address = services.get(id);
    if (address !== undefined) return address;
    await services_changed.promise;
  }
}

async function reach(id: number): Promise<ClientSession> {
  const path = await addressOf(id);
  const raw = connectUnix({ path });
  const socket = isDebugged ? raw : connect({ socket: raw, ...tls });
  await new Promise<void>((resolve, reject) =>
    socket.once(isDebugged ? "connect" : "secureConnect", resolve).once("error", reject),
  );
  return new ClientSession(socket, AUTHORITY, world, PLUGIN_LIMITS);
}

const logs = [...options].find((option) => option.startsWith("--log="));
const engine = new SmallEngine(logs === undefined ? null : logs.slice("--log=".length));
const sessions = new Map<string, Promise<ClientSession>>();

let ids = 0;
const [saidVersion = "v1.2.3"] = [...options].flatMap((option) =>
  option.startsWith("--version=") ? [option.slice("--version=".length)] : [],
);
const table = serviceTable<null>([
  serveUnary(health.check, async () => ({ status: options.has("--unwell") ? 2 : SERVING })),
  serveUnary(controller.shutdown, async () => {
    if (!options.has("--deaf")) process.exit(0);
    return {};
  }),
  serveBidirectional(broker.startStream, async function* (announced) {
    for await (const { serviceId, address } of announced) {
      services.set(serviceId, address);
      services_changed.resolve();
      services_changed = Promise.withResolvers();
    }
    yield* [];
  }),
  ...(options.has("--multiplexes")
    ? [serveUnary(multiplexing.support, async () => ({ supported: true }))]
    : []),
  serveUnary(backend.setup, async ({ brokerId, config }, call) => {
    const id = call.metadata(MULTIPLEX_ID) ?? "";
    instances.set(id, brokerId);
    sessions.delete(id);
    engine.setUp(id, config, () => {
      const known = sessions.get(id) ?? reach(brokerId);
      sessions.set(id, known);
      return known;
    });
    return { err: config.get("refuses") === "setup" ? "it does not like its options" : "" };
  }),
  serveUnary(backend.type, async () => ({
    type: options.has("--auth") ? BackendType.auth : BackendType.secret,
  })),
  ...engine.services,
  serveUnary(version.version, async () => ({ pluginVersion: saidVersion })),
  serveUnary(ask, async ({ what, text }, call) => {
    const id = call.metadata(MULTIPLEX_ID) ?? "";
    switch (what) {
      case "pid":
        return { text: String(process.pid) };
      case "id":
        return { text: id };
      case "environment":
        return { text: JSON.stringify(env) };
      case "arguments":
        return { text: JSON.stringify(process.argv.slice(2)) };
      case "read":
        try {
          return { text: readFileSync(text, "utf8") };
        } catch (error) {
          throw new StatusError(Status.notFound, (error as Error).message);
        }
      case "status":
        return { text: readFileSync("/proc/self/status", "utf8") };
      case "prints":
        for (const line of text.split("\n")) writeSync(2, `${line}\n`);
        return { text: "" };
      case "floods": {
        const line = Buffer.from(`${"y".repeat(99)}\n`.repeat(1000));
        const flood = () => void process.stderr.write(line, flood);
        flood();
        return { text: "" };
      }
      case "takes memory": {
        const kept: Buffer[] = [];
        for (let taken = 0; taken < Number(text); taken += 2 ** 20)
          kept.push(Buffer.alloc(2 ** 20, 1));
        return { text: String(kept.length) };
      }
      case "writes":
        try {
          writeFileSync(text, "x");
          return { text: "written" };
        } catch (error) {
          return { text: (error as NodeJS.ErrnoException).code ?? "" };
        }
      case "interfaces":
        return { text: JSON.stringify(Object.keys(networkInterfaces())) };
      case "counts":
        return { text: String(++ids) };
      case "exits":
        writeSync(2, "panic: it was asked to\ngoroutine 1\n");
        process.exit(9);
      case "does and exits":
        writeFileSync(text, "x", { flag: "a" });
        process.exit(9);
      case "never":
        return await new Promise<never>(() => {});
      case "blocks":
        for (;;);
      case "stores": {
        const session = await reach(instances.get(id) ?? 0);
        const { entry } = await callUnary(session, storage.get, { key: text, txn: "" });
        session.drain();
        return { text: Buffer.from(entry?.value ?? "").toString() };
      }
      default:
        return { text };
    }
  }),
]);

const path = join(folder, "plugin1");
if (isDebugged) {
  createPlainServer((socket) => {
    new ServerSession(socket, world, { table, peer: null, limits: PLUGIN_LIMITS });
  }).listen({ path }, () => {
    console.log(writeReattach("small", { protocol: 5, pid: process.pid, address: path }));
  });
}
const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: false }, (socket) => {
  socket.on("error", () => {});
  if (!socket.getPeerX509Certificate()?.raw.equals(host?.raw ?? Buffer.alloc(0)))
    return void socket.destroy();
  const session = new ServerSession(socket, world, { table, peer: null, limits: PLUGIN_LIMITS });
  void session.closed.then(() => {
    if (!options.has("--deaf")) process.exit(0);
  });
});
if (!isDebugged)
  server.listen({ path }, () => {
    const certificate = options.has("--other-certificate")
      ? makeCertificate({ clock, random: new SystemRandom() }).certificate
      : own.certificate;
    const protocol = chooseProtocol(env[Variable.protocols], [5, 6]);
    console.log(
      writeHandshake({ protocol, network: "unix", address: path, certificate, multiplexes: null }),
    );
  });
