// One-time tokens: a secret that is good for one exchange, within ten minutes, for the token it was
// made for. Each token has at most one.

import { MINUTE } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { denied, oneTimeSecretInvalid } from "./failures.ts";
import type { OneTimeRows } from "./rows/one-time-rows.ts";
import type { Salt } from "./rows/salt.ts";
import type { Token } from "./token.ts";
import type { TokenPlace, TokenRows } from "./rows/token-rows.ts";

const LIFETIME: Nanos = 10n * MINUTE;

export interface OneTimeToken {
  readonly secret: Secret<string>;
  /** Of the token that it will be exchanged for. */
  readonly accessor: string;
  readonly expires: Instant;
  /** Of the write that made it: CreateIndex and ModifyIndex. */
  readonly index: bigint;
}

export interface Exchanged {
  readonly token: Token;
  /** Of the write that spent the one-time token. */
  readonly index: bigint;
}

export interface OneTimeParts {
  readonly rows: TokenRows;
  readonly oneTime: OneTimeRows;
  readonly random: Random;
  /** Refuses while the room is closed. */
  readonly salt: () => Salt;
  /** The token at a place if it may be used now, else null. */
  readonly usable: (place: TokenPlace, tx: Tx) => Token | null;
}

export class OneTimeTokens {
  readonly #parts: OneTimeParts;

  constructor(parts: OneTimeParts) {
    this.#parts = parts;
  }

  /** For the token of the caller, in the place of the one it has. */
  async upsert(owner: Pick<Caller, "accessor" | "namespace" | "global">): Promise<OneTimeToken> {
    const { rows, oneTime, random, salt, usable } = this.#parts;
    const { accessor, global } = owner;
    const place = { namespaceId: owner.namespace.id, accessor, global };
    return rows.local.write((tx) => {
      // It may have been deleted since the caller was let in.
      if (usable(place, tx) === null) throw denied();
      const secret = new Secret(random.uuid());
      const expires = tx.time + LIFETIME;
      oneTime.put(tx, { hash: salt().hashOf(secret.reveal()), owner: place, expires });
      return { secret, accessor, expires, index: tx.index };
    });
  }

  /** Exactly one of any number of attempts gets the token; all others are refused alike. */
  async exchange(secret: string, namespaceId: string): Promise<Exchanged> {
    const { rows, oneTime, salt, usable } = this.#parts;
    if (!isUuid(secret)) throw oneTimeSecretInvalid();
    const spend = (tx: Tx): Exchanged | null => {
      const row = oneTime.find(tx, salt().hashOf(secret));
      if (row === null || isOver(row.expires, tx.time)) return null;
      if (row.owner.namespaceId !== namespaceId) return null; // T-B13
      oneTime.remove(tx, row);
      const token = usable(row.owner, tx);
      return token === null ? null : { token, index: tx.index };
    };
    // Decided after the commit on purpose: a throw inside would take the removal back, and the secret
    // of a token that is over could be tried again when the clock is set back.
    const exchanged = await rows.local.write(spend);
    if (exchanged === null) throw denied();
    return exchanged;
  }
}
