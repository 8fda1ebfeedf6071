// Targets over real sockets, on a real disk, with timers that do not wait.

import type { Timers } from "@holdfast/shared/world";
import { OutboundCalls } from "../../../src/outbound/outbound-calls.ts";
import type { TargetNeeds } from "../../../src/snapshots/targets/open-target.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemSnapshotFiles } from "../../../src/system/snapshot-files.ts";
import { SystemTimers } from "../../../src/system/timers.ts";

interface After {
  after(call: () => void | Promise<void>): void;
}

export interface NeedsOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly roots?: readonly string[];
  readonly forbidden?: readonly string[];
}

export interface SomeNeeds extends TargetNeeds {
  /** How long was waited between tries, in ms. */
  readonly pauses: number[];
}

export function targetNeeds(t: After, options: NeedsOptions = {}): SomeNeeds {
  const { environment = {}, roots = [], forbidden = [] } = options;
  const real = new SystemTimers();
  const pauses: number[] = [];
  // Pauses between tries are noted and not waited for.
  const timers: Timers = {
    after: (delay, call) => {
      pauses.push(Number(delay / 1_000_000n));
      return real.after(0n, call);
    },
    turn: () => real.turn(),
  };
  const calls = new OutboundCalls({
    allow: [],
    dev: true,
    timers: real,
    net: new SystemNet(),
    resolve: async () => ["127.0.0.1"],
  });
  t.after(() => calls.close());
  return {
    outbound: calls.for("snapshots"),
    clock: new SystemClock(),
    timers,
    random: new SystemRandom(),
    partBytes: 5 * 1024 * 1024,
    environment: (name) => environment[name] ?? null,
    files: new SystemFs(),
    namedHosts: ["127.0.0.1"],
    local: { files: new SystemSnapshotFiles(), places: { roots, forbidden } },
    pauses,
  };
}
