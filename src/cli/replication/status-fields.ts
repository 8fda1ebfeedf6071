// What is read of a status, and words for it. Pure.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { showValue } from "../terminal/value.ts";

export const STREAMING = "stream-wals";

const STATES: ReadonlyMap<string, string> = new Map([
  [STREAMING, "streaming"],
  ["merkle-diff", "comparing with the primary"],
  ["merkle-sync", "copying from the primary"],
  ["idle", "idle: nothing is replicated"],
  ["running", "running"],
  ["lapsed", "STOPPED: no secondary is reached"],
  ["fenced", "FENCED: another cluster was promoted"],
]);

/** A state in words, with the name that other tools know it by. */
export function stateText(state: string): string {
  const words = STATES.get(state);
  return words === undefined || words === state ? state : `${words} (${state})`;
}

// --- who leads ---

/** Whether it has heard of a later primary than the one that it follows. */
export function isSuperseded(status: JsonObject): boolean {
  return textOf(status["conflicting_primary"]) !== "";
}

/** Under the name that people know it by, and then by its id. */
export function leaderText(status: JsonObject, first = "cluster"): string {
  const name = textOf(status["conflicting_primary_name"]);
  const id = textOf(status["conflicting_primary"]);
  return name === "" ? `${first} ${id}` : `${name} (cluster ${id})`;
}

/** At the beginning of a sentence; a name stays as it is. */
export function leaderName(status: JsonObject): string {
  return textOf(status["conflicting_primary_name"]) || "Another cluster of the set";
}

// --- values ---

export function entriesText(count: number): string {
  return `${count} ${count === 1 ? "entry" : "entries"}`;
}

export function rowsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : [];
}

export function listOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}

export function textOf(value: JsonValue | undefined): string {
  return value === undefined || value === null || value === "" ? "" : showValue(value);
}

export function numberOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}
