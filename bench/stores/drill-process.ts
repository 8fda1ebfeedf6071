// Proves an archive in a process that does nothing else: its memory is the proof's.

import { flushCompileCache } from "node:module";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { secretKey } from "../../src/crypto/aead.ts";
import { deepCheck } from "../../src/snapshots/proof/deep-check.ts";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import { SystemWorkFiles } from "../../src/system/work-file.ts";
import { answer } from "../processes.ts";

const PIECE = 256 * 1024;

export interface DrillFigures {
  readonly seconds: number;
  readonly rss: number; // MiB, at most
  readonly before: number; // MiB
  readonly block: number; // ms
}

/** Without a file: nothing but what it loads. */
interface DrillInput {
  readonly file: string | null;
}

await answer(async ({ file: path }: DrillInput): Promise<DrillFigures> => {
  if (path === null) {
    flushCompileCache();
    return { seconds: 0, rss: 0, before: 0, block: 0 };
  }
  const file = await new SystemWorkFiles().open(path);
  if (file === null) throw new Error("there is no archive");
  async function* bytes(from: NonNullable<typeof file>) {
    for (let at = 0; at < from.size;) {
      const piece = await from.read(at, PIECE);
      at += piece.length;
      yield piece;
    }
  }
  const before = process.memoryUsage.rss() / 2 ** 20;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  const report = await deepCheck(bytes(file), {
    clock: new SystemClock(),
    timers: new SystemTimers(),
    rootKeyFor: () => secretKey(Buffer.alloc(32, 1)),
  });
  const seconds = (performance.now() - began) / 1000;
  await file.close();
  if (!report.ok) throw new Error(report.problems.join("; "));
  const rss = process.resourceUsage().maxRSS / 1024;
  return { seconds, rss, before, block: delay.max / 1e6 - 1 };
});
