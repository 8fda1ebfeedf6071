// How much of what every token may store there is: counted for whoever stored it and for the namespace that
// it lies in. The counts are rows, changed in the transaction that stores or removes, so that they are
// right after a crash and looking at them costs two or three reads:
//
//   ns/<namespace>/<name>/all                                   of the namespace
//   ns/<namespace>/<name>/of/<its namespace>/<accessor>         of one holder
//   ns/<namespace>/<name>/by/<its namespace>/<owner>            of all holders that are one owner's
//
// They lie in the namespace that they count in, and go with it. Whoever can log in can have as many tokens
// as he likes, so what bounds one of them bounds nobody: see ownerOf. The last quarter of a namespace is
// kept for management, which has to get on when somebody has filled the rest.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, ViewReads } from "../barrier/view.ts";

/** A token, or the owner of several (see ownerOf). */
export interface Holder {
  readonly namespaceId: string;
  readonly accessor: string;
}

export interface Amount {
  readonly entries: number;
  readonly bytes: number;
}

export interface AllowanceRules {
  /** Folder of its rows. */
  readonly name: string;
  readonly ofHolder: Amount;
  readonly ofOwner: Amount;
  readonly ofNamespace: Amount;
}

/** Where there is no room: whose limit it is, and what it is. */
export interface Exhausted {
  readonly whose: "holder" | "owner" | "namespace";
  readonly max: Amount;
}

/** Who wants to store. */
export interface Storing {
  readonly holder: Holder | null;
  /** Whose the holder is; null: its own. */
  readonly owner: Holder | null;
  readonly management: boolean;
}

/** Of a holder: with its owner, whose count changes with it. */
interface Row extends Amount {
  readonly owner?: Holder;
}

const NOTHING: Amount = { entries: 0, bytes: 0 };
const ORDINARY_SHARE = 3 / 4;
/** Of what is under way already, and would be lost if it were refused. */
const UNDER_WAY = { times: 2, ordinaryShare: 7 / 8 };
export const amountCodec = jsonCodec<Row>();

export class Allowance {
  readonly #rules: AllowanceRules;

  constructor(rules: AllowanceRules) {
    this.#rules = rules;
  }

  /** What would be too much with `more` in it; null where there is room. */
  exhausted(
    local: Pick<ViewReads, "get">,
    namespaceId: string,
    { holder, owner, management }: Storing,
    more: Amount,
    { underWay = false } = {},
  ): Exhausted | null {
    const { ofHolder, ofOwner, ofNamespace } = this.#rules;
    const times = underWay ? UNDER_WAY.times : 1;
    const exceeds = (key: string, max: Amount) => {
      const { entries, bytes } = local.get(key, amountCodec) ?? NOTHING;
      return entries + more.entries > max.entries || bytes + more.bytes > max.bytes;
    };
    if (holder !== null && exceeds(this.#holderKey(namespaceId, holder), part(ofHolder, times))) {
      return { whose: "holder", max: ofHolder };
    }
    if (owner !== null && exceeds(this.#ownerKey(namespaceId, owner), part(ofOwner, times))) {
      return { whose: "owner", max: ofOwner };
    }
    const ordinary = underWay ? UNDER_WAY.ordinaryShare : ORDINARY_SHARE;
    const limit = part(ofNamespace, management ? times : ordinary);
    return exceeds(this.#namespaceKey(namespaceId), limit)
      ? { whose: "namespace", max: limit }
      : null;
  }

  /** What the holder has there. */
  used(local: Pick<ViewReads, "get">, namespaceId: string, holder: Holder): Amount {
    return local.get(this.#holderKey(namespaceId, holder), amountCodec) ?? NOTHING;
  }

  /** Members of `by` below zero give back: to the owner, too, that the holder had when it stored. */
  change(
    local: Tx,
    namespaceId: string,
    { holder, owner }: Pick<Storing, "holder" | "owner">,
    by: Amount,
  ): void {
    add(local, this.#namespaceKey(namespaceId), by);
    if (holder === null) return;
    const key = this.#holderKey(namespaceId, holder);
    const before = local.get(key, amountCodec);
    const known = before?.owner ?? null;
    const whose = known ?? owner;
    if (whose !== null) {
      // What was stored before owners were counted comes with the first that is.
      const had = known === null ? (before ?? NOTHING) : NOTHING;
      const all = { entries: by.entries + had.entries, bytes: by.bytes + had.bytes };
      add(local, this.#ownerKey(namespaceId, whose), all);
    }
    add(local, key, by, whose === null ? {} : { owner: whose });
  }

  #namespaceKey(namespaceId: string): string {
    return `ns/${namespaceId}/${this.#rules.name}/all`;
  }

  #holderKey(namespaceId: string, holder: Holder): string {
    return `ns/${namespaceId}/${this.#rules.name}/of/${holder.namespaceId}/${holder.accessor}`;
  }

  #ownerKey(namespaceId: string, owner: Holder): string {
    return `ns/${namespaceId}/${this.#rules.name}/by/${owner.namespaceId}/${owner.accessor}`;
  }
}

/** Nothing is no row. Never below nothing: what was stored before it was counted is not given back. */
function add(
  local: Tx,
  key: string,
  { entries, bytes }: Amount,
  more: Pick<Row, "owner"> = {},
): void {
  const before = local.get(key, amountCodec);
  const after = {
    ...more,
    entries: Math.max(0, (before?.entries ?? 0) + entries),
    bytes: Math.max(0, (before?.bytes ?? 0) + bytes),
  };
  if (after.entries > 0) local.put(key, after, amountCodec);
  else if (before !== null) local.delete(key);
}

function part({ entries, bytes }: Amount, share: number): Amount {
  return { entries: entries * share, bytes: bytes * share };
}
