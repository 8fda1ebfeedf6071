// Takes a snapshot as another machine would: in a process of its own, without a disk, and with what the others leave of the
// processors. Who measures others meanwhile is not held up by it.

import { constants, setPriority } from "node:os";
import { answer } from "../processes.ts";

export interface TakingInput {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface TakingFigures {
  readonly bytes: number;
  readonly millis: number;
}

setPriority(constants.priority.PRIORITY_LOW);

await answer(async ({ url, headers }: TakingInput): Promise<TakingFigures> => {
  const began = performance.now();
  const taken = await fetch(url, { headers });
  if (taken.status !== 200 || taken.body === null) throw new Error(`status ${taken.status}`);
  let bytes = 0;
  for await (const piece of taken.body) bytes += piece.length;
  return { bytes, millis: performance.now() - began };
});
