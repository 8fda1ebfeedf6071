// Makes, changes and ends tokens, each in one transaction. Who may is not decided here; what a token may be,
// in token-rules.ts.

import { isUuid } from "@holdfast/shared/text/uuid";
import { Secret } from "@holdfast/shared/secret";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";
import type { TokenLookup } from "./lookup.ts";
import type { LoginRenewal } from "@holdfast/shared/endpoint/lease";
import { increment, renewedUntil } from "./life/renewal.ts";
import type { Salt } from "./rows/salt.ts";
import { isUsableSecret, type Token } from "./token.ts";
import {
  assertUnmodified,
  type Cas,
  changed,
  checkNewToken,
  cutToMaker,
  type Lifetimes,
  type NewToken,
  type TokenChange,
} from "./token-rules.ts";
import type { TokenRanges } from "./rows/token-ranges.ts";
import type { TokenRows } from "./rows/token-rows.ts";

const WIPED_AT_ONCE = 16; // see expiry.ts

/** An update, or what is uploaded where there is no such token. */
export interface TokenWrite extends TokenChange {
  /** Of an upload; a stored token keeps its own. */
  readonly secret?: string | undefined;
  readonly created?: Instant | null | undefined;
}

export interface DeletedToken {
  readonly token: Token;
  readonly index: bigint;
  /** No management token of the root namespace is left that has not expired. */
  readonly lastManagement: boolean;
}

export interface TokenWritesParts {
  readonly rows: TokenRows;
  readonly ranges: TokenRanges;
  readonly minting: Minting;
  readonly lookup: TokenLookup;
  readonly lifetimes: Lifetimes;
  readonly salt: () => Salt;
  /** Called with each token that goes. */
  readonly removing: (token: Token) => void;
}

export class TokenWrites {
  readonly #parts: TokenWritesParts;

  constructor(parts: TokenWritesParts) {
    this.#parts = parts;
  }

  /** Refuses with all problems at once. `lifetimes`: null for any. Default: as configured. */
  create(spec: NewToken, lifetimes: Lifetimes | null = this.#parts.lifetimes): Promise<Token> {
    const { rows, minting, lookup, salt } = this.#parts;
    const parent = spec.terms?.parent ?? null;
    return rows.shared.write((tx) => {
      // What would end with its parent must not begin after it.
      if (parent !== null && lookup.usable(parent, tx) === null) throw failures.parentGone();
      return minting.mint(tx, salt(), cutToMaker(spec, tx.time), { lifetimes });
    });
  }

  /** Of an accessor that no token has it is an upload, if it can be one. */
  update(namespaceId: string, accessor: string, change: TokenWrite): Promise<Token> {
    const { rows, lookup } = this.#parts;
    return rows.shared.write((tx) => {
      const before = this.#stored(tx, namespaceId, accessor);
      if (before === null) return this.#upload(tx, namespaceId, accessor, change);
      // It would open more than what it holds.
      if (before.terms?.wrapping !== undefined) throw failures.wrappingFixed();
      const shape = changed(before, change, lookup.isOver(before, tx));
      const after = { ...shape, modifyIndex: tx.index };
      rows.replace(tx, before, after);
      return after;
    });
  }

  /** Lets a renewable token live for `requested` from now, but never past the longest lifetime. Null for the
   *  time it was made with. `said`: by the method that it was logged in by. */
  renew(
    namespaceId: string,
    accessor: string,
    requested: Nanos | null,
    said: LoginRenewal = {},
  ): Promise<Token> {
    const { rows, lookup, lifetimes } = this.#parts;
    return rows.shared.write((tx) => {
      const before = this.#stored(tx, namespaceId, accessor);
      if (before === null) throw failures.cannotFind(accessor);
      const { expires: until } = before;
      const known = withRenewal(before, said);
      if (!before.renewable || until === null) throw failures.notRenewable();
      if (lookup.isOver(before, tx)) throw failures.tokenInvalid(["token has expired"]);
      if (!lookup.isOpen(before)) throw failures.loginClosed();
      const { max } = lifetimes;
      const longest = shorter(max, positive(said.maxTtl) ?? max);
      const usual = orRequested(requested, said);
      const life = { now: tx.time, by: increment(known, usual), max: longest };
      const expires = renewedUntil({ ...known, expires: until }, life);
      const after = { ...known, expires, modifyIndex: tx.index };
      rows.replace(tx, before, after);
      return after;
    });
  }

  /** Nobody is let in by it from here on. `cas`: the ModifyIndex that it must have. */
  delete(namespaceId: string, accessor: string, cas?: Cas): Promise<DeletedToken> {
    const { rows } = this.#parts;
    const remove = (tx: Tx): DeletedToken => {
      const token = this.#stored(tx, namespaceId, accessor);
      if (token === null) throw failures.cannotDelete(accessor);
      assertUnmodified(token, cas);
      this.remove(tx, token);
      const matters = token.type === "management" && namespaceId === ROOT_NAMESPACE.id;
      const lastManagement = matters && !rows.hasManagement(namespaceId, tx.time, tx);
      return { token, index: tx.index, lastManagement };
    };
    return rows.shared.write(remove, { essential: true });
  }

  /** A few at a time, so that others get their turn. */
  async wipeNamespace(namespaceId: string): Promise<void> {
    const { rows, ranges, lookup } = this.#parts;
    for (;;) {
      const places = ranges.ownPlaces(namespaceId, WIPED_AT_ONCE);
      if (places.length === 0) return;
      const remove = (tx: Tx) => {
        for (const place of places) {
          const token = lookup.readable(place, tx);
          if (token === null) rows.removeUnread(tx, place);
          else this.remove(tx, token);
        }
      };
      await rows.shared.write(remove, { essential: true });
    }
  }

  /** With all that hangs on it. */
  remove(tx: Tx, token: Token): void {
    const { rows, removing, salt } = this.#parts;
    removing(token);
    rows.remove(tx, token, salt().hashOf(token.secret.reveal()));
  }

  /** One that only clients can be, with identifiers that somebody has chosen. */
  #upload(tx: Tx, namespaceId: string, accessor: string, change: TokenWrite): Token {
    const { rows, minting, salt, lifetimes } = this.#parts;
    const { secret = "", type, cas } = change;
    const chosen = isUuid(accessor) && isUuid(secret) && isUsableSecret(secret);
    if (!chosen || type !== "client" || cas !== undefined) throw failures.cannotFind(accessor);
    const isAccessor = rows.byAccessor(namespaceId, secret.toLowerCase(), tx) !== null;
    const same = accessor.toLowerCase() === secret.toLowerCase();
    if (isAccessor || same || rows.placeOf(salt().hashOf(accessor), tx) !== null) {
      throw failures.secretIsAccessor();
    }
    return minting.mint(
      tx,
      salt(),
      { ...change, namespaceId },
      {
        lifetimes,
        accessor: accessor.toLowerCase(),
        secret: new Secret(secret.toLowerCase()),
      },
    );
  }

  #stored(tx: Tx, namespaceId: string, accessor: string): Token | null {
    if (!isUuid(accessor)) return null;
    return this.#parts.rows.byAccessor(namespaceId, accessor.toLowerCase(), tx);
  }
}

/** What somebody has picked; what is left out is random. */
export interface Chosen {
  readonly secret?: Secret<string> | undefined;
  /** One that no token has. */
  readonly accessor?: string | undefined;
}

/** Makes tokens inside a transaction: identifiers, times, indexes and all their rows at once. */
export class Minting {
  readonly #rows: TokenRows;
  readonly #random: Random;

  constructor(rows: TokenRows, random: Random) {
    this.#rows = rows;
    this.#random = random;
  }

  mint(
    tx: Tx,
    salt: Salt,
    spec: NewToken,
    { lifetimes, ...chosen }: Chosen & { readonly lifetimes: Lifetimes | null },
  ): Token {
    const checked = checkNewToken(spec, tx.time, lifetimes);
    const secret = chosen.secret ?? new Secret(this.#random.uuid());
    if (!isUsableSecret(secret.reveal())) throw failures.secretUnusable();
    const hash = salt.hashOf(secret.reveal());
    // Nobody looks for one that was drawn just now: 122 random bits do not come twice.
    if (chosen.secret !== undefined && this.#rows.placeOf(hash, tx) !== null)
      throw failures.secretInUse();
    const token: Token = {
      ...checked,
      accessor: chosen.accessor ?? this.#random.uuid(),
      secret,
      global: spec.global ?? false,
      namespaceId: spec.namespaceId,
      renewable: spec.renewable ?? false,
      ...(spec.terms === undefined ? {} : { terms: spec.terms }),
      ...(spec.origin === undefined ? {} : { origin: spec.origin }),
      createIndex: tx.index,
      modifyIndex: tx.index,
    };
    const drawn = chosen.secret === undefined && chosen.accessor === undefined;
    this.#rows.put(tx, token, hash, drawn);
    return token;
  }
}

/** What its login method says of it from now on. */
function withRenewal(token: Token, { period, owner }: LoginRenewal): Token {
  const { terms, origin } = token;
  const periodic = positive(period);
  return {
    ...token,
    ...(periodic === null || terms === undefined ? {} : { terms: { ...terms, period: periodic } }),
    ...(owner === undefined || origin === undefined ? {} : { origin: { ...origin, owner } }),
  };
}

/** A method says how long where nobody has asked. */
function orRequested(requested: Nanos | null, { ttl }: LoginRenewal): Nanos | null {
  return positive(requested) ?? positive(ttl);
}

/** 0 is as not given. */
function positive(nanos: Nanos | null | undefined): Nanos | null {
  return nanos === undefined || nanos === null || nanos === 0n ? null : nanos;
}

function shorter(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b;
}
