// Write-ahead records that rollback could not undo for a day: what of them operators see, and how they
// are given up.

import { showTime } from "@holdfast/shared/text/time";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Clock } from "@holdfast/shared/world";
import type { MountRef } from "@holdfast/shared/endpoint/request";
import * as failures from "../failures.ts";
import type { Table } from "../table/mount-table.ts";
import { recordsOf } from "./rollback.ts";
import { isOrphan } from "./write-ahead.ts";

const MAX_LISTED = 1000;

export interface OrphansOptions {
  readonly table: Table;
  readonly clock: Pick<Clock, "now">;
}

export class Orphans {
  readonly #options: OrphansOptions;

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  list(ref: MountRef | null): { keys: string[]; key_info: Record<string, JsonObject> } {
    const { table, clock } = this.#options;
    const mount = ref === null ? null : table.byUuid(ref.uuid);
    const found: Record<string, JsonObject> = {};
    if (mount === null) return { keys: [], key_info: found };
    const now = clock.now();
    let count = 0;
    for (const record of recordsOf(mount)) {
      if (!isOrphan(record, now)) continue;
      if (++count > MAX_LISTED) break;
      const { id, kind, data, created, lastError } = record;
      found[id] = { kind, object: data, created_at: showTime(created), last_error: lastError };
    }
    return { keys: Object.keys(found), key_info: found };
  }

  /** Nobody tries any more to remove what it tells of. */
  async forget(ref: MountRef | null, id: string): Promise<void> {
    const { table, clock } = this.#options;
    const mount = ref === null ? null : table.byUuid(ref.uuid);
    const record = mount?.writeAhead.get(id) ?? null;
    if (mount === null || !isOrphan(record, clock.now())) throw failures.orphanUnknown();
    await mount.writeAhead.drop(id);
  }
}
