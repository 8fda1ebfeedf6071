// Clients that behave: each sends one request, reads its answer, waits a little, on one connection after the
// other. How long they wait for answers is what an attack may not change much. They have a process of
// their own (good-crowd.ts): what the attackers have to do is not to be counted as the server's delay.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const CROWD = join(import.meta.dirname, "good-crowd.ts");

export interface GoodOptions {
  readonly port: number;
  readonly count: number;
  readonly request: string; // its bytes, as Latin-1
  readonly everyMillis: number;
  /** Where they come from, in turn. Default: the system's choice. */
  readonly addresses?: readonly string[];
}

export interface Waiting {
  readonly answers: number;
  readonly p50: number; // ms
  readonly p99: number;
}

export type CrowdCommand = "take" | "close";

export interface CrowdReading extends Waiting {
  /** Everything that went wrong since the beginning. */
  readonly failures: readonly string[];
}

export class GoodClients {
  readonly #child: ChildProcess;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static open(options: GoodOptions): GoodClients {
    return new GoodClients(fork(CROWD, [JSON.stringify(options)], { stdio: "inherit" }));
  }

  /** What was waited for since it was last asked. */
  take(): Promise<Waiting> {
    return this.#ask("take");
  }

  /** Everything that went wrong. */
  async close(): Promise<readonly string[]> {
    if (!this.#child.connected) return [];
    const { failures } = await this.#ask("close");
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
    return failures;
  }

  /** One question at a time: answers have no names. */
  #ask(command: CrowdCommand): Promise<CrowdReading> {
    const answering = this.#last.then(async () => {
      const answered = once(this.#child, "message");
      this.#child.send(command);
      const [reading] = (await answered) as [CrowdReading];
      return reading;
    });
    this.#last = answering.catch(() => {});
    return answering;
  }
}
