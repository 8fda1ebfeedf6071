// Fills the store of a server with tokens, minted by its own room in large transactions.

import { SystemRandom } from "../../src/system/random.ts";
import type { Server } from "../../src/server/server.ts";
import { Minting } from "../../src/tokens/token-writes.ts";
import { Salt } from "../../src/tokens/rows/salt.ts";
import { type FillPlace, fillServer, trimmed } from "./fill-server.ts";
import { answer } from "../processes.ts";
import { accessorOf, isGlobal } from "./tokens-store.ts";

// A transaction may hold 8,192 rows: four for each token, and the index of the table.
const MAX_AT_ONCE = 2000;
// Tokens of one transaction have one CreateIndex; small stores shall have several as well.
const MIN_INDEXES = 50;
const TRIM_EVERY = 4; // transactions
const IN_FLIGHT = 2; // one is being written while the next is sealed and hashed
// Their rows in the order of expiry are there, and a store that is kept stays what it is.
const EXPIRES = BigInt(Date.UTC(2200, 0)) * 1_000_000n;

export interface TokensFillInput extends FillPlace {
  readonly tokens: number;
}

const random = new SystemRandom();

async function fill({ store, tokens: { rows } }: Server, count: number): Promise<void> {
  const minting = new Minting(rows, random);
  const atOnce = Math.min(MAX_AT_ONCE, Math.ceil(count / MIN_INDEXES));
  let next = 0;
  const writer = async (_: unknown, number: number) => {
    for (let written = 0; next < count; written++) {
      // As in a store that grew slowly, the place of old entries is used again.
      if (number === 0 && written % TRIM_EVERY === 0) await trimmed(store);
      const first = next;
      const end = (next = Math.min(count, first + atOnce));
      await rows.shared.write((tx) => {
        const salt = Salt.ensure(tx.on(rows.shared), random);
        for (let n = first; n < end; n++) {
          const spec = {
            type: "client",
            namespaceId: "root",
            name: `service ${n}`,
            policies: ["readonly", "deploy"],
            global: isGlobal(n),
            expires: EXPIRES,
          };
          minting.mint(tx, salt, spec, { accessor: accessorOf(random, n), lifetimes: null });
        }
        salt.wipe();
      });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer));
}

await answer(async ({ tokens, ...place }: TokensFillInput) => {
  await fillServer(place, (server) => fill(server, tokens));
  return {};
});
