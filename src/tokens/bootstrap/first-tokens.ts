// The first management token and the one made from key shares: what the keeper of the seal asks of
// this room, inside transactions of its own, before anything else of it is open.

import type { Secret } from "@holdfast/shared/secret";
import type { Random } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { FirstTokens } from "../../seal/keeper-options.ts";
import { putBootstrap } from "./bootstrap.ts";
import type { Minting } from "../token-writes.ts";
import { Salt } from "../rows/salt.ts";
import type { Token } from "../token.ts";
import type { TokenRows } from "../rows/token-rows.ts";

/** For dev mode; a server that is meant seriously leaves both out. */
export interface FirstTokenOptions {
  /** Any text. Default: a random UUID. */
  readonly secret?: Secret<string> | undefined;
  /** Leaves the bootstrap open besides. Default false. */
  readonly alsoOpen?: boolean | undefined;
}

const UUID_LENGTH = 36;

export class FirstTokenMint implements FirstTokens {
  /** Of generated ones; the first in dev mode may have another. */
  readonly length = UUID_LENGTH;
  readonly #rows: TokenRows;
  readonly #minting: Minting;
  readonly #random: Random;
  readonly #options: FirstTokenOptions;

  constructor(rows: TokenRows, minting: Minting, random: Random, options: FirstTokenOptions) {
    this.#rows = rows;
    this.#minting = minting;
    this.#random = random;
    this.#options = options;
  }

  /** In the first transaction of the store. */
  created(tx: Tx): void {
    this.#withSalt(tx, () => {});
  }

  mintFirst(tx: Tx): string {
    const { secret, alsoOpen = false } = this.#options;
    const token = this.#mint(tx, "initial root", secret);
    const resetIndex = alsoOpen ? null : token.createIndex;
    putBootstrap(tx.on(this.#rows.shared), { open: alsoOpen, resetIndex });
    return token.secret.reveal();
  }

  leaveDoorOpen(tx: Tx): void {
    putBootstrap(tx.on(this.#rows.shared), { open: true, resetIndex: null });
  }

  /** Good in all clusters where this one writes what they share; else in this one. */
  mintGenerated(tx: Tx): string {
    const global = !this.#rows.shared.writtenElsewhere;
    return this.#mint(tx, "generated root", undefined, global).secret.reveal();
  }

  #mint(tx: Tx, name: string, secret: Secret<string> | undefined, global = true): Token {
    const namespaceId = ROOT_NAMESPACE.id;
    const spec = { type: "management", namespaceId, name, global };
    return this.#withSalt(tx, (salt) =>
      this.#minting.mint(tx, salt, spec, { secret, lifetimes: null }),
    );
  }

  /** The salt of this moment: at the first of them the room is not open yet. */
  #withSalt<T>(tx: Tx, use: (salt: Salt) => T): T {
    const salt = Salt.ensure(tx.on(this.#rows.shared), this.#random);
    try {
      return use(salt);
    } finally {
      salt.wipe();
    }
  }
}
