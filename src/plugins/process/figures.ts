// What is counted of plugin processes: plain numbers, for whoever measures and for whoever shows them.

import { type Served, serviceTable, type ServiceTable } from "@holdfast/shared/grpc/method";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { Histogram, SECONDS_BUCKETS } from "../../base/metrics.ts";
import type { PluginType } from "../ports.ts";
import type { LifeState } from "./life.ts";

/** Names beyond these are counted together. */
const MAX_NAMES = 256;
export const OTHER_NAMES = "other";

export type StartResult = "ok" | "failed" | "refused";

/** Seconds that calls took; both kinds begin when they are there, and end with their answer. */
export interface CallTimes {
  /** To the plugin. */
  readonly requests: Pick<Histogram, "observe">;
  /** From it, to storage and whatever else it is served. */
  readonly storageCalls: Pick<Histogram, "observe">;
}

export class PluginCounts implements CallTimes {
  readonly requests = new Histogram(SECONDS_BUCKETS);
  readonly storageCalls = new Histogram(SECONDS_BUCKETS);
  readonly starts: Record<StartResult, number> = { ok: 0, failed: 0, refused: 0 };
  restarts = 0;
  /** Lines that were printed faster than they may be logged. */
  droppedLines = 0;
}

/** By name in the catalog. */
export class ProcessFigures {
  readonly #byName = new Map<string, PluginCounts>();

  of(name: string): PluginCounts {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#byName.size >= MAX_NAMES && name !== OTHER_NAMES) return this.of(OTHER_NAMES);
    const counts = new PluginCounts();
    this.#byName.set(name, counts);
    return counts;
  }

  get all(): ReadonlyMap<string, PluginCounts> {
    return this.#byName;
  }
}

/** One process, or the place of one, as people are shown it. */
export interface ProcessReport {
  readonly type: PluginType;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly state: LifeState;
  /** Null where none runs. */
  readonly pid: number | null;
  /** Bytes; null where none runs, or that is not known. */
  readonly memory: number | null;
  readonly runner: string | null;
  readonly users: number;
  readonly restarts: number;
  /** Why it ended or did not start the last time; null where it never did. */
  readonly lastCause: string | null;
}

export function secondsOf(span: Nanos): number {
  return Number(span) / Number(SECOND);
}

/** The services that a plugin reaches, with the time that each of its calls takes. Streams end when nobody needs them any more: their time says nothing. */
export function measured(
  services: ServiceTable<null>,
  clock: Pick<Clock, "elapsed">,
  took: (seconds: number) => void,
): ServiceTable<null> {
  return serviceTable(
    Array.from(services.values(), (served): Served<null> => {
      const { shape } = served;
      if (shape.kind !== "unary") return served;
      return {
        shape,
        async *run(requests, call) {
          const began = clock.elapsed();
          try {
            yield* served.run(requests, call);
          } finally {
            took(secondsOf(clock.elapsed() - began));
          }
        },
      };
    }),
  );
}
