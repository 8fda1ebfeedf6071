// How much of what every token may store there is: counted for the token that stored it and for the
// namespace that it lies in. The counts are rows, changed in the transaction that stores or removes, so that
// they are right after a crash and looking at them costs two reads:
//
//   ns/<namespace>/<name>/all                                   of the namespace
//   ns/<namespace>/<name>/of/<its namespace>/<accessor>         of one token
//
// They lie in the namespace that they count in, and go with it.

import { jsonCodec } from "../base/codec.ts";
import type { Tx, ViewReads } from "../barrier/view.ts";

/** A token: whose it is. */
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
  readonly ofToken: Amount;
  readonly ofNamespace: Amount;
}

/** Where there is no room: whose limit it is, and what it is. */
export interface Exhausted {
  readonly whose: "token" | "namespace";
  readonly most: Amount;
}

const NOTHING: Amount = { entries: 0, bytes: 0 };
const codec = jsonCodec<Amount>();

export class Allowance {
  readonly #rules: AllowanceRules;

  constructor(rules: AllowanceRules) {
    this.#rules = rules;
  }

  /** What would be too much with `more` in it; null where there is room. `times`: of the limits. */
  exhausted(
    local: Pick<ViewReads, "get">,
    namespaceId: string,
    holder: Holder | null,
    more: Amount,
    times = 1,
  ): Exhausted | null {
    const { ofToken, ofNamespace } = this.#rules;
    const exceeds = (key: string, most: Amount) => {
      const { entries, bytes } = local.get(key, codec) ?? NOTHING;
      return (
        entries + more.entries > most.entries * times || bytes + more.bytes > most.bytes * times
      );
    };
    if (holder !== null && exceeds(this.#tokenKey(namespaceId, holder), ofToken)) {
      return { whose: "token", most: ofToken };
    }
    const full = exceeds(this.#namespaceKey(namespaceId), ofNamespace);
    return full ? { whose: "namespace", most: ofNamespace } : null;
  }

  /** What the token has there. */
  used(local: Pick<ViewReads, "get">, namespaceId: string, holder: Holder): Amount {
    return local.get(this.#tokenKey(namespaceId, holder), codec) ?? NOTHING;
  }

  /** Members of `by` below zero give back. */
  change(local: Tx, namespaceId: string, holder: Holder | null, by: Amount): void {
    add(local, this.#namespaceKey(namespaceId), by);
    if (holder !== null) add(local, this.#tokenKey(namespaceId, holder), by);
  }

  #namespaceKey(namespaceId: string): string {
    return `ns/${namespaceId}/${this.#rules.name}/all`;
  }

  #tokenKey(namespaceId: string, holder: Holder): string {
    return `ns/${namespaceId}/${this.#rules.name}/of/${holder.namespaceId}/${holder.accessor}`;
  }
}

/** Nothing is no row. Never below nothing: what was stored before it was counted is not given back. */
function add(local: Tx, key: string, { entries, bytes }: Amount): void {
  const before = local.get(key, codec);
  const after = {
    entries: Math.max(0, (before?.entries ?? 0) + entries),
    bytes: Math.max(0, (before?.bytes ?? 0) + bytes),
  };
  if (after.entries > 0) local.put(key, after, codec);
  else if (before !== null) local.delete(key);
}
