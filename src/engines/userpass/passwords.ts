// Passwords as they are kept: scrypt with a salt of its own for each. Checking one costs 32 MiB and a
// good part of a second of a thread on purpose, so only a few are checked at a time, for all mounts
// together, and only so many may wait, of each address a few.

import { scrypt, timingSafeEqual } from "node:crypto";
import { alloc, base64, fromBase64, wipe } from "../../base/bytes.ts";
import { invariant } from "../../base/invariant.ts";
import type { Secret } from "../../base/secret.ts";
import type { Random } from "../../base/world.ts";
import * as failures from "./failures.ts";
import { FairLine } from "./fair-line.ts";

/** N, r and p of scrypt. */
export interface PasswordCost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

/** One of the settings that OWASP's password storage guide holds equal: the one with the least memory
 *  that still keeps graphics cards away. */
export const USUAL_COST: PasswordCost = { n: 2 ** 15, r: 8, p: 3 };

/** Base64 texts, and what they were made with: the cost can rise without anybody's password failing. */
export interface PasswordHash extends PasswordCost {
  readonly salt: string;
  readonly key: string;
}

/** Who asks: from where, and whether it still waits. */
export interface Asking {
  readonly address: string;
  readonly signal: AbortSignal;
}

/** Who may set passwords waits in one line, whatever is going on in those of logins. */
const OPERATORS = { address: "" };

const SALT_BYTES = 16;
const KEY_BYTES = 32;
const MAX_CHARACTERS = 1024;
// The runtime has four threads for such work, and the audit trail writes its files with them.
const LINE = {
  atOnce: 2,
  atOncePerAddress: 1,
  waiting: 128, // at seven a second the last of them waits as long as people do
  waitingPerAddress: 8,
};

export class Passwords {
  readonly #cost: PasswordCost;
  readonly #line = new FairLine(LINE, failures.tooManyLogins);

  constructor(cost: PasswordCost = USUAL_COST) {
    this.#cost = cost;
  }

  async hash(password: Secret<string>, random: Random): Promise<PasswordHash> {
    const bytes = passwordBytes(password);
    if (bytes === null) throw failures.passwordUnusable();
    const salt = random.bytes(SALT_BYTES);
    const key = await this.#derive(bytes, salt, this.#cost, OPERATORS);
    return { ...this.#cost, salt: base64(salt), key: base64(key) };
  }

  /** Refuses an address of which too many wait already. */
  checkLine(address: string): void {
    this.#line.check(address);
  }

  /** Without a hash nothing matches, after the same work (T-B22). */
  async matches(
    password: Secret<string>,
    hash: PasswordHash | null,
    from: Asking,
  ): Promise<boolean> {
    const salt = fromBase64(hash?.salt ?? "") ?? alloc(SALT_BYTES);
    const wanted = hash === null ? alloc(KEY_BYTES) : fromBase64(hash.key);
    invariant(wanted?.length === KEY_BYTES, "a password's key has its length");
    const bytes = passwordBytes(password);
    const key = await this.#derive(bytes ?? alloc(1), salt, hash ?? this.#cost, from);
    try {
      return timingSafeEqual(key, wanted) && hash !== null && bytes !== null;
    } finally {
      wipe(key);
    }
  }

  async #derive(
    password: Buffer,
    salt: Uint8Array,
    { n, r, p }: PasswordCost,
    { address, signal }: Partial<Asking> & Pick<Asking, "address">,
  ): Promise<Buffer> {
    try {
      return await this.#line.run(address, () => {
        if (signal?.aborted === true) throw failures.callerGone();
        const maxmem = 128 * r * (n + p) * 2; // what it needs, and room
        return derived(password, salt, { N: n, r, p, maxmem });
      });
    } finally {
      wipe(password);
    }
  }
}

/** Composed, so that it is the same from every keyboard; null for what is no password. */
function passwordBytes(password: Secret<string>): Buffer | null {
  const given = password.reveal();
  if (given === "" || given.length > MAX_CHARACTERS || !given.isWellFormed()) return null;
  const text = given.normalize("NFC");
  const bytes = alloc(Buffer.byteLength(text));
  bytes.write(text, "utf8");
  return bytes;
}

function derived(
  password: Uint8Array,
  salt: Uint8Array,
  options: { readonly N: number; readonly r: number; readonly p: number; readonly maxmem: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
