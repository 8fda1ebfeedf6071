// Makes tokens inside a transaction: identifiers, times, indexes and all their rows at once.

import { Secret } from "../base/secret.ts";
import type { Random } from "../base/world.ts";
import type { Tx } from "../barrier/view.ts";
import { secretInUse, secretUnusable } from "./failures.ts";
import { checkNewToken, type NewToken } from "./new-token.ts";
import type { Salt } from "./salt.ts";
import { isUsableSecret, type Token } from "./token.ts";
import type { TokenRows } from "./token-rows.ts";

export class Minting {
  readonly #rows: TokenRows;
  readonly #random: Random;

  constructor(rows: TokenRows, random: Random) {
    this.#rows = rows;
    this.#random = random;
  }

  /** `chosen` is a secret that an operator has picked; otherwise it is a random UUID. */
  mint(tx: Tx, salt: Salt, spec: NewToken, chosen?: Secret<string>): Token {
    const { type, name, policies } = checkNewToken(spec, tx.time);
    const secret = chosen ?? new Secret(this.#random.uuid());
    if (!isUsableSecret(secret.reveal())) throw secretUnusable();
    const hash = salt.hashOf(secret.reveal());
    if (this.#rows.placeOf(hash, tx) !== null) throw secretInUse();
    const token: Token = {
      accessor: this.#random.uuid(),
      secret,
      name,
      type,
      policies,
      global: spec.global ?? false,
      namespaceId: spec.namespaceId,
      created: tx.time,
      expires: spec.expires ?? null,
      ttl: spec.ttl ?? null,
      createIndex: tx.index,
      modifyIndex: tx.index,
    };
    this.#rows.put(tx, token, hash);
    return token;
  }
}
