// How far behind secondaries were in the last hour: a point every ten seconds, in memory.

import type { JsonObject } from "@holdfast/shared/json/json";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { PeerReading } from "../../house/readings.ts";

export const LAG_STEP: Nanos = 10n * SECOND;
const KEPT: Nanos = HOUR;
/** Of one point; more secondaries than that there never are. */
const MAX_PEERS = 128;

interface Point {
  readonly time: Instant;
  readonly lags: ReadonlyMap<
    string,
    { readonly entries: number | null; readonly millis: number | null }
  >;
}

export class LagHistory {
  #points: Point[] = [];

  /** Also after a clock was set back: what is of the future then goes. */
  note(now: Instant, peers: readonly PeerReading[]): void {
    const lags = peers.slice(0, MAX_PEERS).map(({ id, lagEntries: entries, lagSeconds }) => {
      const millis = lagSeconds === null ? null : Math.round(lagSeconds * 1000);
      return [id, { entries, millis }] as const;
    });
    const kept = this.#points.filter(({ time }) => time < now && now - time < KEPT);
    this.#points = [...kept, { time: now, lags: new Map(lags) }];
  }

  /** Columns of equal length, the oldest first. */
  of(id: string): JsonObject {
    const points = this.#points.flatMap(({ time, lags }) => {
      const lag = lags.get(id);
      return lag === undefined ? [] : [{ time: Number(time / SECOND), ...lag }];
    });
    return {
      times: points.map(({ time }) => time),
      wal_lag: points.map(({ entries }) => entries),
      lag_ms: points.map(({ millis }) => millis),
    };
  }
}
