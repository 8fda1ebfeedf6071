// Other programs on this machine. What is known of them comes from the kernel's own files; where there are none, nothing
// is known but of those that we have started.

import { spawn, type StdioOptions } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { PassThrough, type Readable } from "node:stream";
import { OwnError } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type {
  Child,
  ChildExit,
  ChildProcesses,
  ChildStart,
  ProcessFacts,
} from "@holdfast/shared/world";

const PAGE = 4096;
/** What the kernel keeps of arguments and environment at most; more than that nobody has. */
const MAX_ENVIRONMENT = 4 * 1024 * 1024;
const MAX_PASSWD = 4 * 1024 * 1024;

export class SystemChildProcesses implements ChildProcesses {
  readonly pid = process.pid;
  readonly runtime = process.execPath;

  start({ file, args, env, isTied = false, third }: ChildStart): Promise<Child> {
    invariant(file.startsWith("/"), "a program is named by its whole path");
    const stdio: StdioOptions = [isTied ? "pipe" : "ignore", "pipe", "pipe"];
    if (third !== undefined) stdio.push("pipe");
    const { promise, resolve, reject } = Promise.withResolvers<Child>();
    // A group of its own: a signal to ours (Ctrl-C) is for us, who have to end it in order.
    const child = spawn(file, args, { env, stdio, cwd: "/", detached: true, shell: false });
    child.once("error", reject);
    child.stdin?.on("error", () => {}); // it is gone
    const { promise: exited, resolve: exit } = Promise.withResolvers<ChildExit>();
    const { pid } = child;
    if (pid === undefined || child.stdout === null || child.stderr === null) return promise;
    const [stdout, stderr] = [kept(child.stdout), kept(child.stderr)];
    const began = statOf(pid)?.began ?? "";
    let isEmpty = false;
    const killGroup = () => {
      const now = statOf(pid);
      // The number of a group is nobody else's while anything is in it.
      if (isEmpty || (now !== null && now.began !== began)) return;
      sendKill(-pid);
    };
    child.once("exit", (code, signal) => {
      killGroup(); // its own children, which nobody else ends
      isEmpty = true;
      exit({ code, signal });
    });
    if (third !== undefined) {
      const pipe = child.stdio[3] as NodeJS.WritableStream;
      pipe.on("error", () => {});
      pipe.end(third);
    }
    child.once("spawn", () => resolve({ pid, began, stdout, stderr, exited, killGroup }));
    return promise;
  }

  look(pid: number): ProcessFacts | null {
    const stat = statOf(pid);
    return stat === null || stat.isOver ? null : stat;
  }

  all(): number[] {
    try {
      return readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .map(Number);
    } catch {
      return [];
    }
  }

  hasVariable(pid: number, variable: string): boolean {
    const found = kernelFile(`/proc/${pid}/environ`, MAX_ENVIRONMENT);
    return found?.split("\0").includes(variable) ?? false;
  }

  kill(pid: number): void {
    invariant(pid > 1, "a process, and not all of them");
    sendKill(pid);
  }

  killGroup(group: number): void {
    invariant(group > 1, "a group, and not all of them");
    sendKill(-group);
  }

  user(name: string): { readonly user: number; readonly group: number } | null {
    const rows = kernelFile("/etc/passwd", MAX_PASSWD)?.split("\n") ?? [];
    for (const row of rows) {
      const [known, , user = "", group = ""] = row.split(":");
      if (known !== name && user !== name) continue;
      if (/^\d+$/.test(user) && /^\d+$/.test(group))
        return { user: Number(user), group: Number(group) };
    }
    return /^\d{1,10}$/.test(name) ? { user: Number(name), group: Number(name) } : null;
  }
}

/** What was printed, also where it has ended before anybody reads: the runtime throws away what nobody has begun to read by then. */
function kept(pipe: Readable): Readable {
  const whole = new PassThrough();
  whole.on("error", () => {}).once("close", () => pipe.destroy());
  pipe.on("error", () => {}).once("close", () => whole.end());
  return pipe.pipe(whole);
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    // Gone already, or only what has ended and was not collected is left of it.
    if (code !== "ESRCH" && code !== "EPERM")
      throw new OwnError("a process cannot be ended", { cause: error });
  }
}

/** The fields that stand behind its name, which may hold anything. */
function statOf(pid: number): (ProcessFacts & { readonly isOver: boolean }) | null {
  const text = kernelFile(`/proc/${pid}/stat`, PAGE);
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", , group = ""] = fields;
  const began = fields[19] ?? "";
  const pages = Number(fields[21] ?? 0);
  return {
    began,
    group: Number(group),
    memory: pages * PAGE,
    isOver: state === "Z" || state === "X",
  };
}

function kernelFile(path: string, max: number): string | null {
  try {
    return readFileSync(path, "utf8").slice(0, max);
  } catch {
    return null;
  }
}
