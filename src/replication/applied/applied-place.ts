// Up to where the log of another cluster is applied here: a row of this cluster alone, which changes in the transactions that apply
// entries and rows, and in no other. So a crash neither skips an entry nor applies one twice.

import { hex } from "@holdfast/shared/bytes";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { View } from "../../barrier/view.ts";
import type { Cursor } from "../../cluster/hello.ts";
import type { StoreTx } from "../../storage/transaction.ts";

/** Below core/replication/performance/. */
export const PLACE = "applied";
/** Below local/replication/performance/, and so also where somebody stands in for this cluster, who does not have its place: there while the rows are
 *  of different indexes. */
const TORN = "torn";
const tornCodec = jsonCodec<true>();

/** A place in the log of the primary, and how the rows here are to it. */
export interface AppliedPlace extends Cursor {
  /** Which primary of the set has written the log, counted from 1; 0: an earlier version of this server has not kept it. */
  readonly of: number;
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

/** Whether the rows here are those of the index of the place, and of no later one. */
export function isOfOneIndex({ half, until }: Pick<AppliedPlace, "half" | "until">): boolean {
  return half === null && until === null;
}

/** Where it is kept. */
export interface AppliedPlaces {
  /** What is durable. */
  read(): AppliedPlace | null;
  /** What a transaction sees. */
  readIn(raw: StoreTx): AppliedPlace | null;
  /** `before`: what the transaction has found. */
  put(raw: StoreTx, place: AppliedPlace, before: AppliedPlace | null): void;
}

interface StoredPlace {
  readonly lineage: string; // hex
  readonly epoch: number;
  readonly index: string; // decimal
  readonly chain: string; // hex
  readonly of?: number;
  readonly half?: AppliedPlace["half"];
  readonly part?: number;
  readonly until?: string;
}

const stored = jsonCodec<StoredPlace>();

export const placeCodec: Codec<AppliedPlace> = {
  encode: ({ lineage, epoch, index, chain, of, half, part, until }) =>
    stored.encode({
      lineage: hex(lineage),
      epoch,
      index: String(index),
      chain: hex(chain),
      ...(of === 0 ? {} : { of }),
      ...(half === null ? {} : { half }),
      ...(part === 0 ? {} : { part }),
      ...(until === null ? {} : { until: String(until) }),
    }),
  decode: (bytes) => {
    const found = stored.decode(bytes);
    const { lineage, epoch, index, chain, of = 0, half = null, part = 0, until } = found;
    return {
      lineage: Buffer.from(lineage, "hex"),
      epoch,
      index: BigInt(index),
      chain: Buffer.from(chain, "hex"),
      of,
      half,
      part,
      until: until === undefined ? null : BigInt(until),
    };
  },
};

/** Views of core/replication/performance/ and local/replication/performance/. */
export interface PlaceViews {
  readonly own: View;
  readonly view: View;
}

export function placesIn({ own, view }: PlaceViews): AppliedPlaces {
  return {
    read: () => own.getKept(PLACE, placeCodec),
    readIn: (raw) => own.within(raw).get(PLACE, placeCodec),
    put: (raw, place, before) => {
      own.within(raw).put(PLACE, place, placeCodec);
      const isTorn = !isOfOneIndex(place);
      if (before !== null && isTorn === !isOfOneIndex(before)) return; // as nearly always
      const tx = view.within(raw);
      if (isTorn) tx.put(TORN, true, tornCodec);
      else tx.delete(TORN);
    },
  };
}

/** Whether whoever has applied the rows had not come to their end: for who has its data, and not its place. */
export function wasTorn({ view }: Pick<PlaceViews, "view">): boolean {
  return view.get(TORN, tornCodec) === true;
}

export function isSamePlace(a: AppliedPlace | null, b: AppliedPlace | null): boolean {
  if (a === null || b === null) return a === b;
  return Buffer.compare(placeCodec.encode(a), placeCodec.encode(b)) === 0;
}
