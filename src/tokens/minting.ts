// Makes tokens inside a transaction: identifiers, times, indexes and all their rows at once.

import { Secret } from "@holdfast/shared/secret";
import type { Random } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { secretInUse, secretUnusable } from "./failures.ts";
import { checkNewToken, type Lifetimes, type NewToken } from "./new-token.ts";
import type { Salt } from "./rows/salt.ts";
import { isUsableSecret, type Token } from "./token.ts";
import type { TokenRows } from "./rows/token-rows.ts";

/** What somebody has picked; what is left out is random. */
export interface Chosen {
  readonly secret?: Secret<string> | undefined;
  /** One that no token has. */
  readonly accessor?: string | undefined;
}

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
    if (!isUsableSecret(secret.reveal())) throw secretUnusable();
    const hash = salt.hashOf(secret.reveal());
    // Nobody looks for one that was drawn just now: 122 random bits do not come twice.
    if (chosen.secret !== undefined && this.#rows.placeOf(hash, tx) !== null) throw secretInUse();
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
