// Clients that write as fast as they are answered, in a process of their own: whoever asks for the status meanwhile does not wait for
// what is done for their answers here.

import { performance } from "node:perf_hooks";
import { type Caller, requestBytes } from "../api/api-caller.ts";
import { load } from "../load/load.ts";
import { quantile } from "../measure.ts";
import { answer } from "../processes.ts";

export interface WritingInput {
  readonly primary: Caller;
  readonly clients: number;
  readonly millis: number;
}

export interface WritingFigures {
  /** By the clock of the machine, in ms. */
  readonly began: number;
  readonly ended: number;
  readonly perSecond: number;
  readonly p99: number; // ms
}

const now = () => performance.timeOrigin + performance.now();

await answer<WritingInput>(async ({ primary, clients: count, millis }): Promise<WritingFigures> => {
  const clients = Array.from({ length: count }, (_, i) => [
    requestBytes(primary, "POST", `secret/data/key-${i}`, { data: { value: "x".repeat(200) } }),
  ]);
  const began = now();
  const { perSecond, latencies } = await load(
    new URL(primary.url),
    { clients, statuses: [200] },
    millis,
  );
  return { began, ended: now(), perSecond, p99: quantile(latencies, 0.99) };
});
