// One seed: a machine, its clients, and everything that goes wrong, until all operations are done
// and the last state has survived one more power cut.

import { Client } from "./client.ts";
import { Faults } from "./faults.ts";
import { Follower } from "./stores/follower.ts";
import { Machine } from "./machine.ts";
import { PLANTS } from "./plants.ts";
import { Prng } from "./prng.ts";
import { Violation } from "./state.ts";
import { Trace } from "./trace.ts";
import { MILLISECOND, SECOND, SimWorld, type Tick } from "./world.ts";

export interface SeedOptions {
  /** The name of a planted bug. Default: none. */
  readonly plant?: string;
  readonly print?: (line: string) => void;
  /** A second machine follows the first. Default false. */
  readonly follow?: boolean;
}

export interface SeedResult {
  readonly seed: number;
  readonly violation: unknown; // null when all is well
  readonly operations: number;
  readonly crashes: number;
  readonly simulated: Tick;
  readonly hash: string;
  readonly met: ReadonlySet<string>;
  /** What the machine that follows did: entries applied, wrong groups refused, crashes. */
  readonly following: Follower["counts"] | null;
}

/** A new root key is handed over by a way of its own, and the log is kept for who follows. */
const WITHOUT_WHILE_FOLLOWED = ["root key", "trim"];

/** Longer than any run takes, a day of lull per crash included: whoever waits longer waits forever. */
const UNTIL: Tick = 200 * 3600 * SECOND;

export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  const scenario = new Scenario(seed, options);
  const unhandled = (reason: unknown) => scenario.report(reason);
  process.on("unhandledRejection", unhandled);
  try {
    return await scenario.run();
  } finally {
    process.off("unhandledRejection", unhandled);
  }
}

class Scenario {
  readonly #seed: number;
  readonly #prng: Prng;
  readonly #world: SimWorld;
  readonly #trace: Trace;
  readonly #machine: Machine;
  readonly #faults: Faults;
  readonly #follower: Follower | null;
  readonly #clients: number;
  readonly #target: number;
  readonly #counters = new Map<string, Set<number>>();
  readonly #underWay = new Set<{ readonly name: string }>();
  #violation: unknown = null;
  #operations = 0;
  #crashes = 0;
  #busy = 0; // clients of the current life that have not finished
  #finishing = false;
  #finished = false;

  constructor(seed: number, { plant: planted, print, follow = false }: SeedOptions) {
    this.#seed = seed;
    const prng = (this.#prng = new Prng(seed));
    const world = (this.#world = new SimWorld(prng));
    const trace = (this.#trace = new Trace(world, print ?? null));
    const plant = planted === undefined ? null : (PLANTS[planted] ?? null);
    const follows = plant?.follow !== undefined;
    const machine = (this.#machine = new Machine({
      prng: prng.fork("machine"),
      plant: follows ? null : plant,
      report: (violation) => this.report(violation),
      world,
      trace,
    }));
    const report = (violation: unknown) => this.report(violation);
    this.#follower =
      follow || follows
        ? new Follower({
            prng: prng.fork("follower"),
            leader: machine,
            plant: follows ? plant : null,
            report,
            world,
            trace,
          })
        : null;
    const load = prng.fork("load");
    this.#clients = 2 + load.int(5);
    this.#target = 100 + load.int(100);
    this.#faults = new Faults({
      prng: prng.fork("faults"),
      operations: this.#target,
      crash: (how) => this.#crash(how),
      underWay: this.#underWay,
      world,
      machine,
      trace,
    });
  }

  report(violation: unknown): void {
    this.#violation ??= violation;
  }

  async run(): Promise<SeedResult> {
    this.#boot();
    this.#follower?.start();
    const done = () => this.#finished || this.#violation !== null;
    try {
      if (!(await this.#world.run(done, UNTIL))) {
        const waiting = [...this.#underWay].map(({ name }) => name).join();
        throw new Violation(`the run never ends; under way: ${waiting}`);
      }
    } catch (error) {
      this.report(error);
    }
    this.#machine.life?.end();
    this.#trace.add(this.#violation === null ? "green" : "red");
    return {
      seed: this.#seed,
      violation: this.#violation,
      operations: this.#operations,
      crashes: this.#crashes,
      simulated: this.#world.now,
      hash: this.#trace.digest(),
      met: this.#faults.met,
      following: this.#follower?.counts ?? null,
    };
  }

  /** Runs in the background: whatever it throws is a finding. */
  #spawn(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.report(error));
  }

  #boot(): void {
    this.#trace.add("boot");
    const prng = this.#prng.fork(`boot ${this.#crashes}`);
    if (prng.chance(0.1)) this.#faults.soon(prng.pick(["kill", "power", "sync"] as const), 10);
    this.#spawn(async () => {
      if (!(await this.#machine.boot())) return this.#crash("kill");
      this.#watchFailure();
      this.#busy = this.#clients;
      for (let i = 0; i < this.#clients; i++) this.#spawn(() => this.#client(i));
    });
  }

  async #client(id: number): Promise<void> {
    const { running } = this.#machine;
    if (running === null) return;
    const prng = this.#prng.fork(`client ${id} after ${this.#crashes}`);
    const client = new Client({
      name: `client ${id}`,
      machine: this.#machine,
      counters: this.#counters,
      without: this.#follower === null ? [] : WITHOUT_WHILE_FOLLOWED,
      underWay: this.#underWay,
      trace: this.#trace,
      world: this.#world,
      report: (violation) => this.report(violation),
      running,
      prng,
    });
    let refused = false; // sealed or failed: no use in asking again at once
    while (this.#operations < this.#target) {
      const max = (refused ? 40 : 4) * MILLISECOND;
      const pause = !refused && prng.chance(0.3) ? 0 : prng.int(max);
      const rest = this.#faults.idleUntil - this.#world.now;
      await this.#world.sleep(Math.max(pause, rest), running.life);
      const acting = client.act();
      this.#faults.strike(this.#operations);
      const count = await acting;
      this.#operations += count;
      refused = count === 0;
    }
    this.#busy--;
    this.#finishIfDone();
  }

  /** After the first storage error the process must stop by itself: here, soon. */
  #watchFailure(): void {
    const { running } = this.#machine;
    if (running === null) return;
    const how = this.#prng.fork(`failure ${this.#crashes}`).pick(["kill", "power"] as const);
    this.#spawn(async () => {
      await running.store.failed;
      running.failed = true;
      if (this.#machine.history.failure === null) throw new Violation("the store failed by itself");
      this.#trace.add("the store has failed");
      this.#faults.soon(how, 4);
    });
  }

  #crash(how: "kill" | "power"): void {
    this.#crashes++;
    this.#trace.add(`crash: ${how}`);
    this.#machine.crash(how);
    this.#underWay.clear();
    const downtime = this.#prng.fork(`down ${this.#crashes}`).int(2 * SECOND);
    this.#world.after(downtime, null, () => this.#boot());
  }

  #finishIfDone(): void {
    const { running, history } = this.#machine;
    if (this.#finishing || this.#busy > 0 || running === null) return;
    if (history.failure !== null) return; // a crash is coming, and then another life
    if (!this.#faults.quiet) {
      this.#world.after(SECOND, running.life, () => this.#finishIfDone());
      return;
    }
    this.#finishing = true;
    this.#spawn(() => this.#finish());
  }

  /** At rest everything accepted is durable; one more power cut changes nothing. */
  async #finish(): Promise<void> {
    const machine = this.#machine;
    const { running, history } = machine;
    if (running === null) return;
    machine.disk.failing = null; // armed, and never met
    await running.store.settled();
    machine.checkAtRest(running);
    history.answered(history.position);
    await this.#follower?.finish();
    machine.crash("power");
    if (!(await machine.boot())) throw new Violation("the last boot failed");
    for (const [place, values] of this.#counters) {
      const stored = Number(history.tip.plain(place) ?? "0");
      if (stored < Math.max(values.size, ...values)) throw new Violation(`${place} lost a count`);
    }
    await machine.running?.barrier.seal();
    await machine.running?.store.close();
    this.#finished = true;
  }
}
