// What the faults of faults.ts do to a call: before it has its effect, instead of it, and after it.

import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Effect } from "./faults.ts";
import { Refusal } from "./refusal.ts";
import type { Reply } from "./route.ts";
import type { Call, Tenant } from "./tenant.ts";

/** No answer: the connection is cut. */
export class Cut extends Error {}

export interface Received {
  readonly message: IncomingMessage;
  readonly text: string;
}

export interface Struck {
  readonly tenant: Tenant;
  readonly call: Call;
  readonly request: Received;
  /** The caller has gone. */
  readonly gone: AbortSignal;
}

/** What a test has ordered for this call happens around it. */
export async function withFaults(
  { tenant, call, request, gone }: Struck,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const effect = tenant.faults.strike(call.surface, call.action);
  if (effect === null) return run();
  const { kind } = effect;
  const idly = async <T>(wait: Promise<T>): Promise<T> => {
    tenant.working--;
    return wait.finally(() => tenant.working++);
  };
  if (kind === "hold" && effect.when === "before") {
    if (!(await idly(tenant.held.hold(call.number, gone)))) throw new Cut();
  }
  if (kind === "delay") await pause(effect.milliseconds);
  if (kind === "reset") throw new Cut();
  const instead = insteadOf(effect, request);
  if (instead !== null) return instead;
  const reply = await run();
  call.status = reply.status;
  if (kind === "hold" && effect.when === "after") await idly(tenant.held.hold(call.number, gone));
  if (kind === "hang") await idly(aborted(gone));
  if (kind === "lost" || gone.aborted) throw new Cut();
  return kind === "huge" ? { ...reply, body: { filler: "x".repeat(effect.bytes) } } : reply;
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}

/** What is answered without an effect; null where the call goes on. */
function insteadOf(effect: Effect, request: Received): Reply | null {
  switch (effect.kind) {
    case "refuse": {
      const { status, code, message = "Refused, as a test has ordered.", details = [] } = effect;
      throw new Refusal(status, code, message, { details, ...retryAfter(effect.retryAfter) });
    }
    case "throttle":
      throw throttled(effect.retryAfter);
    case "unavailable": {
      const text = "The service is temporarily unavailable.";
      throw new Refusal(503, "serviceNotAvailable", text, retryAfter(effect.retryAfter));
    }
    case "redirect":
      return { status: 307, headers: { location: effect.location } };
    case "garbage":
      return { status: 200, headers: { "content-type": "text/html" }, body: ["<html>no JSON"] };
    case "lie":
      return { status: 200, body: { error: { code: "Request_BadRequest", message: "No." } } };
    case "echo": {
      const { authorization = "" } = request.message.headers;
      const text = `${authorization} ${request.text}`;
      const headers = { "x-echo": text.replaceAll(/[^ -~]/g, " ") };
      throw new Refusal(effect.status, "Request_BadRequest", text, { headers });
    }
    case "delay":
    case "hang":
    case "hold":
    case "huge":
    case "lost":
    case "reset":
      return null;
  }
}

export function throttled(seconds: number | undefined): Refusal {
  return new Refusal(429, "TooManyRequests", "Too many requests.", retryAfter(seconds));
}

function retryAfter(seconds: number | undefined): { headers: Record<string, string> } {
  return { headers: seconds === undefined ? {} : { "retry-after": String(seconds) } };
}
