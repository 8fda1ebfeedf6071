// Fills the store of a server with tokens: the product's own server in this process, initialised over
// its API, the tokens minted by its own room in large transactions. Stopped in good order at the end.

import { mkdirSync, writeFileSync } from "node:fs";
import { SystemClock } from "../src/base/clock.ts";
import { SystemFs } from "../src/base/fs.ts";
import { type LogDial, makeLog } from "../src/base/log.ts";
import { SystemNet } from "../src/base/net.ts";
import { SystemRandom } from "../src/base/random.ts";
import { SystemTimers } from "../src/base/timers.ts";
import { loadConfig } from "../src/config/load.ts";
import { openServer, type Server } from "../src/server/server.ts";
import { Minting } from "../src/tokens/minting.ts";
import { Salt } from "../src/tokens/salt.ts";
import { call } from "./api-caller.ts";
import { answer } from "./processes.ts";
import { keysFrom } from "./tokens-node.ts";
import { accessorOf, isGlobal } from "./tokens-store.ts";

// A transaction may hold 8,192 rows: four for each token, and the index of the table.
const MOST_AT_ONCE = 2000;
// Tokens of one transaction have one CreateIndex; small stores shall have several as well.
const LEAST_INDEXES = 50;
const IN_FLIGHT = 2; // one is being written while the next is sealed and hashed
// Their rows in the order of expiry are there, and a store that is kept stays what it is.
const EXPIRES = BigInt(Date.UTC(2200, 0)) * 1_000_000n;

export interface TokensFillInput {
  readonly data: string;
  /** Where the key shares and the first token are written to. */
  readonly keys: string;
  readonly tokens: number;
}

const random = new SystemRandom();
const world = {
  clock: new SystemClock(),
  timers: new SystemTimers(),
  random,
  fs: new SystemFs(random),
  net: new SystemNet(),
};

async function opened(data: string): Promise<Server> {
  const document = {
    data_dir: data,
    storage: { sqlite: {} },
    listener: { tcp: { address: "127.0.0.1:0", tls_disable: true } },
  };
  const { config } = await loadConfig({
    paths: [],
    inline: { name: "fill.json", text: JSON.stringify(document) },
    env: {},
    files: world.fs,
    directory: data,
    hostname: "bench",
  });
  const dial: LogDial = { level: "warn", components: new Map() };
  const write = (line: string) => void process.stderr.write(line);
  const log = makeLog({ level: dial, format: "standard", write, clock: world.clock });
  return await openServer(config, { world, log, dial, version: "0.0.0", buildDate: "2026-01-01" });
}

async function fill({ tokens: { rows } }: Server, count: number): Promise<void> {
  const minting = new Minting(rows, random);
  const atOnce = Math.min(MOST_AT_ONCE, Math.ceil(count / LEAST_INDEXES));
  let next = 0;
  const writer = async () => {
    while (next < count) {
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

await answer(async ({ data, keys, tokens }: TokensFillInput) => {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const server = await opened(data);
  const stranger = { url: server.addresses[0] ?? "", headers: {} };
  const shares = { secret_shares: 1, secret_threshold: 1 };
  const shown = keysFrom(await call(stranger, "PUT", "sys/init", shares));
  writeFileSync(keys, JSON.stringify(shown), { mode: 0o600 });
  await call(stranger, "PUT", "sys/unseal", { key: shown.keys[0] });
  await fill(server, tokens);
  await server.stop();
  return {};
});
