// Shared rows that a performance secondary gives up: its primary is gone, and who stands in for that one had got less of its log. What is here and
// differs when the two are first compared is kept in the transaction that replaces it, and listed with what else was given up.

import { equalBytes } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Followers } from "../../barrier/followers.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { LOST_SCOPE } from "../../storage/rows/log-entry.ts";
import { slotOf } from "../../storage/rows/merkle.ts";
import type { Store } from "../../storage/store.ts";
import type { StoreTx } from "../../storage/transaction.ts";
import type { AppliedPlaces } from "../applied/applied-place.ts";
import type { Divergent, KeptTail } from "../links/divergent.ts";
import type { Epoch } from "../roles/role.ts";

/** Below core/replication/performance/: there until the rows here are those of the new primary. */
export const GIVING_UP = "giving-up";
const givingCodec = jsonCodec<StoredTail>();

interface StoredTail {
  readonly id: string;
  readonly fork: string;
  readonly epoch: number;
}

export interface SurplusParts {
  readonly own: View;
  readonly places: AppliedPlaces;
  readonly divergent: Divergent;
  readonly store: Pick<Store, "view">;
}

type Apply = Pick<Followers, "apply">;

export class SurplusRows {
  readonly #parts: SurplusParts;
  #tail: KeptTail | null;

  constructor(parts: SurplusParts) {
    this.#parts = parts;
    const stored = parts.own.get(GIVING_UP, givingCodec);
    this.#tail = stored === null ? null : { ...stored, fork: BigInt(stored.fork) };
  }

  /** In the transaction in which that epoch is heard of, which somebody else has begun. Whether something here is not of it. */
  beginIn(tx: Tx, { number, first }: Epoch): boolean {
    const { own, places } = this.#parts;
    const place = places.read();
    const fork = BigInt(first) - 1n;
    if (place === null || place.index <= fork) return false;
    const { epoch, index } = place;
    const id = `performance-${number}-${fork}-${index}`;
    tx.on(own).put(GIVING_UP, { id, fork: String(fork), epoch }, givingCodec);
    this.#tail = { id, fork, epoch };
    return true;
  }

  /** What whoever applies rows calls in the place of these. */
  before(followers: Apply): Apply {
    return {
      apply: (raw, operation) => {
        if (this.#tail !== null) this.#keep(raw, this.#tail, operation);
        followers.apply(raw, operation);
      },
    };
  }

  /** Entries of the log take nothing away: a comparison does. */
  #keep(raw: StoreTx, tail: KeptTail, { key, value, scope }: Parameters<Apply["apply"]>[1]): void {
    const { own, places, divergent } = this.#parts;
    if (places.readIn(raw)?.half?.kind !== "diff") return;
    const before = raw.get(key);
    if (before === null || (value !== null && equalBytes(before, value))) return;
    // Where it goes it is named by its key alone.
    const ofRow = value === null ? this.#scopeOf(key) : scope;
    divergent.keepRow(own.within(raw), tail, { key, value: before, scope: ofRow });
  }

  #scopeOf(key: string): Uint8Array {
    const view = this.#parts.store.view();
    try {
      return view.leaf(slotOf("shared", key)!, key)?.scope ?? LOST_SCOPE;
    } finally {
      view.close();
    }
  }

  /** The rows here are those of the new primary. */
  async settle(): Promise<void> {
    if (this.#tail === null) return;
    this.#tail = null;
    const { own, divergent } = this.#parts;
    await own.write((tx) => tx.delete(GIVING_UP), { essential: true });
    divergent.counted();
  }
}
