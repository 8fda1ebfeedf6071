// Loaded into a server process before the server itself: says how long its event loop stood still, of
// that how long for want of a processor, and how much memory it has. On request it stands still on
// purpose, or takes the limits on JSON away: an experiment must see both.

import { createHook } from "node:async_hooks";
import { openSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { JSON_LIMITS } from "@holdfast/shared/json/json-limits";

export type ProbeCommand =
  | { readonly ask: "read" }
  | { readonly ask: "block"; readonly millis: number }
  | { readonly ask: "collect" } // garbage: what is left is what is kept
  | { readonly ask: "drop-json-limits" };

/** The longest since the last reading, in ms, without the time in which the system ran others instead, or the host of a virtual
 *  machine did. */
export interface ProbeReading {
  /** One synchronous stretch: from a call by the runtime to its end, microtasks included. */
  readonly stretch: number;
  /** Until a timer had its turn: many stretches, if much comes in at once. */
  readonly turn: number;
  /** In 99 of 100 moments no turn was longer than this: what a client's wait is made of. */
  readonly turn99: number;
  /** The longest by the clock on the wall, with the time that others took. */
  readonly wall: number;
  readonly resident: number; // bytes
}

const PERIOD_MS = 5;
const NANOS_PER_MILLI = 1e6;
const TICK_MS = 10; // of the system's own counts
/** Shorter ones are not worth a look at what was stolen. */
const LONG_MS = 15;

class LoopProbe {
  // Of this thread: time on a processor, time waiting for one, both in ns.
  readonly #file = openSync("/proc/thread-self/schedstat", "r");
  readonly #counts = openSync("/proc/stat", "r");
  readonly #bytes = Buffer.alloc(256);
  #stolen = this.#stolenNow(); // at the last tick
  #tick = this.#moment();
  #entered = this.#tick;
  #stretch = 0;
  #turns: number[] = [];
  #wall = 0;

  /** The runtime calls into JavaScript: whatever went before is over. */
  enter(): void {
    const now = this.#moment();
    const { at, waited, idle } = this.#entered;
    const busy = now.at - at - (now.waited - waited) - (now.idle - idle);
    // Never less than what this thread has worked: what was stolen may have been stolen from another.
    if (busy > this.#stretch) {
      const stolen = busy > LONG_MS ? this.#stolenNow() - this.#stolen : 0;
      this.#stretch = Math.max(this.#stretch, now.worked - this.#entered.worked, busy - stolen);
    }
    this.#entered = now;
  }

  tick(): void {
    const now = this.#moment();
    const late = now.at - this.#tick.at - PERIOD_MS;
    this.#wall = Math.max(this.#wall, late);
    this.#turns.push(Math.max(0, late - (now.waited - this.#tick.waited)));
    this.#tick = now;
    this.#stolen = this.#stolenNow();
  }

  read(): ProbeReading {
    this.tick(); // what is going on now has not been seen by the timer
    const resident = process.memoryUsage.rss();
    const turns = this.#turns.toSorted((a, b) => b - a);
    const [turn = 0] = turns;
    const turn99 = lastedFor(turns, 0.01);
    const reading = { stretch: this.#stretch, turn, turn99, wall: this.#wall, resident };
    this.#stretch = 0;
    this.#turns = [];
    this.#wall = 0;
    return reading;
  }

  #moment() {
    const length = readSync(this.#file, this.#bytes, 0, this.#bytes.length, 0);
    const [worked = 0, waited = 0] = this.#bytes
      .toString("latin1", 0, length)
      .split(" ")
      .map(Number);
    return {
      at: performance.now(),
      worked: worked / NANOS_PER_MILLI,
      waited: waited / NANOS_PER_MILLI,
      idle: performance.eventLoopUtilization().idle,
    };
  }

  /** In ms, from all processors: "cpu", spaces, then user, nice, system, idle, iowait, irq, softirq, steal. */
  #stolenNow(): number {
    const length = readSync(this.#counts, this.#bytes, 0, this.#bytes.length, 0);
    return Number(this.#bytes.toString("latin1", 0, length).split(/\s+/, 9)[8]) * TICK_MS;
  }
}

/** The length from which on turns took up this share of the time. */
function lastedFor(longestFirst: readonly number[], share: number): number {
  const all = longestFirst.reduce((sum, late) => sum + late + PERIOD_MS, 0);
  let passed = 0;
  return longestFirst.find((late) => (passed += late + PERIOD_MS) > all * share) ?? 0;
}

function collect(): void {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("gc");
  if (typeof found === "function")
    found({ type: "major", execution: "sync", flavor: "last-resort" });
}

const probe = new LoopProbe();
setInterval(() => probe.tick(), PERIOD_MS).unref();
let depth = 0; // of calls inside calls, of which only the outermost counts
createHook({
  trackPromises: false,
  before: () => void (depth++ === 0 && probe.enter()),
  after: () => void depth--,
}).enable();

process.on("message", (command: ProbeCommand) => {
  switch (command.ask) {
    case "read":
      process.send?.(probe.read());
      break;
    case "block":
      for (const end = performance.now() + command.millis; performance.now() < end;);
      break;
    case "collect":
      collect();
      break;
    case "drop-json-limits": {
      const all = Object.keys(JSON_LIMITS).map((name) => [name, Infinity]);
      Object.assign(JSON_LIMITS, Object.fromEntries(all));
      break;
    }
  }
});
process.channel?.unref(); // the server ends when it wants to
