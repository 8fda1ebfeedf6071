// The main thread's end of a thread that has a connection of its own, the writer, the copier or one that reads a
// view: one request at a time, and its death as an error of whatever was asked. What the requests do is in
// sqlite-writer.ts, -copier.ts and -view.ts.

import { OwnError } from "@holdfast/shared/failure";
import { extname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { CommitConflict } from "./engine.ts";
import { invariant } from "@holdfast/shared/invariant";
import { type WriterFailure, type Reason, reasonError } from "./sqlite-failure.ts";

export interface ThreadOptions {
  readonly path: string;
  readonly synchronous: "FULL" | "NORMAL";
}

export type Request =
  | { readonly kind: "commit"; readonly packed: ArrayBuffer }
  | { readonly kind: "checkpoint"; readonly truncate: boolean; readonly wipes?: boolean }
  /** Of the copier alone: as much of the log as nobody needs any more. */
  | { readonly kind: "copy" }
  /** Of the copier alone: closes its connection; it may be ended when all others are closed. */
  | { readonly kind: "leave" }
  /** With `erase` the keys in it are overwritten first, and its files are removed. */
  | { readonly kind: "close"; readonly erase: boolean };

export type Reply<D = Done> = D | Failed;

type Failed =
  | { readonly kind: "conflict" }
  | { readonly kind: "failed"; readonly doing: string; readonly reason: Reason };

/** `logPages`: pages in SQLite's log, those copied to the database but not yet reused included. */
export interface Done {
  readonly kind: "done";
  readonly logPages: number;
  /** How many of them the copier has copied. */
  readonly copied?: number;
  readonly blocked: boolean;
}

interface Waiting<D> {
  resolve(reply: D): void;
  reject(error: Error): void;
}

// The same files in the source tree (.ts) and in the published package (.js).
const programOf = (name: string) =>
  new URL(`./sqlite-${name}${extname(import.meta.url)}`, import.meta.url);
export const WRITER: URL = programOf("writer");
export const COPIER: URL = programOf("copier");
export const VIEW: URL = programOf("view");

// Many small things, which are dropped one after the other or all at once: with the room that the process has for them
// a thread would come to have 50 MB more.
const LIMITS = { maxYoungGenerationSizeMb: 4 };

/** What the launcher gives the main thread, which has it already, would count for more than the limits of a thread. */
function withoutLaunchersRoom(): void {
  setFlagsFromString("--max-semi-space-size=0");
}

export class SqliteThread<Q = Request, D extends { readonly kind: "done" } = Done> {
  readonly #worker: Worker;
  readonly #failStop: WriterFailure;
  #waiting: Waiting<D> | null = null;
  #ending = false;

  private constructor(options: ThreadOptions, failStop: WriterFailure, program: URL) {
    this.#failStop = failStop;
    withoutLaunchersRoom();
    // Without the flags that this process was started with: some have no meaning in a thread.
    this.#worker = new Worker(program, {
      workerData: options,
      execArgv: [],
      resourceLimits: LIMITS,
    });
    this.#worker.on("message", (reply: Reply<D>) => this.#answer(reply));
    this.#worker.on("messageerror", (error) => this.#die(error));
    this.#worker.on("error", (error) => this.#die(error));
    this.#worker.on("exit", (code) => this.#die(new OwnError(`exit code ${code}`)));
  }

  /** Resolves when it has opened the store; the writer makes the tables of an empty one first. */
  static async start<Q = Request, D extends { readonly kind: "done" } = Done>(
    options: ThreadOptions,
    failStop: WriterFailure,
    { program = WRITER }: { readonly program?: URL } = {},
  ): Promise<SqliteThread<Q, D>> {
    const thread = new SqliteThread<Q, D>(options, failStop, program);
    try {
      await thread.#wait();
      return thread;
    } catch (error) {
      await thread.terminate();
      throw error;
    }
  }

  /** Rejects with a CommitConflict, or with an EngineError after which nothing works any more. */
  async ask(request: Q, transferred: readonly ArrayBuffer[] = []): Promise<D> {
    this.#failStop.check();
    const reply = this.#wait();
    this.#worker.postMessage(request, transferred);
    return await reply;
  }

  /** Lets the writer copy its log into the database, close it and end. */
  async close({ erase = false } = {}): Promise<void> {
    this.#ending = true;
    const reply = this.#wait();
    this.#worker.postMessage({ kind: "close", erase } satisfies Request);
    await reply;
    await this.#worker.terminate();
  }

  /** Ends it as it is. */
  async terminate(): Promise<void> {
    this.#ending = true;
    await this.#worker.terminate();
  }

  #wait(): Promise<D> {
    invariant(this.#waiting === null, "a thread was asked before it had answered");
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #answer(reply: Reply<D>): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    invariant(waiting !== null, "a thread answered without being asked");
    if (reply.kind === "done") waiting.resolve(reply);
    else if (reply.kind === "conflict") waiting.reject(new CommitConflict());
    else waiting.reject(this.#failStop.trip(reply.doing, reasonError(reply.reason)));
  }

  #die(cause: unknown): void {
    if (this.#ending && this.#waiting === null) return;
    const error = this.#failStop.trip("keep its threads alive", cause);
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}
