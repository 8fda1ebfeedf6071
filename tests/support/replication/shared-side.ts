// The side of a secondary that is sent shared rows alone, over a bare store: where its place is kept, what follows from its rows, and
// whether it has those of its primary.

import assert from "node:assert/strict";
import type { Followers } from "../../../src/barrier/followers.ts";
import {
  type AppliedPlace,
  type AppliedPlaces,
  placeCodec,
} from "../../../src/replication/applied/applied-place.ts";
import type { Reads, Row } from "../../../src/storage/engines/engine.ts";
import type { Store } from "../../../src/storage/store.ts";

const PLACE = "core/replication/performance/applied";
const FOLLOWS = "local/follows/";

/** Of every shared row there is one that says what it is. */
export const FOLLOWERS: Pick<Followers, "apply"> = {
  apply: (raw, { key, value, scope }) => {
    if (value === null) {
      raw.delete(key, scope);
      raw.delete(FOLLOWS + key, scope);
    } else {
      raw.put(key, value, scope);
      raw.put(FOLLOWS + key, value, scope);
    }
  },
};

export function rawPlaces(store: Store): AppliedPlaces {
  const read = (bytes: Uint8Array | null): AppliedPlace | null =>
    bytes === null ? null : placeCodec.decode(bytes);
  return {
    read: () => read(store.get(PLACE)),
    readIn: (raw) => read(raw.get(PLACE)),
    put: (raw, place) => raw.put(PLACE, placeCodec.encode(place)),
  };
}

function rowsBelow(reads: Reads, prefix: string): Row[] {
  return reads
    .rows({ from: prefix, to: `${prefix}\u{10ffff}`, limit: Infinity })
    .map(({ key, value }) => ({ key: key.slice(prefix.length), value: Buffer.from(value) }));
}

/** Shared rows with their scopes, and what follows from them. */
export function assertSameShared(secondary: Reads, primary: Reads): void {
  const shared = (reads: Reads) => rowsBelow(reads, "shared/");
  assert.deepEqual(shared(secondary), shared(primary));
  const leaves = (reads: Reads) =>
    reads.leaves(null, Infinity).filter(({ key }) => key.startsWith("shared/"));
  assert.deepEqual(leaves(secondary), leaves(primary));
  assert.deepEqual(rowsBelow(secondary, `${FOLLOWS}shared/`), shared(secondary));
}
