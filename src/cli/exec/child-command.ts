// A program that a command of ours runs for its user: on our streams, with an environment of its own.

import { constants } from "node:os";

export type PassedSignal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGQUIT" | "SIGUSR1" | "SIGUSR2";

export interface ChildCommand {
  /** Its exit code as a shell gives it: 128 and the signal's number where one ended it. */
  readonly ended: Promise<number>;
  signal(name: PassedSignal): void;
}

export interface ChildCommands {
  /** Rejects with NotStarted, where the system does not start it. */
  start(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
  ): Promise<ChildCommand>;
}

const SIGNAL_BASE = 128;
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;

export class SystemChildCommands implements ChildCommands {
  async start(
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<ChildCommand> {
    // 4 ms, which no other command should pay.
    const { spawn } = await import("node:child_process");
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<number>();
    // In our process group: what a terminal sends reaches it without us.
    const child = spawned(() => spawn(program, args, { stdio: "inherit", env }), program);
    child.once("spawn", begun.resolve);
    // A signal that could not be sent comes here too, and is no matter: the child has just ended.
    child.on("error", (error: NodeJS.ErrnoException) =>
      begun.reject(new NotStarted(program, error.code)),
    );
    child.once("exit", (code, signal) => ended.resolve(code ?? signalCode(signal)));
    await begun.promise;
    return { ended: ended.promise, signal: (name) => void child.kill(name) };
  }
}

/** Most refusals of the system come as an event; that of an environment or of arguments it cannot hold does not. */
function spawned<T>(spawn: () => T, program: string): T {
  try {
    return spawn();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code !== "string" || code.startsWith("ERR_")) throw error;
    throw new NotStarted(program, code);
  }
}

/** With the exit code that a shell gives for it. */
export class NotStarted extends Error {
  readonly exitCode: number;
  /** Arguments and environment are more than the system hands to a program. */
  readonly tooLarge: boolean;

  constructor(program: string, code: string | undefined) {
    const absent = code === "ENOENT";
    super(absent ? `there is no program ${program}` : `${program} cannot be run: ${code ?? ""}`);
    this.name = "NotStarted";
    this.tooLarge = code === "E2BIG";
    this.exitCode = absent ? NOT_FOUND : NOT_RUNNABLE;
  }
}

export function signalCode(name: NodeJS.Signals | null): number {
  return SIGNAL_BASE + (name === null ? 0 : constants.signals[name]);
}
