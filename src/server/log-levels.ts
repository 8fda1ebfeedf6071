// The levels of the server's logs by component, for those who change them while it runs.

import type { LogDial, LogThreshold } from "@holdfast/shared/log";

/** Components that have a log of their own (`log.child`). */
export const LOGS = [
  "audit",
  "barrier",
  "core",
  "http",
  "namespaces",
  "request",
  "seal",
  "storage",
  "tokens",
] as const;

export class LogLevels {
  readonly #dial: LogDial;
  readonly #components: Map<string, LogThreshold>;
  readonly #configured: () => LogThreshold;

  /** `configured` is what a reset goes back to. */
  constructor(dial: LogDial, configured: () => LogThreshold) {
    this.#dial = dial;
    this.#components = dial.components ?? new Map();
    this.#configured = configured;
  }

  levels(): ReadonlyMap<string, LogThreshold> {
    return new Map(LOGS.map((name) => [name, this.#components.get(name) ?? this.#dial.level]));
  }

  set(name: string | null, level: LogThreshold): boolean {
    if (name === null) {
      this.#components.clear();
      this.#dial.level = level;
      return true;
    }
    if (!isLog(name)) return false;
    this.#components.set(name, level);
    return true;
  }

  reset(name: string | null): boolean {
    if (name === null) return this.set(null, this.#configured());
    if (!isLog(name)) return false;
    this.#components.delete(name);
    return true;
  }
}

function isLog(name: string): boolean {
  return LOGS.some((known) => known === name);
}
