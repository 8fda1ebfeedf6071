// The process of a plugin, whatever it serves: it is started by a host, says in one line where it is reached, and lives as long
// as its host wants it.

import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe } from "@holdfast/shared/failure";
import { type Served, serviceTable } from "@holdfast/shared/grpc/method";
import { ServerSession } from "@holdfast/shared/grpc/server-session";
import type { SessionWorld } from "@holdfast/shared/grpc/session-life";
import { Sweep } from "@holdfast/shared/sweep";
import type { Log } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { makeCertificate } from "../wire/certificate.ts";
import {
  chooseProtocol,
  type Cookie,
  Variable,
  writeHandshake,
  writeReattach,
} from "../wire/handshake.ts";
import { PLUGIN_LIMITS } from "../wire/limits.ts";
import { type Certificates, listen } from "./door.ts";
import { clock, random, timers } from "./own-world.ts";
import { pluginLog } from "./plugin-log.ts";

export interface PluginKind {
  /** Such as "totp". */
  readonly name: string;
  readonly cookie: Cookie;
  readonly protocols: readonly number[];
  /** For whoever starts it by hand. */
  readonly hint: string;
  readonly serve: (given: PluginWorld) => Serving;
}

/** What a plugin has of its process. */
export interface PluginWorld {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly world: SessionWorld;
  /** Null: it is debugged. */
  readonly certificates: Certificates | null;
  /** The host has let it go. */
  readonly leave: () => void;
}

export interface Serving {
  readonly services: readonly Served<null>[];
  close(): Promise<void>;
}

/** It waits for a server that attaches to it, in whatever it was started: --dev-plugin-reattach. */
const DEBUG = "--debug";

/** For what is under way when the host lets it go. */
const CLOSES_WITHIN: Nanos = SECOND;

/** Resolves when it can be reached. */
export async function runPlugin(kind: PluginKind): Promise<void> {
  if (process.argv[2] === DEBUG) return await runDebugged(kind);
  const { cookie, protocols, hint, serve } = kind;
  const { env } = process;
  const hostCertificate = env[Variable.certificate] ?? "";
  if (env[cookie.name] !== cookie.value || hostCertificate === "") {
    writeSync(2, hint);
    process.exit(1);
  }
  const log = logOfProcess();
  process.on("SIGINT", () => {}); // that of a terminal is for the server

  const own = makeCertificate({ clock, random });
  const certificates: Certificates = { own, host: new X509Certificate(hostCertificate) };
  const world = { clock, timers, sweep: new Sweep(clock, timers) };
  let isLeaving = false;
  const leave = () => {
    if (isLeaving) return;
    isLeaving = true;
    timers.after(CLOSES_WITHIN, () => process.exit(0));
    void serving.close().finally(() => process.exit(0));
  };
  const serving = serve({ log, env, world, certificates, leave });
  const folder = env[Variable.socketDirectory] ?? tmpdir();
  const path = await served(folder, certificates, { serving, log, world });
  const line = writeHandshake({
    protocol: chooseProtocol(env[Variable.protocols], protocols),
    network: "unix",
    address: path,
    certificate: own.certificate,
    multiplexes: env[Variable.multiplexGrpc] === undefined ? null : false,
  });
  writeSync(1, `${line}\n`);
}

/** Whoever comes to its socket is served, one server after another. */
async function runDebugged({ name, protocols, serve }: PluginKind): Promise<void> {
  const log = logOfProcess();
  const world = { clock, timers, sweep: new Sweep(clock, timers) };
  const folder = mkdtempSync(join(tmpdir(), "plugin-")); // for us alone
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(0));
  const leave = () => void serving.close();
  const serving = serve({ log, env: process.env, world, certificates: null, leave });
  const path = await served(folder, null, { serving, log, world });
  const protocol = Math.max(...protocols);
  writeSync(1, `${writeReattach(name, { protocol, pid: process.pid, address: path })}\n`);
}

interface ServedParts {
  readonly serving: Serving;
  readonly log: Log;
  readonly world: SessionWorld;
}

/** Gives the path of its socket. */
async function served(
  folder: string,
  certificates: Certificates | null,
  { serving, log, world }: ServedParts,
): Promise<string> {
  const table = serviceTable<null>(serving.services);
  const path = join(folder, `plugin${process.pid}`);
  const trouble = (call: string, error: unknown) =>
    log.error("a call failed", { call, cause: describe(error) });
  await listen(path, certificates, (socket) => {
    new ServerSession(socket, world, { table, peer: null, limits: PLUGIN_LIMITS, trouble });
  });
  return path;
}

function logOfProcess(): Log {
  const write = (line: string) => void process.stderr.write(line);
  const log = pluginLog({ clock, write });
  printToLog(log);
  const broken = (error: unknown) => {
    writeSync(2, `panic: ${describe(error)}\n`);
    process.exit(2);
  };
  process.on("uncaughtException", broken);
  process.on("unhandledRejection", broken);
  return log;
}

/** Standard output is read to its first line and no further. */
function printToLog(log: Log): void {
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    const at = level === "log" ? "info" : level;
    console[level] = (...said: unknown[]) => log[at](said.map(inOneLine).join(" "));
  }
}

function inOneLine(value: unknown): string {
  return typeof value === "string" ? value : inspect(value, { depth: 2, breakLength: Infinity });
}
