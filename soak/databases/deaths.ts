// When a server is to end, told by a file: at the n-th arrival at a step, from when the file is there on, before the step or
// after it. A death that has come is renamed: it comes once.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const STEPS = ["call", "commit"] as const;
export const MOMENTS = ["before", "after"] as const;

export interface Death {
  /** Of the plugin, as it has it; of the server's storage. */
  readonly step: (typeof STEPS)[number];
  readonly moment: (typeof MOMENTS)[number];
  readonly nth: number;
}

const ARMED = "death";
const DIED = "died";

/** By whoever runs the experiment. */
export class ArmedDeath {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  arm(death: Death): void {
    rmSync(join(this.#folder, DIED), { force: true });
    // Those who count know by the whole text that it is another one.
    const text = JSON.stringify({ ...death, id: Math.random() });
    writeFileSync(join(this.#folder, "new"), text);
    renameSync(join(this.#folder, "new"), join(this.#folder, ARMED));
  }

  /** Whether it came before that. */
  disarm(): boolean {
    rmSync(join(this.#folder, ARMED), { force: true });
    return this.hasCome;
  }

  get hasCome(): boolean {
    return existsSync(join(this.#folder, DIED));
  }
}

/** In the process that comes to the steps. */
export class Deaths {
  readonly #folder: string;
  readonly #step: Death["step"];
  readonly #victim: number;
  #known = "";
  #arrivals = 0;

  /** `victim`: the server. */
  constructor(folder: string, step: Death["step"], victim: number) {
    this.#folder = folder;
    this.#step = step;
    this.#victim = victim;
  }

  async around<T>(work: () => Promise<T>): Promise<T> {
    const moment = this.#arrive();
    if (moment === "before") this.#die();
    try {
      return await work();
    } finally {
      if (moment === "after") this.#die();
    }
  }

  /** When it is to die, where this is the step. */
  #arrive(): Death["moment"] | null {
    const text = this.#read();
    if (text === null) return null;
    const { step, moment, nth } = JSON.parse(text) as Death;
    if (step !== this.#step) return null;
    if (text !== this.#known) [this.#known, this.#arrivals] = [text, 0];
    return ++this.#arrivals === nth ? moment : null;
  }

  #read(): string | null {
    try {
      return readFileSync(join(this.#folder, ARMED), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }

  #die(): void {
    try {
      renameSync(join(this.#folder, ARMED), join(this.#folder, DIED));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return; // it is not wanted any more
      throw error;
    }
    process.kill(this.#victim, "SIGKILL");
    for (;;); // the plugin ends with its server, and gets no further until then
  }
}
