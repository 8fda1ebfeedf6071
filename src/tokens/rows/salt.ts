// Secrets are found by SHA-256(salt | secret): storage keys and caches hold the hash alone, and how
// long a look-up takes says nothing about the secret. The salt lies behind the barrier and travels
// with global tokens.

import { hash } from "node:crypto";
import { alloc, wipe } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { foldedUuid } from "@holdfast/shared/text/uuid";
import type { Random } from "@holdfast/shared/world";
import type { Tx, ViewReads } from "../../barrier/view.ts";
import { rowMissing } from "../failures.ts";

/** Below shared/. */
export const SALT_KEY = "tokens/salt";
const SALT_BYTES = 32;

const ROOM = 512; // characters of a secret that need no memory of their own

export class Salt {
  readonly #input: Buffer; // the salt, and room for a secret behind it

  private constructor(bytes: Uint8Array) {
    this.#input = alloc(SALT_BYTES + 3 * ROOM);
    this.#input.set(bytes);
  }

  /** `shared` reads below shared/. */
  static read(shared: Pick<ViewReads, "get">): Salt {
    const stored = Salt.stored(shared);
    if (stored === null) throw rowMissing("salt");
    return stored;
  }

  /** Null where there is none. */
  static stored(shared: Pick<ViewReads, "get">): Salt | null {
    const stored = shared.get(SALT_KEY, bytesCodec);
    try {
      return stored?.length === SALT_BYTES ? new Salt(stored) : null;
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

  /** UUIDs are equal whatever their case; any other text is itself. */
  hashOf(secret: string): string {
    const text = foldedUuid(secret);
    const input = text.length <= ROOM ? this.#input : alloc(SALT_BYTES + 3 * text.length);
    if (input !== this.#input) this.#input.copy(input, 0, 0, SALT_BYTES);
    const end = SALT_BYTES + input.write(text, SALT_BYTES);
    try {
      return hash("sha256", input.subarray(0, end), "hex");
    } finally {
      input.fill(0, input === this.#input ? SALT_BYTES : 0, end);
    }
  }

  wipe(): void {
    wipe(this.#input);
  }
}
