// The rows of one-time tokens, all of them below local/ since they never leave the cluster:
//
//   tokens/one-time/by-hash/<salted hash of its secret>          whose it is, and until when
//   tokens/one-time/by-owner/<namespace>/<accessor>              its hash: there is one for each token
//   tokens/one-time/by-expiry/<time>/<hash>                      order of collection
//
// The secret itself is nowhere: it is told once, by whoever made it.

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { namespaceScope } from "../../barrier/scope.ts";
import type { Tx, View } from "../../barrier/view.ts";
import { digits, type RecordPlace, type TokenPlace } from "./token-keys.ts";

const HASHES = "tokens/one-time/by-hash/";
const OWNERS = "tokens/one-time/by-owner/";
const EXPIRIES = "tokens/one-time/by-expiry/";

export interface OneTimeRow {
  readonly hash: string;
  readonly owner: TokenPlace;
  readonly expires: Instant;
}

interface Stored {
  readonly owner: TokenPlace;
  readonly expires: string;
}

const storedCodec = jsonCodec<Stored>();
const hashCodec = jsonCodec<string>();

export class OneTimeRows {
  readonly #local: View;

  /** A view of everything below local/. */
  constructor(local: View) {
    this.#local = local;
  }

  find(tx: Tx, hash: string): OneTimeRow | null {
    const stored = tx.on(this.#local).get(HASHES + hash, storedCodec);
    return stored === null ? null : { hash, owner: stored.owner, expires: BigInt(stored.expires) };
  }

  /** In the place of the one that its owner has, if any. */
  put(tx: Tx, { hash, owner, expires }: OneTimeRow): void {
    const { namespaceId, accessor, global } = owner;
    this.removeOf(tx, owner);
    const local = tx.on(this.#local.in(namespaceScope(namespaceId)));
    const stored = { owner: { namespaceId, accessor, global }, expires: String(expires) };
    local.put(HASHES + hash, stored, storedCodec);
    local.put(ownerKey(owner), hash, hashCodec);
    local.put(expiryKey({ hash, expires }), EMPTY, bytesCodec);
  }

  remove(tx: Tx, row: OneTimeRow): void {
    const local = tx.on(this.#local);
    local.delete(HASHES + row.hash);
    local.delete(expiryKey(row));
    local.delete(ownerKey(row.owner));
  }

  /** The one that the token has, if any. */
  removeOf(tx: Tx, owner: RecordPlace): void {
    const hash = tx.on(this.#local).get(ownerKey(owner), hashCodec);
    const row = hash === null ? null : this.find(tx, hash);
    if (row !== null) this.remove(tx, row);
  }

  /** Removes those whose time was over at `now`, the longest over first; gives how many. */
  removeDue(tx: Tx, now: Instant, limit: number): number {
    const local = tx.on(this.#local);
    const due = local
      .keys(EXPIRIES, { limit })
      .filter((key) => isOver(BigInt(key.slice(EXPIRIES.length).split("/")[0] ?? 0), now));
    for (const key of due) {
      const row = this.find(tx, key.slice(key.lastIndexOf("/") + 1));
      if (row !== null) this.remove(tx, row);
      local.delete(key);
    }
    return due.length;
  }
}

function ownerKey({ namespaceId, accessor }: RecordPlace): string {
  return `${OWNERS}${namespaceId}/${accessor}`;
}

function expiryKey({ hash, expires }: Pick<OneTimeRow, "hash" | "expires">): string {
  return `${EXPIRIES}${digits(expires)}/${hash}`;
}
