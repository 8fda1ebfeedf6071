// How far a search has come, in the hands of its caller: the last key looked at, which the caller may
// not be allowed to know. Sealed under a key that lives as long as the engine is open, and padded, so
// that its length says little.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";
import { concat, fromBase64Url, text, utf8, wipe } from "@holdfast/shared/bytes";
import type { Random } from "@holdfast/shared/world";
import * as failures from "../failures.ts";

const NONCE = 12;
const TAG = 16;
const BLOCK = 128;
const CIPHER = "aes-256-gcm";

export class Cursors {
  readonly #random: Random;
  readonly #key: KeyObject;

  constructor(random: Random) {
    this.#random = random;
    const bytes = random.bytes(32);
    this.#key = createSecretKey(bytes);
    wipe(bytes);
  }

  seal(place: string): string {
    const plain = utf8(place);
    const padded = Buffer.alloc(Math.ceil((plain.length + 1) / BLOCK) * BLOCK);
    padded.set(plain);
    const nonce = this.#random.bytes(NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    const sealed = concat(nonce, cipher.update(padded), cipher.final(), cipher.getAuthTag());
    return sealed.toString("base64url");
  }

  open(cursor: string): string {
    const bytes = fromBase64Url(cursor);
    if (bytes === null || bytes.length < NONCE + BLOCK + TAG) throw failures.cursorRefused();
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE), {
      authTagLength: TAG,
    });
    decipher.setAuthTag(bytes.subarray(-TAG));
    try {
      const plain = concat(decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final());
      return text(plain).replace(/\0+$/, "");
    } catch {
      throw failures.cursorRefused();
    }
  }
}
