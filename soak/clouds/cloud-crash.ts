// The crash matrix of the cloud engines: the server is killed before and after every single call to a
// provider, in every flow. After a restart and its rollback both clouds hold exactly what leases, static
// roles and configuration account for: nothing leaked, nothing wrongly deleted.

import { setTimeout as pause } from "node:timers/promises";
import { isDisconnected } from "../api/api-workload.ts";
import { imbalance } from "./cloud-accounts.ts";
import { type Flow, FLOWS } from "./cloud-flows.ts";
import { CloudSite } from "./cloud-site.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface CloudCrashOptions {
  /** Every n-th call of a flow; 1 is the whole matrix. */
  readonly stride: number;
  /** Flows whose names hold this. Default all. */
  readonly only?: string | undefined;
  /** Time stands still after a crash, so that nothing is old enough to be rolled back. */
  readonly plant?: "no-rollback";
  readonly say: (line: string) => void;
}

const UNDO_AGE_S = 660; // the longer of both engines' and some
const MORE_S = 120; // for what is tried again later and later
const SETTLING_MS = 30_000;
const PLANTED_MS = 1500; // it does not settle, which is the point
const PATIENCE_MS = 60_000; // for one flow
const MOVES_EVERY_MS = 1500;
const QUIET_MS = 250; // rollback looks every 100 ms
const MOMENTS = ["before", "after"] as const;

type Moment = (typeof MOMENTS)[number];

export async function cloudCrash(options: CloudCrashOptions): Promise<Result> {
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
  const verdict = run.wrong.length === 0 ? "0 leaked, 0 wrongly deleted" : "something is wrong";
  return resultOf(`${flows.length} flows, ${run.kills} kills at calls: ${verdict}`, run.wrong);
}

class Run {
  readonly #options: CloudCrashOptions;
  readonly wrong: string[] = [];
  #site: CloudSite | null = null;
  kills = 0;
  where = "the start";

  constructor(options: CloudCrashOptions) {
    this.#options = options;
  }

  get lastLog(): string {
    return this.#site?.lastLog ?? "";
  }

  async open(): Promise<void> {
    this.#site = await CloudSite.open("cloud-crash");
  }

  async close(): Promise<void> {
    await this.#site?.close();
  }

  /** At call after call, until the flow ends without having made so many. */
  async flow(flow: Flow): Promise<void> {
    for (let call = 1; ; call += this.#options.stride) {
      for (const moment of MOMENTS) {
        this.where = `${flow.name}, ${moment} call ${call}`;
        if (!(await this.#crash(flow, call, moment))) return;
      }
    }
  }

  /** False: it made fewer calls. */
  async #crash(flow: Flow, call: number, moment: Moment): Promise<boolean> {
    const site = this.#at();
    const { plant } = this.#options;
    await this.#quiet();
    const prepared = (await flow.prepare?.(site)) ?? "";
    const before = callsOf(site);
    const cloud = holding(site, flow, call, moment);
    const done = flow.run(site, prepared).then(
      () => "done" as const,
      (error: unknown) => {
        if (isDisconnected(error)) return "cut" as const;
        throw error;
      },
    );
    const late = pause(PATIENCE_MS, "late" as const, { ref: false });
    const reached = await Promise.race([done, cloud.held.then(() => "held" as const), late]);
    if (reached === "late") throw new Error("it neither ended nor came to the call");
    if (reached === "held") {
      await site.kill();
      this.kills++;
      await done;
      cloud.letGo();
      if (plant === undefined) site.advance(UNDO_AGE_S);
      await site.start();
    } else cloud.letGo();
    const made = callsOf(site) - before;
    await this.#settled(flow, prepared);
    await flow.restore?.(site, prepared);
    // Leases whose answer was lost are nobody's to end.
    for (const mount of ["clouda", "cloudb"]) {
      await site.api.expect([204], "POST", `sys/leases/revoke-prefix/${mount}`, {
        body: { sync: true },
      });
    }
    // A call that was refused was not held after it: there may be more of them.
    return reached === "held" || made >= call;
  }

  /** Rollback has its own calls, which are not to be taken for those of a flow. */
  async #quiet(): Promise<void> {
    let seen = -1;
    while (callsOf(this.#at()) !== seen) {
      seen = callsOf(this.#at());
      await pause(QUIET_MS);
    }
  }

  async #settled(flow: Flow, prepared: string): Promise<void> {
    const site = this.#at();
    const { plant } = this.#options;
    await this.#balanced(async () => imbalanceUnlessAgain(site, flow));
    if (flow.again !== undefined && plant === undefined) {
      await flow.again(site, prepared);
      await this.#balanced(() => imbalance(site));
    }
    await this.#balanced(async () => (await flow.wrong?.(site, prepared)) ?? null);
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

  #at(): CloudSite {
    if (this.#site === null) throw new Error("there is no server");
    return this.#site;
  }
}

/** A caller who asked for an end and got no answer is waited for: half an end may be there until then. */
async function imbalanceUnlessAgain(site: CloudSite, flow: Flow): Promise<string | null> {
  return flow.again === undefined ? imbalance(site) : null;
}

/** To both clouds, ever. */
function callsOf({ a, b }: CloudSite): number {
  return a.control.calls().length + b.control.calls().length;
}

interface Holding {
  /** Resolves when the call has come; never where it does not. */
  readonly held: Promise<unknown>;
  letGo(): void;
}

function holding(site: CloudSite, { cloud }: Flow, call: number, when: Moment): Holding {
  if (cloud === "a") {
    const { control } = site.a;
    control.fault({ kind: "hold", action: "*", when, skip: call - 1 });
    return { held: control.whenHeld(), letGo: () => control.calm() };
  }
  const { control } = site.b;
  control.fault({ action: "*", effect: { kind: "hold", when }, skip: call - 1 });
  const letGo = () => {
    control.clearFaults();
    control.release();
  };
  return { held: control.held(), letGo };
}
