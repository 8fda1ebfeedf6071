// What an engine counts, told to the host now and then and not one by one.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { EngineMetrics } from "../metrics.ts";
import { MANY } from "../wire/limits.ts";

const EVERY: Nanos = 500n * MILLISECOND;

export interface Count {
  readonly what: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number | null;
}

type Labels = Readonly<Record<string, string>>;

export class CountedMetrics implements EngineMetrics {
  readonly #timers: Pick<Timers, "after">;
  readonly #send: (counts: readonly Count[]) => Promise<void>;
  #counts: Count[] = [];
  #timer: Timer | null = null;

  constructor(timers: Pick<Timers, "after">, send: (counts: readonly Count[]) => Promise<void>) {
    this.#timers = timers;
    this.#send = send;
  }

  count(name: string, labels: Labels = {}): void {
    this.#add("count", name, null, labels);
  }

  observe(name: string, value: number, labels: Labels = {}): void {
    this.#add("observe", name, value, labels);
  }

  since(name: string, at: number | null): void {
    this.#add("since", name, at, {});
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const counts = this.#counts;
    this.#counts = [];
    // A number that is lost with its host is nobody's any more.
    if (counts.length > 0) void this.#send(counts).catch(() => {});
  }

  #add(what: string, name: string, value: number | null, labels: Labels): void {
    this.#counts.push({ what, name, labels: new Map(Object.entries(labels)), value });
    if (this.#counts.length >= MANY) return this.flush();
    this.#timer ??= this.#timers.after(EVERY, () => this.flush());
  }
}
