// The store under SIGKILL at random moments, also while the store is being opened; start again; every write
// that was acknowledged to a client must be there, whole, and the store must add up.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Prng } from "../../sim/prng.ts";
import { discard, scratch, startTarget } from "../child.ts";
import { countAcks } from "../ledger.ts";
import type { Result } from "../result.ts";

export interface Kill9Options {
  readonly cycles: number;
  readonly clients: number;
  readonly seed: number;
  readonly plant?: "ack-early";
  readonly say: (line: string) => void;
}

const LONGEST_RUN_MS = 500;

export async function kill9(options: Kill9Options): Promise<Result> {
  const random = new Prng(options.seed);
  const place = scratch("kill9");
  const directory = join(place, "store");
  const ledgerFile = join(place, "ledger");
  const acknowledged = new Map<number, number>();
  let total = 0;
  let slowest = 0;
  try {
    for (let cycle = 1; cycle <= options.cycles + 1; cycle++) {
      const last = cycle > options.cycles; // started once more, only to look
      const lines = [...acknowledged].map(([client, n]) => `${client} ${n}\n`);
      writeFileSync(ledgerFile, lines.join(""));
      let opened = false;
      let ready: () => void = () => {};
      const isReady = new Promise<void>((resolve) => (ready = resolve));
      const target = startTarget(
        {
          directory,
          clients: options.clients,
          writes: last ? 1 : 0,
          largest: 2000,
          checkpointBytes: 1024 * 1024,
          ledger: ledgerFile,
          ...(options.plant === undefined ? {} : { plant: options.plant }),
        },
        (line) => {
          const took = /^ready (\d+)$/.exec(line)?.[1];
          if (took !== undefined) {
            slowest = Math.max(slowest, Number(took));
            opened = true;
            ready();
          } else {
            countAcks([line], acknowledged);
            if (opened) total++;
          }
        },
      );
      if (!last) {
        // One in eight is killed while it opens, recovers and checks.
        if (!random.chance(1 / 8)) await Promise.race([isReady, target.ended]);
        await pause(random.int(LONGEST_RUN_MS));
        target.process.kill("SIGKILL");
      }
      const end = await target.ended;
      const asPlanned = last ? end.code === 0 : end.signal === "SIGKILL";
      if (!asPlanned) {
        const detail = `cycle ${cycle}: ended with ${end.code ?? end.signal}\n${end.errors}`;
        return { ok: false, figure: `${total} acknowledged writes`, detail };
      }
      if (cycle % 20 === 0) options.say(`${cycle} kills, ${total} acknowledged writes, none lost`);
    }
    const figure = `${options.cycles} kills, ${total} acknowledged writes, 0 lost, slowest open ${slowest} ms`;
    return { ok: true, figure };
  } finally {
    discard(place);
  }
}

/** Not a wait for something to happen: the length of time that a run is allowed to live. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
