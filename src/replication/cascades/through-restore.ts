// What this cluster is in a performance set stays when a snapshot takes the place of its data: role, authority, who was let in and who was
// revoked, and what is withheld from whom. Those rows are local, so that a snapshot has them as they were on its day.

import { bytesCodec } from "@holdfast/shared/codec";
import type { View } from "../../barrier/view.ts";
import { storedRegion } from "../../seal/region.ts";
import { otherRegion } from "../failures.ts";
import { LEFT } from "../taking-over.ts";
import { stepIn, storedRole } from "../roles/stored-role.ts";

/** Below local/. */
export const PERFORMANCE = "replication/performance/";
const PAGE = 32; // parts of entries that were given up are among them, of 512 KiB each
const ESSENTIAL = { essential: true };

/** `from` and `to`: everything below local/, of the data that goes and of that which comes, which nobody uses yet. A primary begins an
 *  epoch with it: the log that its secondaries have followed has ended. Refuses data of another region, whose name it would take: that
 *  may be in the set. */
export async function keepThroughRestore(from: View, to: View): Promise<void> {
  const [now, next] = [from.sub(PERFORMANCE), to.sub(PERFORMANCE)];
  const [here, there] = [storedRegion(from), storedRegion(to)];
  const isMember = storedRole(now).mode !== "disabled";
  if (isMember && here !== null && there !== null && here !== there) throw otherRegion(there, here);
  await removeRestored(next, now);
  await copyAll(now, next);
  await next.write(
    (tx) => stepIn(tx, { do: "restored", first: String(tx.index) }, "performance"),
    ESSENTIAL,
  );
}

/** But for where the rows of the snapshot came from, when this cluster left a set with them. */
async function removeRestored(next: View, now: View): Promise<void> {
  const isNowLeft = now.keys(LEFT, { limit: 1 })[0] === LEFT;
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const keys = next.keys("", page);
    if (keys.length === 0) return;
    after = keys.at(-1);
    const surplus = keys.filter((key) => key !== LEFT || isNowLeft);
    await next.write((tx) => surplus.forEach((key) => tx.delete(key)), ESSENTIAL);
  }
}

async function copyAll(now: View, next: View): Promise<void> {
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const rows = now.records("", bytesCodec, page);
    if (rows.length === 0) return;
    after = rows.at(-1)!.key;
    await next.write((tx) => {
      for (const { key, value } of rows) tx.put(key, value, bytesCodec);
    }, ESSENTIAL);
  }
}
