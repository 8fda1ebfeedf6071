// The key that wrapping tokens in the form of a JWT are signed with: P-521, made once for a set of
// clusters, kept behind the barrier, in memory as key objects only. Its public half is for everybody.

import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { asBuffer, concat, utf8, wipe } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { RecentMap } from "@holdfast/shared/recent-map";
import type { Random } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";

/** Below the room's prefix in shared/. */
const KEY = "signing-key";
const CURVE = "secp521r1";
const SCALAR_BYTES = 66;
const POINT_BYTES = 133; // 0x04, x, y
const TOP_BIT = 0x01; // 521 bits: of the first byte there is one
const SIGNATURE_BYTES = 132;
const MAX_GOOD = 256;
// The parts of an ECPrivateKey (RFC 5915) around scalar and point; all lengths are fixed.
const BEFORE_SCALAR = Buffer.from("3081dc0201010442", "hex");
const BEFORE_POINT = Buffer.from("a00706052b81040023a18189038186" + "00", "hex");

export class SigningKey {
  readonly #secret: KeyObject;
  readonly #public: KeyObject;
  readonly #good = new RecentMap<string, true>(); // by hash

  private constructor(der: Uint8Array) {
    this.#secret = createPrivateKey({ key: asBuffer(der), format: "der", type: "sec1" });
    this.#public = createPublicKey(this.#secret);
  }

  /** Null where none was made yet. */
  static stored(view: View): SigningKey | null {
    const stored = view.get(KEY, bytesCodec);
    return stored === null ? null : SigningKey.#read(stored);
  }

  /** Calls with the one that is there after each commit that changes it. */
  static onChange(view: View, call: (key: SigningKey | null) => void): () => void {
    return view.watch(KEY, () => call(SigningKey.stored(view)));
  }

  /** Makes one if there is none. */
  static async ensure(view: View, random: Random): Promise<SigningKey> {
    const stored = SigningKey.stored(view);
    if (stored !== null) return stored;
    const made = fresh(random);
    try {
      // Somebody else may have been faster: what is stored counts.
      const kept = await view.write((tx) => {
        const there = tx.get(KEY, bytesCodec);
        if (there === null) tx.put(KEY, made, bytesCodec);
        return there;
      });
      return kept === null ? new SigningKey(made) : SigningKey.#read(kept);
    } finally {
      wipe(made);
    }
  }

  static #read(der: Uint8Array): SigningKey {
    try {
      return new SigningKey(der);
    } finally {
      wipe(der);
    }
  }

  /** The two halves of the public point, in base64url. */
  get point(): { readonly x: string; readonly y: string } {
    const { x, y } = this.#public.export({ format: "jwk" });
    invariant(x !== undefined && y !== undefined, "a point of the curve has two halves");
    return { x, y };
  }

  get pem(): string {
    return this.#public.export({ format: "pem", type: "spki" });
  }

  /** In a thread of its own: it takes as long as a thousand look-ups. */
  sign(text: string): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const key = { key: this.#secret, dsaEncoding: "ieee-p1363" } as const;
    sign("sha512", utf8(text), key, (error, signature) =>
      error === null ? resolve(signature) : reject(error),
    );
    return promise;
  }

  /** What it has found good before, it knows: nobody makes it work again by saying the same again. */
  verifies(text: string, signature: Uint8Array): boolean {
    if (signature.length !== SIGNATURE_BYTES) return false;
    const name = createHash("sha256").update(text).update(signature).digest("base64");
    if (this.#good.get(name) !== undefined) return true;
    const key = { key: this.#public, dsaEncoding: "ieee-p1363" } as const;
    if (!verify("sha512", utf8(text), key, signature)) return false;
    const { oldest } = this.#good;
    if (this.#good.size >= MAX_GOOD && oldest !== null) this.#good.delete(oldest.key);
    this.#good.set(name, true);
    return true;
  }
}

/** From the house's own source of randomness. Of 521 random bits nearly all are a scalar. */
function fresh(random: Random): Buffer {
  for (;;) {
    const scalar = random.bytes(SCALAR_BYTES);
    scalar[0] = scalar[0]! & TOP_BIT;
    const curve = createECDH(CURVE);
    try {
      curve.setPrivateKey(scalar);
      const point = curve.getPublicKey();
      invariant(point.length === POINT_BYTES, "a point of P-521, not compressed");
      return concat(BEFORE_SCALAR, scalar, BEFORE_POINT, point);
    } catch (error) {
      if (!isOutOfRange(error)) throw error; // and draws again
    } finally {
      wipe(scalar);
    }
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_CRYPTO_INVALID_KEYTYPE";
}
