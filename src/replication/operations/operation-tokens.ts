// Operation tokens as they are stored: a salted hash of each, below core/, so that a store that follows another can
// hold them. There are a handful at most, and each is looked at.

import { createHash } from "node:crypto";
import { fromHex, hex } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import { foldedUuid, isUuid } from "@holdfast/shared/text/uuid";
import type { Instant, Random } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import { sameBytes } from "../../base/same-bytes.ts";

/** Of a token: it is a UUID. */
export const TOKEN_LENGTH = 36;
/** With one more, the oldest goes. */
const MAX_LIVE = 5;
const SALT_BYTES = 16;

const LIVE = "live/";

export interface FoundToken {
  readonly accessor: string;
  readonly created: Instant;
}

/** By its accessor. */
interface Stored {
  readonly salt: string; // in hex, as the hash
  readonly hash: string;
  readonly created: string; // nanoseconds since 1970
}

const codec = jsonCodec<Stored>();

export class OperationTokens {
  readonly #rows: View;
  readonly #random: Random;

  /** `rows` is core/replication/operation-tokens/. */
  constructor(rows: View, random: Random) {
    this.#rows = rows;
    this.#random = random;
  }

  /** The text of a new one, which is nowhere else. */
  mint(core: Tx): string {
    const tx = core.on(this.#rows);
    const live = this.#read(tx);
    for (const { accessor } of live.slice(0, Math.max(0, live.length - MAX_LIVE + 1))) {
      tx.delete(LIVE + accessor);
    }
    const text = this.#random.uuid();
    const salt = this.#random.bytes(SALT_BYTES);
    const record = {
      salt: hex(salt),
      hash: hex(hashOf(salt, text)),
      created: String(tx.time),
    };
    tx.add(LIVE + this.#random.uuid(), record, codec);
    return text;
  }

  /** Null for one that is unknown or was deleted. */
  find(text: string): FoundToken | null {
    if (!isUuid(text)) return null;
    let found: FoundToken | null = null;
    // All of them, so that the time does not tell which one it was.
    for (const { accessor, created, stored } of this.#read(this.#rows)) {
      const hash = hashOf(fromHex(stored.salt) ?? new Uint8Array(0), text);
      if (sameBytes(hash, fromHex(stored.hash) ?? new Uint8Array(0))) found = { accessor, created };
    }
    return found;
  }

  async delete(accessor: string): Promise<void> {
    await this.#rows.write((tx) => tx.delete(LIVE + accessor));
  }

  revokeAll(core: Tx): void {
    const tx = core.on(this.#rows);
    for (const { accessor } of this.#read(tx)) tx.delete(LIVE + accessor);
  }

  /** The oldest first. */
  #read(rows: Pick<Tx, "records">): (FoundToken & { readonly stored: Stored })[] {
    return rows
      .records(LIVE, codec, { limit: 2 * MAX_LIVE })
      .map(({ key, value }) => ({
        accessor: key.slice(LIVE.length),
        created: BigInt(value.created),
        stored: value,
      }))
      .toSorted((a, b) => (a.created < b.created ? -1 : Number(a.created > b.created)));
  }
}

function hashOf(salt: Uint8Array, text: string): Uint8Array {
  return createHash("sha256").update(salt).update(foldedUuid(text)).digest();
}
