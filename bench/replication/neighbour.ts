// Somebody else on the machine, see neighbour-process.ts.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { processorMicrosOf } from "../api/api-usage.ts";
import type { Busy, NeighbourInput } from "./neighbour-process.ts";

const PROGRAM = join(import.meta.dirname, "neighbour-process.ts");
const LOOKED_MS = 3000;
const FIRST_COUNT = 10;

export class Neighbour {
  readonly #child: ChildProcess;
  #count = FIRST_COUNT;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(input: NeighbourInput): Promise<Neighbour> {
    const child = spawn(process.execPath, [...process.execArgv, PROGRAM, JSON.stringify(input)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    await once(child, "message");
    return new Neighbour(child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** From now on it takes about as much of a processor as somebody else did: so much of a second. */
  async learn(share: number, millis = LOOKED_MS): Promise<void> {
    for (let tried = 0; tried < 3; tried++) {
      this.work();
      await pause(millis);
      const own = await shareOf(this.pid, () => pause(millis));
      this.rest();
      this.#count = Math.max(1, Math.round((this.#count * share) / Math.max(own, 0.01)));
    }
  }

  work(): void {
    this.#say(this.#count);
  }

  rest(): void {
    this.#say(0);
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.disconnect();
    await exit;
  }

  #say(count: number): void {
    this.#child.send({ count } satisfies Busy);
  }
}

/** How much of one processor a process has while something goes on. */
export async function shareOf(pid: number, work: () => Promise<unknown>): Promise<number> {
  const [began, before] = [performance.now(), processorMicrosOf(pid) ?? 0];
  await work();
  return ((processorMicrosOf(pid) ?? 0) - before) / 1000 / (performance.now() - began);
}
