// Up to where the log of another cluster is applied here: a row of this cluster alone, which changes in the transactions that apply
// entries and rows, and in no other. So a crash neither skips an entry nor applies one twice.

import { hex } from "@holdfast/shared/bytes";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { View } from "../../barrier/view.ts";
import type { Cursor } from "../../cluster/hello.ts";
import type { StoreTx } from "../../storage/transaction.ts";

/** Below core/replication/performance/. */
export const PLACE = "applied";

/** A place in the log of the primary, and how the rows here are to it. */
export interface AppliedPlace extends Cursor {
  /** Rows are being taken over that the log is gone on with afterwards, from this place. A copy goes on after a key. Of an entry that is too
   *  large for one transaction a part is there: it comes again as a whole. */
  readonly half:
    | { readonly kind: "copy"; readonly after: string }
    | { readonly kind: "diff" }
    | { readonly kind: "entry" }
    | null;
  /** After a part of what is too large for one transaction: a number that no other part nearby has. Zero elsewhere. */
  readonly part: number;
  /** Rows may be as of a later index, up to this one; null: all are of that of the place. */
  readonly until: bigint | null;
}

/** Where it is kept. */
export interface AppliedPlaces {
  /** What is durable. */
  read(): AppliedPlace | null;
  /** What a transaction sees. */
  readIn(raw: StoreTx): AppliedPlace | null;
  put(raw: StoreTx, place: AppliedPlace): void;
}

interface StoredPlace {
  readonly lineage: string; // hex
  readonly epoch: number;
  readonly index: string; // decimal
  readonly chain: string; // hex
  readonly half?: AppliedPlace["half"];
  readonly part?: number;
  readonly until?: string;
}

const stored = jsonCodec<StoredPlace>();

export const placeCodec: Codec<AppliedPlace> = {
  encode: ({ lineage, epoch, index, chain, half, part, until }) =>
    stored.encode({
      lineage: hex(lineage),
      epoch,
      index: String(index),
      chain: hex(chain),
      ...(half === null ? {} : { half }),
      ...(part === 0 ? {} : { part }),
      ...(until === null ? {} : { until: String(until) }),
    }),
  decode: (bytes) => {
    const { lineage, epoch, index, chain, half = null, part = 0, until } = stored.decode(bytes);
    return {
      lineage: Buffer.from(lineage, "hex"),
      epoch,
      index: BigInt(index),
      chain: Buffer.from(chain, "hex"),
      half,
      part,
      until: until === undefined ? null : BigInt(until),
    };
  },
};

/** In a view of core/replication/performance/. */
export function placesIn(view: View): AppliedPlaces {
  return {
    read: () => view.get(PLACE, placeCodec),
    readIn: (raw) => view.within(raw).get(PLACE, placeCodec),
    put: (raw, place) => view.within(raw).put(PLACE, place, placeCodec),
  };
}

export function isSamePlace(a: AppliedPlace | null, b: AppliedPlace | null): boolean {
  if (a === null || b === null) return a === b;
  return Buffer.compare(placeCodec.encode(a), placeCodec.encode(b)) === 0;
}
