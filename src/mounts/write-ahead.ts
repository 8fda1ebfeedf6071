// Write-ahead records of one mount (engines contract 1.5): notes of what is about to be made outside.
// Whoever settles one removes it; what is left after a crash is undone by rollback.ts.

import { type Codec, jsonCodec } from "../base/codec.ts";
import type { JsonObject } from "../base/json.ts";
import type { Clock, Instant, Random } from "../base/world.ts";
import type { View } from "../barrier/view.ts";
import type { WriteAhead, WriteAheadRecord } from "../../plugin-sdk/engine.ts";
import * as failures from "./failures.ts";

/** A record with how its undoing goes. */
export interface NotedRecord extends WriteAheadRecord {
  /** Failures in a row. */
  readonly tries: number;
  readonly failedSince: Instant | null;
  readonly nextTry: Instant;
  readonly lastError: string;
  /** When the log last told of it as an orphan. */
  readonly toldAt: Instant;
}

interface Stored {
  readonly kind: string;
  readonly data: JsonObject;
  readonly created: string;
  readonly tries?: number;
  readonly failedSince?: string | null;
  readonly nextTry?: string;
  readonly lastError?: string;
  readonly toldAt?: string;
}

const codec: Codec<Stored> = jsonCodec();
const PAGE = 100;

export interface WriteAheadOptions {
  /** local/ns/<namespace>/mounts/<uuid>/wal/ */
  readonly view: View;
  readonly clock: Pick<Clock, "now">;
  readonly random: Random;
  /** Whether the mount takes requests: nothing new begins in one that is being disabled. */
  readonly takesNew: () => boolean;
}

export class WriteAheadLog implements WriteAhead {
  readonly #options: WriteAheadOptions;

  constructor(options: WriteAheadOptions) {
    this.#options = options;
  }

  async begin(kind: string, data: JsonObject): Promise<string> {
    const { view, clock, random, takesNew } = this.#options;
    const id = random.uuid();
    const record: Stored = { kind, data, created: String(clock.now()) };
    await view.write((tx) => {
      if (!takesNew()) throw failures.gone();
      tx.put(id, record, codec);
    });
    return id;
  }

  /** One that is no longer there stays away: its undoing has begun and ended. */
  async note(id: string, data: JsonObject): Promise<void> {
    await this.#options.view.write((tx) => {
      const found = tx.get(id, codec);
      if (found === null) throw failures.gone();
      tx.put(id, { ...found, data }, codec);
    });
  }

  async drop(id: string): Promise<void> {
    await this.#options.view.write((tx) => tx.delete(id), { essential: true });
  }

  get(id: string): NotedRecord | null {
    const found = this.#options.view.get(id, codec);
    return found === null ? null : shown(id, found);
  }

  page(after: string | undefined): NotedRecord[] {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    return this.#options.view.records("", codec, page).map(({ key, value }) => shown(key, value));
  }

  get isEmpty(): boolean {
    return this.#options.view.keys("", { limit: 1 }).length === 0;
  }

  /** Its undoing has failed; nothing is kept of one that was settled meanwhile. */
  async failed(record: NotedRecord): Promise<void> {
    await this.#options.view.write((tx) => {
      const found = tx.get(record.id, codec);
      if (found === null) return;
      const { tries, failedSince, nextTry, lastError, toldAt } = record;
      const since = failedSince === null ? null : String(failedSince);
      const state = { tries, failedSince: since, nextTry: String(nextTry), lastError };
      tx.put(record.id, { ...found, ...state, toldAt: String(toldAt) }, codec);
    });
  }
}

function shown(id: string, stored: Stored): NotedRecord {
  const { kind, data, failedSince = null } = stored;
  return {
    id,
    kind,
    data,
    created: BigInt(stored.created),
    tries: stored.tries ?? 0,
    failedSince: failedSince === null ? null : BigInt(failedSince),
    nextTry: BigInt(stored.nextTry ?? 0),
    lastError: stored.lastError ?? "",
    toldAt: BigInt(stored.toldAt ?? 0),
  };
}
