// The world of a plugin: time and randomness of the machine that it runs on.

import { randomBytes, randomUUID } from "node:crypto";
import type { Clock, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";

const MILLI = 1_000_000n;
/** A timer of the runtime that is longer fires at once. */
const LONGEST_MS = 2_147_483_647n;

export const clock: Clock = {
  now: () => BigInt(Date.now()) * MILLI,
  elapsed: () => process.hrtime.bigint(),
};

export const random: Random = {
  bytes: (length) => Buffer.from(randomBytes(length)),
  uuid: () => randomUUID(),
};

export const timers: Timers = {
  after: (delay: Nanos, call: () => void): Timer => {
    const due = process.hrtime.bigint() + delay;
    let handle: NodeJS.Timeout;
    const arm = () => {
      const left = due - process.hrtime.bigint();
      const ms = left <= 0n ? 0n : (left + MILLI - 1n) / MILLI;
      const isLast = ms <= LONGEST_MS;
      handle = setTimeout(isLast ? call : arm, Number(isLast ? ms : LONGEST_MS));
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};
