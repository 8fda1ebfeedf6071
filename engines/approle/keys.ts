// Where this method keeps what. Role ids and secret ids are part of a key only as keyed hashes: they are
// free text, and the latter are secrets.

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { base64, fromBase64, wipe } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant, Random } from "@holdfast/shared/world";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";

export const ROLES = "role/";
export const ENDING = "ends/";
export const GONE = "gone/";

export const roleKey = (name: string) => `${ROLES}${name}`;
/** The name of the role with this role id. */
export const roleIdKey = (hash: string) => `role-id/${hash}`;
export const secretsOf = (roleUuid: string) => `secret-id/${roleUuid}/`;
export const secretKey = (roleUuid: string, hash: string) => `${secretsOf(roleUuid)}${hash}`;
export const accessorsOf = (roleUuid: string) => `accessor/${roleUuid}/`;
/** The hash of the secret id with this accessor. */
export const accessorKey = (roleUuid: string, accessor: string) =>
  `${accessorsOf(roleUuid)}${accessor}`;
/** In the order of time; its value is the key of the secret id. */
export const endKey = (at: Instant, hash: string) =>
  `${ENDING}${String(at).padStart(20, "0")}/${hash}`;
/** A role that was deleted, whose secret ids are still to be removed. */
export const goneKey = (roleUuid: string) => `${GONE}${roleUuid}`;

export const textCodec = jsonCodec<string>();

const SALT = "salt";
const SALT_BYTES = 32;

/** The mount's own key for hashes. Never changes once made. */
export class Hashes {
  readonly #storage: EngineStorage;
  readonly #random: Random;
  #key: KeyObject | null = null;

  constructor(storage: EngineStorage, random: Random) {
    this.#storage = storage;
    this.#random = random;
  }

  /** Null where the mount has none yet, and so nothing that could be found by a hash. */
  async known(): Promise<((text: string) => string) | null> {
    const stored = this.#key === null ? await this.#storage.get(SALT, textCodec) : null;
    if (stored !== null) this.#key = keyOf(stored);
    return this.#key === null ? null : hashUnder(this.#key);
  }

  /** Makes the key where there is none. */
  async made(): Promise<(text: string) => string> {
    const known = await this.known();
    if (known !== null) return known;
    const fresh = base64(this.#random.bytes(SALT_BYTES));
    const stored = await this.#storage.write((tx) => {
      const there = tx.get(SALT, textCodec);
      if (there === null) tx.put(SALT, fresh, textCodec);
      return there ?? fresh;
    });
    this.#key = keyOf(stored);
    return hashUnder(this.#key);
  }

  close(): void {
    this.#key = null;
  }
}

function hashUnder(key: KeyObject): (text: string) => string {
  return (text) => createHmac("sha256", key).update(text).digest("hex");
}

function keyOf(stored: string): KeyObject {
  const bytes = fromBase64(stored);
  invariant(bytes?.length === SALT_BYTES, "the key of the hashes has its length");
  try {
    return createSecretKey(bytes);
  } finally {
    wipe(bytes);
  }
}
