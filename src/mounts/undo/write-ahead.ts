// Write-ahead records of one mount: notes of what is about to be made outside.
// Whoever settles one removes it; what is left after a crash is undone by rollback.ts.

import { createHash } from "node:crypto";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import { DAY, HOUR, MINUTE } from "@holdfast/shared/text/duration";
import { isUuid, uuidOfDigits } from "@holdfast/shared/text/uuid";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { WriteAhead, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import * as failures from "../failures.ts";

/** A record with how its undoing goes. */
export interface NotedRecord extends WriteAheadRecord {
  /** Failures in a row. */
  readonly tries: number;
  readonly failedSince: Instant | null;
  readonly nextTry: Instant;
  readonly lastError: string;
  /** When the log last told of it as an orphan. */
  readonly reportedAt: Instant;
  /** Nobody works on it any more, however young it is. */
  readonly isAbandoned: boolean;
}

export interface StoredWriteAhead {
  readonly kind: string;
  readonly data: JsonObject;
  readonly created: string;
  readonly tries?: number;
  readonly failedSince?: string | null;
  readonly nextTry?: string;
  readonly lastError?: string;
  readonly toldAt?: string;
  readonly abandoned?: boolean;
}

export const writeAheadCodec: Codec<StoredWriteAhead> = jsonCodec();
const PAGE = 100;
const MAX_ERROR = 240; // characters
/** From when on a record that cannot be undone is one for operators to see. */
export const ORPHANED_AFTER: Nanos = DAY;
export const ORPHAN_PAUSE: Nanos = 6n * HOUR;

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

  begin(kind: string, data: JsonObject): Promise<string> {
    return this.#options.view.write((tx) => this.beginWith(tx, kind, data));
  }

  /** With whatever else the transaction does. */
  beginWith(tx: Tx, kind: string, data: JsonObject, wanted?: string): string {
    const { view, clock, random, takesNew } = this.#options;
    if (!takesNew()) throw failures.gone();
    const id = wanted ?? random.uuid();
    const isFree = isUuid(id) && tx.on(view).get(id, writeAheadCodec) === null;
    if (!isFree) throw failures.recordTaken();
    tx.on(view).put(id, { kind, data, created: String(clock.now()) }, writeAheadCodec);
    return id;
  }

  settleWith(tx: Tx, id: string): void {
    tx.on(this.#options.view).delete(id);
  }

  /** One that is no longer there stays away: its undoing has begun and ended. */
  async note(id: string, data: JsonObject): Promise<void> {
    await this.#options.view.write((tx) => {
      const found = tx.get(id, writeAheadCodec);
      if (found === null) throw failures.gone();
      tx.put(id, { ...found, data }, writeAheadCodec);
    });
  }

  async drop(id: string): Promise<void> {
    await this.#options.view.write((tx) => tx.delete(id), { essential: true });
  }

  /** Also in a mount that is being disabled: what its leases leave behind is not to be forgotten. */
  async orphan(kind: string, data: JsonObject, cause: string): Promise<string> {
    const { view, clock } = this.#options;
    const id = nameOf(kind, data);
    const now = clock.now();
    const record: StoredWriteAhead = {
      kind,
      data,
      created: String(now),
      tries: 1,
      failedSince: String(now - ORPHANED_AFTER),
      nextTry: String(now + MINUTE),
      lastError: cause.slice(0, MAX_ERROR),
    };
    const note = (tx: Tx) => {
      if (tx.get(id, writeAheadCodec) === null) tx.put(id, record, writeAheadCodec);
    };
    await view.write(note, { essential: true });
    return id;
  }

  get(id: string): NotedRecord | null {
    const found = this.#options.view.get(id, writeAheadCodec);
    return found === null ? null : noted(id, found);
  }

  page(after: string | undefined): NotedRecord[] {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    return this.#options.view
      .records("", writeAheadCodec, page)
      .map(({ key, value }) => noted(key, value));
  }

  get isEmpty(): boolean {
    return this.#options.view.keys("", { limit: 1 }).length === 0;
  }

  /** Its undoing has failed; nothing is kept of one that was settled meanwhile. */
  async failed(record: NotedRecord): Promise<void> {
    await this.#options.view.write((tx) => {
      const found = tx.get(record.id, writeAheadCodec);
      if (found === null) return;
      const { tries, failedSince, nextTry, lastError, reportedAt } = record;
      const since = failedSince === null ? null : String(failedSince);
      const error = lastError.slice(0, MAX_ERROR);
      const state = { tries, failedSince: since, nextTry: String(nextTry), lastError: error };
      tx.put(record.id, { ...found, ...state, toldAt: String(reportedAt) }, writeAheadCodec);
    });
  }
}

/** After a day of failures, or by what an engine has said itself. */
export function isOrphan(record: NotedRecord | null, now: Instant): boolean {
  return (
    record !== null && record.failedSince !== null && now - record.failedSince >= ORPHANED_AFTER
  );
}

/** Of the form of the others: a revocation that a crash cut off says the same again. */
function nameOf(kind: string, data: JsonObject): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([kind, data]))
    .digest("hex");
  return uuidOfDigits(digest.slice(0, 32));
}

function noted(id: string, stored: StoredWriteAhead): NotedRecord {
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
    reportedAt: BigInt(stored.toldAt ?? 0),
    isAbandoned: stored.abandoned ?? false,
  };
}
