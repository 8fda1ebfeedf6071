// An engine as a program of its own: `serve(type)` at the end of its file, and whoever starts plugins of the ecosystem can start
// it. The same type is built in by being named in the server.

import { X509Certificate } from "node:crypto";
import { writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe } from "@holdfast/shared/failure";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { ServerSession } from "@holdfast/shared/grpc/server-session";
import { Sweep } from "@holdfast/shared/sweep";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineType } from "../engine.ts";
import { makeCertificate } from "../wire/certificate.ts";
import {
  chooseProtocol,
  ENGINE_COOKIE,
  ENGINE_PROTOCOLS,
  Variable,
  writeHandshake,
} from "../wire/handshake.ts";
import { AUTHORITY, PLUGIN_LIMITS } from "../wire/limits.ts";
import type { TransactionsNeeded } from "./describe.ts";
import { type Certificates, listen, reach } from "./door.ts";
import { Numbered } from "./numbered.ts";
import { clock, random, timers } from "./own-world.ts";
import { pluginLog } from "./plugin-log.ts";
import { Services } from "./plugin-calls.ts";

export interface ServeOptions {
  /** "none": it does without, under hosts that have none. Default "needed". */
  readonly transactions?: TransactionsNeeded;
}

/** For what is under way when the host lets it go. */
const CLOSES_WITHIN: Nanos = SECOND;

/** Asked by whoever has built it. */
const ABOUT = "--about";

const HINT = `This program is a plugin: a server starts it, nobody runs it by hand.
Register it and mount it:
  holdfast plugin register -command=FILE -sha256=SUM secret NAME
  holdfast secrets enable NAME
`;

/** Resolves when it can be reached; the process then lives as long as its host wants it. */
export async function serve<E>(type: EngineType<E>, options: ServeOptions = {}): Promise<void> {
  const { env } = process;
  if (process.argv[2] === ABOUT) {
    const { type: name, kind, version } = type;
    writeSync(1, `${JSON.stringify({ type: name, kind, version })}\n`);
    process.exit(0);
  }
  const hostCertificate = env[Variable.certificate] ?? "";
  if (env[ENGINE_COOKIE.name] !== ENGINE_COOKIE.value || hostCertificate === "") {
    writeSync(2, HINT);
    process.exit(1);
  }
  const write = (line: string) => void process.stderr.write(line);
  const log = pluginLog({ clock, write });
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    const at = level === "log" ? "info" : level;
    console[level] = (...said: unknown[]) => log[at](said.map(printed).join(" "));
  }
  process.on("SIGINT", () => {}); // that of a terminal is for the server
  const broken = (error: unknown) => {
    writeSync(2, `panic: ${describe(error)}\n`);
    process.exit(2);
  };
  process.on("uncaughtException", broken);
  process.on("unhandledRejection", broken);

  const own = makeCertificate({ clock, random });
  const certificates: Certificates = { own, host: new X509Certificate(hostCertificate) };
  const world = { clock, timers, sweep: new Sweep(clock, timers) };
  const numbered = new Numbered(timers);
  let isLeaving = false;
  const services = new Services({
    type,
    transactions: options.transactions ?? "needed",
    log,
    environment: env,
    isProbed: env["VAULT_PLUGIN_METADATA_MODE"] === "true",
    reach: async (id) => {
      const socket = await reach(await numbered.address(id), certificates);
      return new ClientSession(socket, AUTHORITY, world, PLUGIN_LIMITS);
    },
    announced: (id, address) => numbered.announced(id, address),
    leave: () => {
      if (isLeaving) return;
      isLeaving = true;
      timers.after(CLOSES_WITHIN, () => process.exit(0));
      void services.close().finally(() => process.exit(0));
    },
  });
  const table = serviceTable<null>(services.all());
  const folder = env[Variable.socketDirectory] ?? tmpdir();
  const path = join(folder, `plugin${process.pid}`);
  const trouble = (call: string, error: unknown) =>
    log.error("a call failed", { call, cause: describe(error) });
  await listen(path, certificates, (socket) => {
    new ServerSession(socket, world, { table, peer: null, limits: PLUGIN_LIMITS, trouble });
  });
  const protocol = chooseProtocol(env[Variable.protocols], ENGINE_PROTOCOLS);
  const line = writeHandshake({
    protocol,
    network: "unix",
    address: path,
    certificate: own.certificate,
    multiplexes: env[Variable.multiplexGrpc] === undefined ? null : false,
  });
  writeSync(1, `${line}\n`);
}

function printed(value: unknown): string {
  return typeof value === "string" ? value : inspect(value, { depth: 2, breakLength: Infinity });
}
