// Write-ahead records that a copy of older data does not know: what they tell of is still there outside, or may be. They
// are taken over to be undone at once, since nobody works on them any more.

import { DAY } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { ENTRIES, entryCodec } from "../table/mount-record.ts";
import { writeAheadCodec } from "./write-ahead.ts";
import { writeAheadOf } from "./write-ahead-keys.ts";

const PAGE = 100;

/** Of everything below shared/ and local/. */
export interface MountViews {
  readonly shared: View;
  readonly local: View;
}

/** The namespace of each mount, by its uuid. */
export function mountsIn({ shared, local }: MountViews): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const view of [shared, local]) {
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const rows = view.records(ENTRIES, entryCodec, page);
      for (const { key, value } of rows) found.set(key.slice(ENTRIES.length), value.namespaceId);
      after = rows.at(-1)?.key;
      if (after === undefined) break;
    }
  }
  return found;
}

export async function adoptWriteAhead(
  from: MountViews,
  to: MountViews,
  now: Instant,
): Promise<{ readonly adopted: number; readonly left: number }> {
  const mounted = mountsIn(to);
  let adopted = 0;
  let left = 0;
  for (const [uuid, namespaceId] of mountsIn(from)) {
    const folder = writeAheadOf(namespaceId, uuid);
    const stays = mounted.get(uuid) === namespaceId;
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const rows = from.local.records(folder, writeAheadCodec, page);
      after = rows.at(-1)?.key;
      if (after === undefined) break;
      const unknown = rows.filter(({ key }) => to.local.get(key, writeAheadCodec) === null);
      if (!stays) left += unknown.length;
      if (!stays || unknown.length === 0) continue;
      await to.local.write((tx) => {
        for (const { key, value } of unknown) {
          const { kind, data } = value;
          tx.put(key, { kind, data, created: String(now - DAY) }, writeAheadCodec);
        }
      });
      adopted += unknown.length;
    }
  }
  return { adopted, left };
}
