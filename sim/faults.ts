// What goes wrong on a machine, when, and what was under way then. Faults come at operations drawn
// from the seed, a little later than the operation, so that they hit work in progress.

import type { Machine } from "./machine.ts";
import type { Prng } from "./prng.ts";
import type { Trace } from "./trace.ts";
import { MILLISECOND, SECOND, type SimWorld, type Tick } from "./world.ts";

export const FAULTS = [
  "kill", // the process dies, the machine goes on
  "power", // the machine dies: what was not synced is lost, or torn
  "sync", // the next sync fails
  "write", // the next write fails half way
  "pause", // the process stands still for up to a minute
  "jump", // the wall clock is set, by up to three hours
  "slow", // every sync takes seconds
  "full", // the disk is nearly full for up to a second
  "lull", // nobody asks for anything for minutes, sometimes for a day
] as const;
export type Fault = (typeof FAULTS)[number];

// Those that end the process, each as often as named.
const CRASHES: readonly Fault[] = [
  "kill",
  "kill",
  "power",
  "power",
  "power",
  "sync",
  "sync",
  "write",
];
const NUISANCES: readonly Fault[] = ["pause", "jump", "slow", "full", "lull", "lull"];
const HOUR = 3600 * SECOND;

export interface FaultOptions {
  readonly world: SimWorld;
  readonly machine: Machine;
  readonly prng: Prng;
  readonly trace: Trace;
  /** Faults come within the first operations, this many. */
  readonly operations: number;
  readonly crash: (how: "kill" | "power") => void;
  readonly underWay: ReadonlySet<{ readonly name: string }>;
}

export class Faults {
  /** "operation × fault": which operations were under way when which fault came. */
  readonly met = new Set<string>();
  /** Clients rest until then. */
  idleUntil: Tick = 0;
  readonly #options: FaultOptions;
  readonly #plan: { readonly at: number; readonly fault: Fault }[];
  #coming = 0;
  #lying = false; // in wait for a sync
  #made = 0;

  constructor(options: FaultOptions) {
    this.#options = options;
    const prng = options.prng.fork("plan");
    const some = (count: number, kinds: readonly Fault[]) =>
      Array.from({ length: count }, () => ({
        at: prng.int(options.operations),
        fault: prng.pick(kinds),
      }));
    const all = [...some(2 + prng.int(3), CRASHES), ...some(prng.int(4), NUISANCES)];
    this.#plan = all.sort((a, b) => a.at - b.at);
  }

  /** Whether nothing more is on its way. What comes only at a later operation does not count. */
  get quiet(): boolean {
    return this.#coming === 0;
  }

  /** Lets the faults come whose operation is reached. */
  strike(operations: number): void {
    while (this.#plan.length > 0 && this.#plan[0]!.at <= operations) {
      this.soon(this.#plan.shift()!.fault, 8);
    }
  }

  /** Lets one come within so many milliseconds. */
  soon(fault: Fault, milliseconds: number, then: () => void = () => {}): void {
    const { world, prng } = this.#options;
    const own = prng.fork(`fault ${++this.#made}`);
    this.#coming++;
    world.after(own.int(milliseconds * MILLISECOND), null, () => {
      this.#coming--;
      this.#apply(fault, own);
      then();
    });
  }

  #apply(fault: Fault, prng: Prng): void {
    const { world, machine, trace } = this.#options;
    const { disk, clock, life } = machine;
    trace.add(`fault: ${fault}`);
    this.#note(fault);
    switch (fault) {
      case "kill":
      case "power":
        if (this.#lying || prng.chance(0.5)) this.#crash(fault);
        else this.#crashInSync(fault, prng);
        return;
      case "sync":
      case "write":
        if (life !== null) disk.failing = fault;
        return;
      case "pause":
        life?.pause(world.now + prng.int(60 * SECOND));
        return;
      case "jump":
        clock.jump(BigInt(prng.int(20_000) - 10_000) * BigInt(SECOND));
        return;
      case "slow":
        disk.slow = true;
        world.after(prng.int(20 * SECOND), null, () => void (disk.slow = false));
        return;
      case "full":
        disk.free = 1024 * 1024;
        disk.wasFull = true;
        world.after(prng.int(SECOND), null, () => void (disk.free = 1024 ** 4));
        return;
      case "lull":
        this.idleUntil = world.now + (prng.chance(0.05) ? 25 * HOUR : prng.int(1500 * SECOND));
        return;
    }
  }

  #crash(how: "kill" | "power"): void {
    const { machine, crash } = this.#options;
    if (machine.life === null) return;
    this.#note(how);
    crash(how);
  }

  /** In the middle of the next sync, where most can be torn; if none comes soon, without one. */
  #crashInSync(how: "kill" | "power", prng: Prng): void {
    const { machine, world } = this.#options;
    if (machine.life === null) return;
    this.#coming++;
    this.#lying = true;
    const strike = (delay: Tick) => {
      if (!this.#lying) return;
      this.#lying = false;
      machine.disk.onSync = () => {};
      world.after(delay, null, () => {
        this.#coming--;
        this.#crash(how);
      });
    };
    machine.disk.onSync = (latency) => strike(Math.floor(prng.next() * latency));
    world.after(50 * MILLISECOND, null, () => strike(0));
  }

  #note(fault: Fault): void {
    for (const { name } of this.#options.underWay) this.met.add(`${name} × ${fault}`);
  }
}
