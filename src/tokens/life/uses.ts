// Numbered uses: a token with a number of them loses one with each request, in a transaction of its own
// before anything runs, so that of parallel requests no more get through than there are uses.

import type { Tx } from "../../barrier/view.ts";
import type { Caller } from "@holdfast/shared/endpoint/request";
import type { Token } from "../token.ts";
import type { TokenPlace, TokenRows } from "../rows/token-rows.ts";

export interface UsesParts {
  readonly rows: TokenRows;
  /** The token at a place if it may be used now, else null. */
  readonly usable: (place: TokenPlace, tx: Tx) => Token | null;
  /** A token with all that hangs on it. */
  readonly remove: (tx: Tx, token: Token) => void;
}

export class Uses {
  readonly #parts: UsesParts;

  constructor(parts: UsesParts) {
    this.#parts = parts;
  }

  /** How many are left, or null when there was none. */
  take(caller: Caller): Promise<number | null> {
    const { rows, usable } = this.#parts;
    return rows.shared.write((tx) => {
      const token = usable(placeOf(caller), tx);
      const { terms } = token ?? {};
      if (token === null || terms === undefined || terms.usesLeft === null) return null;
      const usesLeft = terms.usesLeft - 1;
      rows.replace(tx, token, { ...token, terms: { ...terms, usesLeft } });
      return usesLeft;
    });
  }

  /** Deletes a token that has none left. */
  async end(caller: Caller): Promise<void> {
    const { rows, remove } = this.#parts;
    const end = (tx: Tx) => {
      const token = rows.at(placeOf(caller), tx);
      if (token !== null && isSpent(token)) remove(tx, token);
    };
    await rows.shared.write(end, { essential: true });
  }
}

/** Whether it has had all its uses. */
export function isSpent({ terms }: Token): boolean {
  return terms?.usesLeft === 0;
}

function placeOf({ namespace, accessor, global }: Caller): TokenPlace {
  return { namespaceId: namespace.id, accessor, global };
}
