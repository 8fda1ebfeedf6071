// The crash matrix of the engine for databases, against the real PostgreSQL: the server is killed before and after each call to
// its plugin and each commit of its storage, in every flow. After a restart the password of the connection that is stored
// logs in, at once; no user is left without a lease; and the password of a static role works, or it is said why not.

import { setTimeout as pause } from "node:timers/promises";
import { errorText } from "../../tests/support/error-text.ts";
import { isDisconnected } from "../api/api-workload.ts";
import { type Result, resultOf } from "../result.ts";
import { type Flow, FLOWS } from "./database-flows.ts";
import { CREDS, DatabaseSite } from "./database-site.ts";
import { type Death, MOMENTS, STEPS } from "./deaths.ts";

export interface DatabaseCrashOptions {
  /** Every n-th step of a flow; 1 is the whole matrix. */
  readonly stride: number;
  /** Flows whose names hold this. Default all. */
  readonly only?: string | undefined;
  /** Time stands still after a crash, so that nothing is old enough to be rolled back. */
  readonly plant?: "no-rollback";
  readonly say: (line: string) => void;
}

const UNDO_AGE_S = 360; // the engine's and some
const MORE_S = 120; // for what is tried again later and later
const MOVES_EVERY_MS = 1500;
const SETTLING_MS = 30_000;
const PLANTED_MS = 1500; // it does not settle, which is the point
const PATIENCE_MS = 60_000; // for one flow

export async function databaseCrash(options: DatabaseCrashOptions): Promise<Result> {
  const { only = "", say } = options;
  const flows = FLOWS.filter(({ name }) => name.includes(only));
  const run = new Run(options);
  try {
    await run.open();
    for (const flow of flows) {
      const before = run.kills;
      await run.flow(flow);
      say(`${flow.name}: ${run.kills - before} kills`);
    }
  } catch (error) {
    run.wrong.push(`${run.where}: ${errorText(error)}\n${run.lastLog}`);
  } finally {
    await run.close();
  }
  const verdict =
    run.wrong.length === 0 ? "0 leaked, every stored password logs in" : "something is wrong";
  return resultOf(`${flows.length} flows, ${run.kills} kills at steps: ${verdict}`, run.wrong);
}

class Run {
  readonly #options: DatabaseCrashOptions;
  readonly wrong: string[] = [];
  #site: DatabaseSite | null = null;
  kills = 0;
  where = "the start";

  constructor(options: DatabaseCrashOptions) {
    this.#options = options;
  }

  get lastLog(): string {
    return this.#site?.lastLog ?? "";
  }

  async open(): Promise<void> {
    this.#site = await DatabaseSite.open("databases");
  }

  async close(): Promise<void> {
    await this.#site?.close();
  }

  /** At step after step, until the flow ends without having come so far. */
  async flow(flow: Flow): Promise<void> {
    for (const step of STEPS) {
      for (const moment of MOMENTS) {
        // The end of one is the beginning of the next, so that every second is as good as all.
        for (let nth = 1; ; nth += this.#options.stride) {
          this.where = `${flow.name}, ${moment} ${step} ${nth}`;
          if (!(await this.#crash(flow, { step, moment, nth }))) break;
        }
      }
    }
  }

  /** False: the flow did not come to it. */
  async #crash(flow: Flow, death: Death): Promise<boolean> {
    const site = this.#at();
    const { plant } = this.#options;
    const prepared = (await flow.prepare?.(site)) ?? "";
    site.death.arm(death);
    const late = pause(PATIENCE_MS, true, { ref: false });
    const isLate = await Promise.race([this.#cut(flow.run(site, prepared)), late]);
    if (isLate) throw new Error("it neither ended nor came to the step");
    const hasDied = site.death.disarm();
    if (hasDied) {
      await site.kill();
      this.kills++;
      await site.start();
      await this.#holds(() => site.works());
      await this.#holds(async () => (await flow.atOnce?.(site, prepared)) ?? null);
      if (plant === undefined) site.advance(UNDO_AGE_S);
    }
    await this.#settled(flow, prepared, hasDied);
    await flow.restore?.(site, prepared);
    // Leases whose answer was lost are nobody's to end.
    const body = { sync: true };
    await site.api.expect([204], "POST", `sys/leases/revoke-prefix/${CREDS}`, { body });
    await this.#balanced(() => site.imbalance());
    return hasDied;
  }

  async #cut(flow: Promise<void>): Promise<false> {
    try {
      await flow;
    } catch (error) {
      const said = error instanceof Error ? error.message : "";
      // Or while it was started again.
      if (!isDisconnected(error) && !said.includes("ended with SIGKILL")) throw error;
    }
    return false;
  }

  async #settled(flow: Flow, prepared: string, hasDied: boolean): Promise<void> {
    const site = this.#at();
    await this.#balanced(async () => (await flow.settled?.(site, prepared)) ?? null);
    if (hasDied && flow.again === true && this.#options.plant === undefined) {
      await flow.run(site, prepared);
      await this.#holds(() => site.works());
    }
    await this.#balanced(() => site.imbalance());
    await this.#balanced(async () => (await flow.done?.(site, prepared)) ?? null);
  }

  async #holds(look: () => Promise<string | null>): Promise<void> {
    const left = await look();
    if (left !== null) throw new Error(left);
  }

  async #balanced(look: () => Promise<string | null>): Promise<void> {
    const site = this.#at();
    const { plant } = this.#options;
    let moves = performance.now() + MOVES_EVERY_MS;
    await site.until(
      async () => {
        const left = await look();
        if (left !== null && plant === undefined && performance.now() > moves) {
          site.advance(MORE_S);
          moves = performance.now() + MOVES_EVERY_MS;
        }
        return left;
      },
      plant === undefined ? SETTLING_MS : PLANTED_MS,
    );
  }

  #at(): DatabaseSite {
    if (this.#site === null) throw new Error("there is no server");
    return this.#site;
  }
}
