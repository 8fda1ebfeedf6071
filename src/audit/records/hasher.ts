// What stands in a record for a value that must not be readable: an HMAC under the device's own
// salt, so that equal values can be found in one device's records and compared with a known one,
// and nowhere else. The hashes of tokens are remembered, by a blinded digest and never by the token.

import { hash, type KeyObject } from "node:crypto";
import type { Random } from "@holdfast/shared/world";
import { hex } from "@holdfast/shared/bytes";
import { ClearingMap } from "./clearing-map.ts";
import { Hmac } from "../../crypto/hmac.ts";

export const HASH_PREFIX = "hmac-sha256:";

const MAX_REMEMBERED = 4096;

/** Gives JSON text: quotes included. */
export interface Veil {
  readonly raw: boolean;
  value(text: string | Uint8Array): string;
  token(secret: string): string;
  accessor(accessor: string): string;
}

export class Hasher implements Veil {
  readonly raw = false;
  readonly #hmac: Hmac;
  readonly #blind: string;
  #nothing = ""; // the hash of an empty text, which half of all answers have in them
  readonly #tokens = new ClearingMap<string, string>(MAX_REMEMBERED);
  readonly #accessors = new ClearingMap<string, string>(MAX_REMEMBERED);

  constructor(salt: KeyObject, random: Random) {
    this.#hmac = new Hmac(salt);
    this.#blind = hex(random.bytes(16));
  }

  /** As it stands in records, without quotes. */
  hash(text: string | Uint8Array): string {
    return HASH_PREFIX + this.#hmac.of(text);
  }

  value(text: string | Uint8Array): string {
    if (text === "") return (this.#nothing ||= `"${this.hash("")}"`);
    return `"${this.hash(text)}"`;
  }

  /** Half the cost of a fresh HMAC when it is known, and shared by request and response. */
  token(secret: string): string {
    const key = hash("sha256", this.#blind + secret, "latin1");
    return this.#tokens.get(key, () => this.value(secret));
  }

  accessor(accessor: string): string {
    return this.#accessors.get(accessor, () => this.value(accessor));
  }

  wipe(): void {
    this.#hmac.wipe();
  }
}
