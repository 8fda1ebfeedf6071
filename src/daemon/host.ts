// The process and the machine around it, as the daemon sees them: handed in, so that signals, exits
// and a hostile host can be tried without one.

import type { Environment } from "../config/substitution.ts";

export type SignalName = "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGUSR1" | "SIGUSR2";

/** A problem of a socket that is in use. */
export const ANOTHER_LISTENS = "another process listens there";

export interface Host {
  readonly env: Environment;
  readonly pid: number;
  /** Whether there is a process of this number, whoever's. */
  isAlive(pid: number): boolean;
  /** Where the process was started. */
  readonly directory: string;
  readonly hostname: string;
  readonly home: string | null;
  /** The directory that holds bin/ and src/. */
  readonly root: string;
  readonly runtime: Runtime;

  /** Of the terminal that `out` writes to; null where it is none. */
  readonly columns: number | null;
  out(text: string): void;
  err(text: string): void;
  onSignal(signal: SignalName, call: () => void): void;
  /** What nobody caught: a mistake of ours. */
  onCrash(call: (error: unknown) => void): void;
  /** Ends the process at once. */
  exit(code: number): void;

  /** With every link resolved, as far as the path exists. */
  realPath(path: string): string;
  /** Whether the user we run as may write there. */
  canWrite(path: string): boolean;
  /** A file of the kernel, such as those below /proc; null when there is none. */
  kernelFile(path: string): string | null;
  /** A fresh directory for us alone. */
  makeTemporary(): string;
  /** With everything in it; only for what makeTemporary() gave. */
  removeTemporary(path: string): void;
  /** Why a Unix socket cannot be bound at the path (ANOTHER_LISTENS, say); null when it can. */
  socketProblem(path: string): Promise<string | null>;

  /** Runs another program of ours that ends with us, however we end; resolves with its first line. */
  startHelper(file: string): Promise<Helper>;

  measures(): Measures;
  /** The start is over: what helps the next one may be written down. */
  started(): void;
}

export interface Helper {
  /** What it printed first. */
  readonly line: string;
  stop(): void;
}

export interface Runtime {
  readonly version: string;
  /** Flags of the runtime itself. */
  readonly flags: readonly string[];
  readonly inspecting: boolean;
  /** Whether nothing can be added to what all objects have in common. */
  readonly intrinsicsSealed: boolean;
  /** Effective user, where the system has such. */
  readonly user: number | null;
}

export interface Measures {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** What keeps the event loop busy, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}
