// The real process and host.

import { OwnError } from "@holdfast/shared/failure";
import { isRefusal, whyNoSocket } from "../base/forbidden.ts";
import {
  accessSync,
  constants,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  unlinkSync,
} from "node:fs";
import { url as inspectorUrl } from "node:inspector";
import { flushCompileCache } from "node:module";
import { connect, createServer } from "node:net";
import { homedir, hostname, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Environment } from "../config/substitution.ts";
import {
  ANOTHER_LISTENS,
  type Helper,
  type Host,
  type Measures,
  type Runtime,
  type SignalName,
} from "./host.ts";
import { areIntrinsicsSealed } from "./intrinsics.ts";

export class SystemHost implements Host {
  readonly env: Environment;
  readonly pid = process.pid;
  readonly directory = process.cwd();
  readonly hostname = hostname();
  readonly home: string | null;
  readonly root = join(import.meta.dirname, "..", "..");
  readonly runtime: Runtime = {
    version: process.versions.node,
    flags: process.execArgv,
    inspecting: inspectorUrl() !== undefined,
    intrinsicsSealed: areIntrinsicsSealed(),
    user: process.geteuid?.() ?? null,
  };

  constructor(env: Environment) {
    this.env = env;
    this.home = env["HOME"] ?? (homedir() || null);
  }

  get columns(): number | null {
    const { isTTY, columns } = process.stdout;
    return isTTY ? columns || 80 : null; // a terminal that nobody has told its size says 0
  }

  out(text: string): void {
    process.stdout.write(text);
  }

  err(text: string): void {
    process.stderr.write(text);
  }

  isAlive(pid: number): boolean {
    if (pid <= 0) return false;
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // Somebody else's process is one as well.
      return error instanceof Error && "code" in error && error.code === "EPERM";
    }
  }

  onSignal(signal: SignalName, call: () => void): void {
    process.on(signal, call);
  }

  onCrash(call: (error: unknown) => void): void {
    process.on("uncaughtException", call);
    process.on("unhandledRejection", call);
  }

  exit(code: number): void {
    process.exit(code);
  }

  realPath(path: string): string {
    try {
      return realpathSync(path);
    } catch {
      const parent = dirname(path);
      return parent === path ? path : join(this.realPath(parent), basename(path));
    }
  }

  canWrite(path: string): boolean {
    try {
      accessSync(path, constants.W_OK);
      return true;
    } catch {
      return false;
    }
  }

  kernelFile(path: string): string | null {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return null;
    }
  }

  makeTemporary(): string {
    return mkdtempSync(join(realpathSync(tmpdir()), "holdfast-dev-"));
  }

  removeTemporary(path: string): void {
    rmSync(path, { recursive: true, force: true });
  }

  async socketProblem(path: string): Promise<string | null> {
    if (await answers(path)) return ANOTHER_LISTENS;
    const problem = await tryBinding(path);
    // What a process that ended badly left behind; the listener takes its place in the same way.
    if (problem === null || problem === "EADDRINUSE") return null;
    return isRefusal(problem) ? whyNoSocket(problem, path) : problem;
  }

  async startHelper(file: string): Promise<Helper> {
    const { spawn } = await import("node:child_process");
    const { PATH } = this.env;
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", file], {
      // It ends with its standard input, which is closed when we are gone.
      stdio: ["pipe", "pipe", "inherit"],
      detached: true, // Ctrl-C is for us: what we still have to do may need it
      env: { PATH },
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new OwnError(`${basename(file)} ended with ${code}`)));
    child.stdin.on("error", () => {}); // it is gone, and with it what we would stop
    const line = await promise;
    child.unref();
    return { line, stop: () => void child.stdin.end() };
  }

  measures(): Measures {
    const { rss, heapUsed, external } = process.memoryUsage();
    const resources: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) {
      resources[kind] = (resources[kind] ?? 0) + 1;
    }
    return { rss, heapUsed, external, resources };
  }

  /** Otherwise a server that is killed would never leave its compiled code for the next start. */
  started(): void {
    flushCompileCache();
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function tryBinding(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ path }, () => {
      server.close(() => {
        try {
          unlinkSync(path); // Node does it itself on most systems
        } catch {
          // already gone
        }
        resolve(null);
      });
    });
  });
}
