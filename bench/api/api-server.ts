// The server of this repository as a process of its own, started the way an operator does, on a free
// port of the loopback address. Runtime options of ours, such as those of a profile, are passed on.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { requestBytes } from "./api-caller.ts";
import { LoadConnection } from "../load/load-connection.ts";
import { errorText } from "../../tests/support/error-text.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const LONGEST_START_MS = 30_000;
const LONGEST_STOP_MS = 40_000; // running requests alone are given 30 s
const POLL_MS = 2;
const SAID_LINES = 3;

export interface ServerOptions {
  /** For its log and its home, so that no token file of the user is touched. It is made. */
  readonly directory: string;
  readonly port: number;
  /** The checkout whose server it is. Default: ours. */
  readonly root?: string;
  /** After `server`. */
  readonly args: readonly string[];
  /** Of the runtime, besides the launcher's. Default: none. */
  readonly flags?: readonly string[];
  /** The statuses of sys/health that count as ready; any when there are none. */
  readonly ready: readonly number[];
}

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** From before the start of the process to the first answer of sys/health that counts. */
  readonly readyMillis: number;
  stop(): Promise<void>;
}

/** Those of the launcher, and ours. */
function runtimeFlags(root: string): string[] {
  const launcher = readFileSync(join(root, "bin", "holdfast"), "utf8");
  const [, young = ""] = /^young=(\d+)$/m.exec(launcher) ?? []; // that of a server
  const [, exec = ""] = /^exec "\$node"([^"]*)/m.exec(launcher) ?? [];
  const command = exec.replace("$young", young);
  const flags = command.match(/--\S+/g);
  if (flags === null) throw new Error("the launcher starts the runtime without flags");
  return [...flags, ...process.execArgv];
}

/** Kept from start to start, as the launcher does. */
function compiledCode(root: string): Readonly<Record<string, string>> {
  return { NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "holdfast") };
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { directory, port, args, ready, root = ROOT, flags = [] } = options;
  const main = join(root, "src", "main.ts");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const logPath = join(directory, "server.log");
  const log = openSync(logPath, "a", 0o600);
  const url = `http://127.0.0.1:${port}`;
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [...runtimeFlags(root), ...flags, main, "server", ...args],
    {
      cwd: directory,
      stdio: ["ignore", "ignore", log],
      // Nothing else of our environment: addresses and tokens in it are meant for others.
      env: { PATH: process.env["PATH"] ?? "", HOME: directory, ...compiledCode(root) },
    },
  );
  closeSync(log);
  const exited = once(child, "exit");
  exited.catch(() => {}); // looked at below
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill); // it ends with us
  const ended = () => child.exitCode !== null || child.signalCode !== null;

  const stop = async () => {
    const limit = setTimeout(kill, LONGEST_STOP_MS);
    if (!ended()) child.kill("SIGTERM");
    if (!ended()) await exited;
    clearTimeout(limit);
    process.removeListener("exit", kill);
  };
  try {
    const health = requestBytes({ url, headers: {} }, "GET", "sys/health");
    for (;;) {
      const status = await statusOf(new URL(url), health);
      if (status !== null && (ready.length === 0 || ready.includes(status))) break;
      if (ended()) throw new Error("the server ended before it was ready");
      if (performance.now() - began > LONGEST_START_MS) throw new Error("the server is not ready");
      await pause(POLL_MS);
    }
    const readyMillis = performance.now() - began;
    return { url, pid: child.pid ?? 0, readyMillis, stop };
  } catch (error) {
    await stop();
    const said = readFileSync(logPath, "utf8")
      .split("\n")
      .filter((line) => line.trim() !== "");
    const last = said.slice(-SAID_LINES).join("; ");
    throw new Error(`${errorText(error)}${last && `; it said last: ${last}`}`);
  }
}

/** For one use: stopped afterwards, whatever happens. */
export async function withServer<T>(
  options: ServerOptions,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await startServer(options);
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Null while nobody listens. */
async function statusOf(url: URL, request: Buffer): Promise<number | null> {
  let connection: LoadConnection | undefined;
  try {
    connection = await LoadConnection.open(url);
    return (await connection.exchange(request)).status;
  } catch {
    return null;
  } finally {
    connection?.close();
  }
}
