// Secrets are found by SHA-256(salt | secret): storage keys and caches hold the hash alone, and how
// long a look-up takes says nothing about the secret. The salt lies behind the barrier and travels
// with global tokens.

import { createHash } from "node:crypto";
import { alloc, wipe } from "../base/bytes.ts";
import { bytesCodec } from "../base/codec.ts";
import { isUuid } from "../base/uuid.ts";
import type { Random } from "../base/world.ts";
import type { Tx, ViewReads } from "../barrier/view.ts";
import { rowMissing } from "./failures.ts";

/** Below shared/. */
export const SALT_KEY = "tokens/salt";
const SALT_BYTES = 32;

export class Salt {
  readonly #bytes: Buffer;

  private constructor(bytes: Uint8Array) {
    this.#bytes = alloc(SALT_BYTES);
    this.#bytes.set(bytes);
  }

  /** `shared` reads below shared/. */
  static read(shared: Pick<ViewReads, "get">): Salt {
    const stored = shared.get(SALT_KEY, bytesCodec);
    try {
      if (stored === null || stored.length !== SALT_BYTES) throw rowMissing("salt");
      return new Salt(stored);
    } finally {
      wipe(stored);
    }
  }

  /** Makes one if there is none: in the first transaction of the store. */
  static ensure(shared: Tx, random: Random): Salt {
    if (shared.get(SALT_KEY, bytesCodec) === null) {
      const fresh = random.bytes(SALT_BYTES);
      try {
        shared.put(SALT_KEY, fresh, bytesCodec);
      } finally {
        wipe(fresh);
      }
    }
    return Salt.read(shared);
  }

  /** UUIDs are equal whatever their case (decision 37); any other text is itself. */
  hashOf(secret: string): string {
    const text = isUuid(secret) ? secret.toLowerCase() : secret;
    return createHash("sha256").update(this.#bytes).update(text, "utf8").digest("hex");
  }

  wipe(): void {
    wipe(this.#bytes);
  }
}
