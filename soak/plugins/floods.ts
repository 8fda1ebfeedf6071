// A plugin that prints without end: what it costs, and how long another one takes to answer meanwhile.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock } from "@holdfast/shared/world";
import { hold, PluginPlace, say } from "../../tests/support/plugins/plugin-place.ts";
import type { Scene } from "./plugins.ts";

const MAX_GROWTH = 64 * 2 ** 20;
const LINES_A_SECOND = 1000;
const CALLS = 50;

export async function floods({ n, plant }: Scene): Promise<readonly string[]> {
  const place = new PluginPlace();
  let steps = 0n;
  // With the bug every look at the clock is in another second: nothing is too much for any.
  const hasty: Clock = {
    now: () => place.clock.now(),
    elapsed: () => place.clock.elapsed() + ++steps * SECOND,
  };
  const processes = await place.open({}, plant ? { clock: hasty } : {});
  const wrong: string[] = [];
  try {
    const loud = await hold(processes, place.program({ name: "loud" }));
    const quiet = await hold(processes, place.program({ name: "quiet" }));
    await say(loud, "floods");
    const before = process.memoryUsage().rss;
    for (let i = 0; i < n && wrong.length === 0; i++) {
      const began = performance.now();
      const lines = place.lines.splice(0).length;
      const times: number[] = [];
      for (let call = 0; call < CALLS; call++) {
        const sent = performance.now();
        await say(quiet, "echo", "x".repeat(100));
        times.push(performance.now() - sent);
        await new Promise((go) => setTimeout(go, 1000 / CALLS));
      }
      const seconds = (performance.now() - began) / 1000;
      const most = (Math.ceil(seconds) + 1) * LINES_A_SECOND * 2;
      if (place.lines.length > most)
        wrong.push(`round ${i}: ${place.lines.length} lines in ${seconds.toFixed(1)} s`);
      const growth = process.memoryUsage().rss - before;
      if (i > 0 && growth > MAX_GROWTH)
        wrong.push(`round ${i}: ${Math.round(growth / 2 ** 20)} MB more, after ${lines} lines`);
      const slow = times.toSorted((a, b) => a - b)[Math.floor(CALLS * 0.95)] ?? 0;
      if (slow > 500) wrong.push(`round ${i}: another plugin took ${Math.round(slow)} ms`);
    }
    if (!plant && processes.figures.of("loud").droppedLines === 0)
      wrong.push("nothing was dropped");
  } finally {
    await processes.close();
    place.remove();
  }
  return wrong;
}
