// What is large keeps others waiting unless it is done in steps, and addresses take turns with what is long to mask
// and record.

import { FairLine } from "@holdfast/shared/fair-line";
import { JSON_LIMITS } from "@holdfast/shared/json/json-limits";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import type { Waiting } from "@holdfast/shared/waiting";
import type { Timers } from "@holdfast/shared/world";
import * as failures from "./failures.ts";
import type { RunningRequest } from "./running.ts";
import type { RequestState } from "./request-state.ts";
import type { PipelineParts } from "./seams.ts";

/** Bytes of a body from which on others get their turn between the steps. */
export const LARGE = 16 * 1024;
/** Members and elements of an answer from which on they get it there. */
const MANY = 1000;

/** Bytes from which on masking, recording and encoding take long enough that callers take turns. */
export const TAKES_TURNS = 64 * 1024;
/** Two, so that one is masked while the other is written; and of an address one, so that others find a place. */
const TURNS = { atOnce: 2, atOncePerAddress: 1, waiting: 4096, waitingPerAddress: 1024 };

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const PART_BYTES = 80; // an empty object and the place that points to it

/** A thousand of one address are between nobody else's. What is small does not wait for it, neither here nor behind
 *  many such records at the devices. */
export class Turns {
  readonly #line = new FairLine(TURNS, failures.largeWaiting);
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  take<T>({ incoming }: RequestState, request: Waiting, work: () => Promise<T>): Promise<T> {
    return this.#line.run(request, incoming.remote.address, async () => {
      await this.#timers.turn(); // those that wait for the event loop first
      return await work();
    });
  }
}

/** One that is refused and has only to be recorded: neither the seal nor its mount waits for that. */
export function isRefused(
  entry: RunningRequest,
  { running }: Pick<PipelineParts, "running">,
): Waiting {
  entry.mount = "";
  const { signal } = new AbortController(); // it is recorded, whether or not its caller is there
  return { waitFor: (turn) => running.wait(entry, turn, { refusal: failures.sealed, signal }) };
}

/** One that has begun nothing: it is judged when its turn has come, and not before. */
export function hasBegunNothing(
  { incoming }: RequestState,
  entry: RunningRequest,
  { running, node }: Pick<PipelineParts, "running" | "node">,
): Waiting {
  const { signal } = incoming;
  const refusal = failures.sealed;
  const served = !node.sealed;
  return {
    waitFor: (turn) => {
      if (served && node.sealed) throw refusal();
      return running.wait(entry, turn, { refusal, signal });
    },
  };
}

/** Whether a value has more parts than a moment is enough for. Looks at no more of it than that takes. */
export function isLarge(value: unknown, seen = { parts: 0 }): boolean {
  if (typeof value === "string") return value.length > LARGE;
  if (typeof value !== "object" || value === null || value instanceof StreamBody) return false;
  if (Array.isArray(value)) {
    if ((seen.parts += value.length) > MANY) return true;
    return value.some((element) => isLarge(element, seen));
  }
  for (const name in value) {
    if (++seen.parts > MANY || isLarge((value as Record<string, unknown>)[name], seen)) return true;
  }
  return false;
}

/** Whether reading and recording it is so much that addresses take turns with it: long, or of many parts. */
export function takesTurns(body: Uint8Array): boolean {
  if (body.length <= LARGE) return false;
  return body.length > TAKES_TURNS || partsOf(body) > MANY;
}

/** About what the parts of a JSON text take when it is read, beside its texts: `{}` becomes thirty times as much. */
export function weightOfParts(bytes: Uint8Array): number {
  return Math.min(partsOf(bytes), JSON_LIMITS.tokens) * PART_BYTES;
}

/** At least as many as there are. */
function partsOf(bytes: Uint8Array): number {
  let parts = 1;
  // By index: an iterator over sealed intrinsics takes ten times as long.
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) parts++;
  }
  return parts;
}

/** About as many bytes as it has when it is sent. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null || value instanceof StreamBody) return 8;
  let sum = 2;
  if (Array.isArray(value)) for (const element of value) sum += weightOf(element) + 1;
  else {
    for (const name in value) {
      sum += name.length + 4 + weightOf((value as Record<string, unknown>)[name]);
    }
  }
  return sum;
}
