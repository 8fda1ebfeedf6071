// Processes of plugins, made when the first is needed: until then nothing is loaded of what starts, speaks to and ends them. Held
// by the process of the server, while what uses them is of the house.

import type { HeldProcess, PluginFiles, ProbeReport, Processes, Program } from "./ports.ts";
import { processesClosed } from "./process/failures.ts";
import type { ProcessFigures, ProcessReport } from "./process/figures.ts";

/** All of them together. */
export interface RunningProcesses extends Processes, PluginFiles {
  open(): Promise<void>;
  close(): Promise<void>;
  reports(): ProcessReport[];
  readonly figures: ProcessFigures;
}

export interface ProcessesOptions {
  readonly make: () => Promise<RunningProcesses>;
  /** Whether an earlier run has left something to be swept. */
  readonly isSomethingLeft: () => boolean;
}

export class ProcessesAtNeed implements Processes, PluginFiles {
  readonly #options: ProcessesOptions;
  #made: Promise<RunningProcesses> | null = null;
  #now: RunningProcesses | null = null;
  #isOpen = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** From now on they may be started. */
  async open(): Promise<void> {
    this.#isOpen = true;
    if (this.#options.isSomethingLeft()) await this.#all();
  }

  /** Stops all that run. */
  async close(): Promise<void> {
    this.#isOpen = false;
    const made = this.#made;
    this.#made = null;
    this.#now = null;
    if (made === null) return;
    const all = await made.catch(() => null); // told to whoever wanted it
    await all?.close();
  }

  async hold(program: Program, user: string, signal: AbortSignal): Promise<HeldProcess> {
    return await (await this.#all()).hold(program, user, signal);
  }

  renew(program: Program): void {
    this.#now?.renew(program);
  }

  async probe(program: Program, signal: AbortSignal): Promise<ProbeReport> {
    return await (await this.#all()).probe(program, signal);
  }

  async check(command: string): Promise<void> {
    await (await this.#all()).check(command);
  }

  /** Since they were made; null before. */
  get figures(): ProcessFigures | null {
    return this.#now?.figures ?? null;
  }

  reports(): ProcessReport[] {
    return this.#now?.reports() ?? [];
  }

  async #all(): Promise<RunningProcesses> {
    if (!this.#isOpen) throw processesClosed();
    this.#made ??= this.#open();
    return await this.#made;
  }

  async #open(): Promise<RunningProcesses> {
    try {
      const made = await this.#options.make();
      await made.open();
      this.#now = made;
      return made;
    } catch (error) {
      this.#made = null; // what was in the way may be mended
      throw error;
    }
  }
}
