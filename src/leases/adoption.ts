// Leases that a copy of older data does not know: what was handed out since is still there outside, and must end. They
// are taken over as due, where the mount that can end them is there too.

import type { View } from "../barrier/view.ts";
import type { Log } from "@holdfast/shared/log";
import type { Instant } from "@holdfast/shared/world";
import type { Lease } from "./lease.ts";
import { placeBelow, RECORDS } from "./rows/lease-keys.ts";
import { LeaseRows } from "./rows/lease-rows.ts";

const PAGE = 64;

export interface AdoptionOptions {
  /** Of everything below local/: of the data that goes, and of that which comes. */
  readonly from: View;
  readonly to: View;
  /** Whether the data that comes has this mount. */
  readonly hasMount: (uuid: string) => boolean;
  readonly now: Instant;
  readonly log: Log;
}

export interface Adopted {
  readonly adopted: number;
  /** Those that nobody can end: their mount is not there, or they cannot be read. */
  readonly left: number;
}

export async function adoptLeases(options: AdoptionOptions): Promise<Adopted> {
  const { from, to, hasMount, now, log } = options;
  const before = new LeaseRows(from, log);
  const after = new LeaseRows(to, log);
  let adopted = 0;
  let left = 0;
  for (let last: string | undefined; ;) {
    const keys = from.keys(RECORDS, {
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    last = keys.at(-1);
    if (last === undefined) return { adopted, left };
    const unknown = keys
      .map((key) => placeBelow(RECORDS, key))
      .filter((place) => !after.isThere(place));
    const leases = unknown.map((place) => before.readable(place));
    const taken = leases.filter((lease) => lease !== null && hasMount(lease.mountUuid));
    if (taken.length > 0) {
      await to.write((tx) => {
        for (const lease of taken) if (lease !== null) after.add(tx, dueNow(lease, now));
      });
    }
    adopted += taken.length;
    left += unknown.length - taken.length;
  }
}

function dueNow(lease: Lease, now: Instant): Lease {
  const expires = lease.expires < now ? lease.expires : now;
  return { ...lease, expires, due: now, attempts: 0, error: "", irrevocable: false };
}
