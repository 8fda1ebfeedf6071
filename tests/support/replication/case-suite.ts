// What the walks over the cases of docs/cases/replication.md have in common: clusters as processes that the tests of a suite
// share, each beginning where the one before it has ended.

import assert from "node:assert/strict";
import { after } from "node:test";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { Ends } from "../servers/started-server.ts";
import { type Answer, at } from "../http-client.ts";
import { until } from "../until.ts";
import type { ClusterProcess } from "./cluster-process.ts";

/** Whatever the tests of this suite have begun ends after the last of them, the latest first. */
export function suiteEnds(): Ends {
  const work: (() => unknown)[] = [];
  after(async () => {
    for (const one of work.toReversed()) await one();
  });
  return { after: (one) => void work.push(one as () => unknown) };
}

export function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code, answer.text);
}

export async function comesTo(cluster: ClusterProcess, name: string, value: unknown) {
  await until(async () => (await cluster.status())[name] === value);
}

/** Calls its primary in vain: it was refused, or nobody is there. */
export async function isRefused(cluster: ClusterProcess): Promise<void> {
  await until(async () => {
    const { state, connection_state } = await cluster.status();
    return state === "idle" && connection_state === "transient_failure";
  });
}

/** How often the lines of its log name this event. */
export function eventsIn(cluster: ClusterProcess, event: string): number {
  return cluster.log.split(`event=${event}`).length - 1;
}

export function textOf(status: JsonObject, name: string): string {
  const value = status[name];
  assert.ok(typeof value === "string", name);
  return value;
}

export function firstOf(list: unknown): JsonObject {
  const one: unknown = Array.isArray(list) ? list[0] : null;
  assert.ok(isObject(one));
  return one;
}

/** A key that tokens for this secondary are sealed to. */
export async function keyOf(secondary: ClusterProcess, token: string): Promise<unknown> {
  const made = await secondary.operate("generate-public-key", {}, token);
  is(made, 200);
  return at(made, "data", "secondary_public_key");
}

/** Of a primary, for a secondary of the same set. */
export async function tokenFor(
  primary: ClusterProcess,
  id: string,
  secondary_public_key: unknown,
): Promise<string> {
  const made = await primary.dr("primary/secondary-token", { id, secondary_public_key });
  is(made, 200);
  return String(at(made, "data", "token"));
}
