// What starts plugins: as a process of this machine, in a sandbox of it, or in a container. Whoever starts one here knows
// neither arguments of a runtime nor where a folder of ours lies inside.

import type { Readable } from "node:stream";
import type { Program } from "../ports.ts";

export interface Launch {
  readonly program: Program;
  /** Whole path of the file to run: a copy that only we can write. Null for an image. */
  readonly file: string | null;
  /** All that it is to see, but for what the runner has to add itself. Never shown or logged. */
  readonly env: Readonly<Record<string, string>>;
  readonly folders: OuterFolders;
  /** Short, of letters and digits, this one's alone: for names that have to be. */
  readonly id: string;
  readonly kept: Kept;
}

/** What is ended when the server dies, and swept when it starts the next time. Said before it can be lost; forgotten when the
 *  process has ended. */
export interface Kept {
  group(first: { readonly pid: number; readonly began: string }): Promise<void>;
  /** A program with its arguments, by its whole path, that ends what is no process of ours. */
  command(words: readonly string[]): Promise<void>;
}

/** Of one process alone; both are there before it starts, and go after it has ended. */
export interface Folders {
  /** Where it makes its own sockets; also its temporary files. */
  readonly own: string;
  /** Where our sockets for it are. It may not write there where it runs as somebody else. */
  readonly ours: string;
}

/** Of one process alone, on this machine. */
export interface OuterFolders extends Folders {
  /** For what a runner writes down. Not made yet; nothing that runs sees it. */
  readonly aside: string;
}

/** What paths in the folders are called on the other side. */
export interface Translation {
  /** Of `own`, as it is called inside. */
  readonly own: string;
  toPlugin(path: string): string;
  /** Null for one that lies in none of the folders. */
  fromPlugin(path: string): string | null;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** What the runner knows of why, for operators. Nothing that the plugin wrote. */
  readonly why?: string;
}

export interface Running {
  /** Of the process on this machine that stands for all of it; 0 where the runtime tells none. */
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it is gone, with all that it has started as far as the runner knows of it. */
  readonly exited: Promise<Exit>;
  /** All of it, at once. What is gone already is left alone, whoever has its number now. */
  kill(): void;
  /** Bytes of memory in use; null where that is not known. */
  memory(): number | null;
}

export interface Runner {
  readonly name: "plain" | "bwrap" | "oci" | "docker";
  /** Whether what it runs gets variables of the server's environment. */
  readonly passesEnvironment: boolean;
  /** Whether what it runs is somebody else on this machine, whom our sockets are open to. Who that is, it sees to itself. */
  readonly runsOthers: boolean;
  translation(folders: Folders): Translation;
  /** Throws a Failure that says why it cannot be started. */
  start(launch: Launch): Promise<Running>;
}

/** One that runs images, which it keeps somewhere. */
export interface ContainerRunner extends Runner {
  /** Whether plugin_oci_runtimes has it. */
  allows(runtime: string): boolean;
  /** What an earlier run has left goes. */
  open(): Promise<void>;
  close(): Promise<void>;
}
