// Passwords as they are kept: scrypt with a salt of its own for each. Checking one costs 32 MiB and a
// good part of a second of a thread on purpose, so only a few are checked at a time, for all mounts
// together, and only so many may wait, of each address a few. Setting one costs the same, and has a line
// of its own: whatever goes on at the logins, an operator can give somebody another password.

import { scrypt, timingSafeEqual } from "node:crypto";
import { alloc, base64, fromBase64, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { Secret } from "@holdfast/shared/secret";
import type { Random } from "@holdfast/shared/world";
import * as failures from "./failures.ts";
import { tenantOf } from "@holdfast/shared/sliced";
import { FairLine } from "@holdfast/shared/fair-line";

/** N, r and p of scrypt. */
export interface PasswordCost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

/** One of the settings that OWASP's password storage guide holds equal: the one with the least memory
 *  that still keeps graphics cards away. */
export const DEFAULT_COST: PasswordCost = { n: 2 ** 15, r: 8, p: 3 };

/** Base64 texts, and what they were made with: the cost can rise without anybody's password failing. */
export interface PasswordHash extends PasswordCost {
  readonly salt: string;
  readonly key: string;
}

/** The request itself. */
export type Waiter = Pick<EngineRequest, "signal" | "waitFor">;

/** Who asks: from where, and whether it still waits. */
export interface Asking {
  readonly address: string;
  readonly request: Waiter;
}

/** The request that sets one. */
export type Setter = Waiter & Pick<EngineRequest, "caller">;

/** Who sets one: on behalf of which tenant, who that is, and whether it still waits. */
export interface Setting {
  /** Path of the mount's namespace. */
  readonly namespace: string;
  readonly request: Setter;
}

const SALT_BYTES = 16;
const KEY_BYTES = 32;
const MAX_CHARACTERS = 1024;
// The runtime has four threads for such work, and the audit trail writes its files with them.
const CHECKING = {
  atOnce: 2,
  atOncePerAddress: 1,
  waiting: 512, // at seven a second the last of them is served while a request lasts
  waitingPerAddress: 8,
};
const SETTING = {
  atOnce: 1,
  atOncePerAddress: 1,
  waiting: 256,
  waitingWithin: 64, // scripts set up whole teams side by side, and wait longer than people do
  waitingPerAddress: 64, // of a caller: as long as no other of its tenant comes
};

export class Passwords {
  readonly #cost: PasswordCost;
  readonly #checking = new FairLine(CHECKING, failures.tooManyLogins);
  readonly #setting = new FairLine(SETTING, failures.tooManyPasswords);

  constructor(cost: PasswordCost = DEFAULT_COST) {
    this.#cost = cost;
  }

  async hash(password: Secret<string>, random: Random, from: Setting): Promise<PasswordHash> {
    const bytes = passwordBytes(password);
    if (bytes === null) throw failures.passwordUnusable();
    const salt = random.bytes(SALT_BYTES);
    const work = () => {
      if (from.request.signal.aborted) throw failures.callerGone();
      return derived(bytes, salt, this.#cost);
    };
    // By caller and not by address: one that comes from many would have as many turns.
    const key = await this.#setting
      .run(
        from.request,
        callerOf(from.request),
        work,
        tenantOf({ namespace: { path: from.namespace } }),
      )
      .finally(() => wipe(bytes));
    return { ...this.#cost, salt: base64(salt), key: base64(key) };
  }

  /** Refuses an address of which too many wait already. */
  checkLine(address: string): void {
    this.#checking.check(address);
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
    const work = () => {
      if (from.request.signal.aborted) throw failures.callerGone();
      return derived(bytes ?? alloc(1), salt, hash ?? this.#cost);
    };
    const key = await this.#checking
      .run(from.request, from.address, work)
      .finally(() => wipe(bytes ?? alloc(0)));
    try {
      return timingSafeEqual(key, wanted) && hash !== null && bytes !== null;
    } finally {
      wipe(key);
    }
  }
}

/** Who is behind a token: whoever makes itself many of them is still one. */
function callerOf({ caller }: Setter): string {
  const origin = caller?.origin;
  if (caller === null || origin === undefined || origin.mount === null) {
    return origin?.first ?? caller?.accessor ?? "";
  }
  return `${origin.mount} ${origin.login} ${origin.name}`;
}

/** Composed, so that it is the same from every keyboard; null for what is no password. */
function passwordBytes(password: Secret<string>): Buffer | null {
  const plain = password.reveal();
  if (plain === "" || plain.length > MAX_CHARACTERS || !plain.isWellFormed()) return null;
  const text = plain.normalize("NFC");
  const bytes = alloc(Buffer.byteLength(text));
  bytes.write(text, "utf8");
  return bytes;
}

function derived(
  password: Uint8Array,
  salt: Uint8Array,
  { n, r, p }: PasswordCost,
): Promise<Buffer> {
  const maxmem = 128 * r * (n + p) * 2; // what it needs, and room
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, { N: n, r, p, maxmem }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
