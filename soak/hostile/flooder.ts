// A process of its own that tries passwords over many connections at once, until its parent goes or has it stop. Its
// event loop is full of its own work: whoever wants to know how long others wait must not ask from here.

import { setTimeout as pause } from "node:timers/promises";
import { login } from "./one-request.ts";

export interface FloodOptions {
  readonly port: number;
  /** Connections at once. */
  readonly n: number;
  readonly from: string;
}

/** How many were answered how; 0: not at all. */
export type FloodCounts = readonly (readonly [status: number, count: number])[];

const PAUSE_MS = 50; // after a refusal: a flood does not wait, but its clients share the server's processors

const { port, n, from } = JSON.parse(process.argv[2] ?? "") as FloodOptions;
const counts = new Map<number, number>();
let isOver = false;
process.once("disconnect", () => process.exit());
process.once("message", () => {
  isOver = true;
});

async function one(i: number): Promise<void> {
  while (!isOver) {
    const { status } = await login(port, `nobody-${i}`, "x", from);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    await pause(PAUSE_MS);
  }
}

await Promise.all(Array.from({ length: n }, (_, i) => one(i)));
process.send?.([...counts] satisfies FloodCounts, () => process.exit());
