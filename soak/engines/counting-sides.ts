// Where the engine that counts runs, in the server or as a plugin of it, and how a death is got there.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { served } from "../../tests/support/plugins/child-type.ts";
import type { ApiTargetOptions } from "../api/api-target.ts";
import type { Api, ServerProcess } from "../api/api-server.ts";
import { DEATH, type Death, DIED, JOURNAL } from "./counting-plugin.ts";

export interface ArmedDeath extends Death {
  /** From the start of the server on, and not only when it is told to. */
  readonly armed: boolean;
}

export interface CountingSide {
  /** Lines of the server's configuration. */
  readonly settings: string;
  readonly journal: string;
  /** Who may die at a step of the engine. */
  readonly mortals: readonly Death["whose"][];
  /** What else than success the end of a plugin makes of a request. */
  readonly failed: readonly number[];
  /** Before the start of a server. */
  options(death: ArmedDeath | null): ApiTargetOptions;
  /** Before the first mount. */
  register(api: Api): Promise<void>;
  /** From here on. */
  arm(server: ServerProcess, death: ArmedDeath): void;
  /** What failed with its plugin is tried again a minute later: the server's clock is moved on. */
  advance(server: ServerProcess | null, seconds: number): void;
  /** That the plugin has died and the server has not, until it is no longer asked. */
  pluginDied(signal: AbortSignal): Promise<true>;
}

const never = new Promise<never>(() => {});

export class BuiltIn implements CountingSide {
  readonly settings = "";
  readonly mortals = ["server"] as const;
  readonly failed = [];
  readonly journal: string;
  readonly #plant: { readonly plant?: "no-undo" };

  constructor(directory: string, neverUndoes: boolean) {
    this.journal = join(directory, JOURNAL);
    this.#plant = neverUndoes ? { plant: "no-undo" } : {};
  }

  options(death: ArmedDeath | null): ApiTargetOptions {
    const { journal } = this;
    return { counting: { journal, ...this.#plant, ...(death === null ? {} : { die: death }) } };
  }

  async register(): Promise<void> {}

  arm(server: ServerProcess): void {
    server.process.kill("SIGUSR2");
  }

  advance(): void {}

  pluginDied(): Promise<true> {
    return never;
  }
}

export class AsPlugin implements CountingSide {
  readonly settings: string;
  readonly mortals = ["server", "plugin"] as const;
  readonly failed = [502, 503];
  readonly journal: string;
  readonly #folder: string;
  readonly #programs: string;
  readonly #neverUndoes: boolean;
  #ahead = 0; // seconds

  constructor(directory: string, neverUndoes: boolean) {
    this.#folder = join(directory, "outside");
    this.#programs = join(directory, "plugins");
    const runs = join(directory, "runs");
    for (const path of [this.#folder, this.#programs, runs]) mkdirSync(path, { mode: 0o755 });
    this.journal = join(this.#folder, JOURNAL);
    this.#neverUndoes = neverUndoes;
    this.settings = `plugin_directory = ${JSON.stringify(this.#programs)}
plugin_tmpdir = ${JSON.stringify(runs)}
plugin_isolation = "none"
`;
  }

  options(death: ArmedDeath | null): ApiTargetOptions {
    rmSync(join(this.#folder, DIED), { force: true });
    rmSync(join(this.#folder, DEATH), { force: true });
    if (death?.armed === true) this.#put(death);
    return { clock: { seconds: this.#ahead } };
  }

  async register(api: Api): Promise<void> {
    const program = served({
      file: "soak/engines/counting-plugin.ts",
      exported: "countingPlugin()",
    });
    const path = join(this.#programs, "counting.mjs");
    writeFileSync(path, program, { mode: 0o755 });
    const body = {
      sha256: createHash("sha256").update(readFileSync(path)).digest("hex"),
      command: "counting.mjs",
      args: [this.#folder, ...(this.#neverUndoes ? ["no-undo"] : [])],
    };
    await api.expect([200, 204], "POST", "sys/plugins/catalog/secret/counting", { body });
  }

  arm(_: ServerProcess, death: ArmedDeath): void {
    this.#put(death);
  }

  advance(server: ServerProcess | null, seconds: number): void {
    this.#ahead += seconds;
    server?.say(`advance ${seconds}`);
  }

  async pluginDied(signal: AbortSignal): Promise<true> {
    while (!existsSync(join(this.#folder, DIED))) {
      if (signal.aborted) return await never;
      await pause(5);
    }
    return true;
  }

  #put(death: Death): void {
    writeFileSync(join(this.#folder, DEATH), JSON.stringify(death), { flag: "wx" });
  }
}
