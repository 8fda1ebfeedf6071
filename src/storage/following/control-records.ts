// Control records of entries that somebody else has made: who reads which type, and where one lies until
// it was read. It is kept in a row of its own, in the same transaction as its entry, because a sealed
// node cannot read it yet and a crash must not lose it. Such rows are of class ignored: each node's own.

import { concat } from "@holdfast/shared/bytes";
import * as failures from "../failures.ts";
import { type ControlRecord, CORE_SCOPE, type LogEntry } from "../rows/log-entry.ts";
import { EPOCH_START } from "../rows/epoch.ts";
import { u8 } from "../rows/row-bytes.ts";
import { afterPrefix } from "../key.ts";
import type { Below, StoredChange, StoreReads } from "../transaction.ts";

/** Below it one row for each record that was applied and not read yet, in order of the index. */
export const UNREAD_CONTROLS = "core/control/";
const PAGE_ROWS = 256;

export interface UnreadControl {
  readonly key: string;
  readonly record: ControlRecord;
}

/**
 * Reads a record before its entry is accepted. Gives what is to be done when the entry is durable, before
 * anybody sees what it changed; null when the record cannot be read, which refuses the entry.
 */
export type ControlReader = (
  record: ControlRecord,
  entry: Pick<LogEntry, "index" | "time">,
) => (() => void) | null;

export class ControlReaders {
  readonly #readers = new Map<number, ControlReader>();

  on(type: number, reader: ControlReader): void {
    this.#readers.set(type, reader);
  }

  /** What is to be done when the entry is durable; null when it has no record. */
  read({ index, time, control }: LogEntry): (() => void) | null {
    if (control === null || control.type === EPOCH_START) return null; // that is the log's own
    const reader = this.#readers.get(control.type);
    if (reader === undefined) throw failures.controlUnknown(index, control.type);
    const take = reader(control, { index, time });
    if (take === null) throw failures.controlUnreadable(index);
    return take;
  }
}

/** The row in which a record waits. */
export function unreadRow(index: bigint, { type, body }: ControlRecord): [string, StoredChange] {
  const key = rowOf(index);
  const value = concat(u8(type), body);
  return [key, { value, scope: CORE_SCOPE, plain: null, fresh: false }];
}

/** The rows of those that wait and come from entries above an index. */
export function unreadAbove(reads: Pick<Below, "keys">, index: bigint): string[] {
  const from = rowOf(index + 1n);
  return reads.keys({ from, to: afterPrefix(UNREAD_CONTROLS), limit: Number.MAX_SAFE_INTEGER });
}

function rowOf(index: bigint): string {
  return UNREAD_CONTROLS + index.toString(16).padStart(16, "0");
}

/** Those that wait, oldest first. */
export function* unreadControls(reads: Pick<StoreReads, "rows">): Generator<UnreadControl> {
  for (let after: string | undefined; ;) {
    const page = after === undefined ? {} : { after };
    const rows = reads.rows(UNREAD_CONTROLS, { ...page, limit: PAGE_ROWS });
    for (const { key, value } of rows) {
      yield { key, record: { type: value[0] ?? 0, body: value.subarray(1) } };
    }
    if (rows.length < PAGE_ROWS) return;
    after = rows.at(-1)!.key;
  }
}
