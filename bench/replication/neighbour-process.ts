// Keeps a core as busy as a secondary does, and has nothing to do with the primary: a store of its own in memory, small
// writes in bursts. Two that share a machine share its caches and more; what that costs the primary is not what following it
// does, which in earnest happens on another machine.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { bytesCodec } from "@holdfast/shared/codec";
import { withStore } from "../stores/opened-store.ts";

export interface NeighbourInput {
  readonly directory: string;
  readonly everyMillis: number;
}

/** Sent to it: how many writes a burst has from now on. */
export interface Busy {
  readonly count: number;
}

const NAMES = 20_000;

process.once("disconnect", () => process.exit(0));
const { directory, everyMillis } = JSON.parse(process.argv[2] ?? "{}") as NeighbourInput;
await withStore(directory, {}, async ({ barrier }) => {
  const view = barrier.view("shared/");
  const value = Buffer.alloc(300, 7);
  let [count, written] = [0, 0];
  process.on("message", (busy: Busy) => (count = busy.count));
  const write = () => view.write((tx) => tx.put(`bench/${written++ % NAMES}`, value, bytesCodec));
  process.send?.("ready");
  for (let due = performance.now(); ;) {
    await Promise.all(Array.from({ length: count }, write));
    due = Math.max(due + everyMillis, performance.now() - everyMillis);
    do await pause(1);
    while (performance.now() < due);
  }
});
