// The first management token, the open door beside it, and the token made from key shares: through
// the keeper of the seal, as the server puts them together.

import assert from "node:assert/strict";
import test from "node:test";
import { Secret } from "@holdfast/shared/secret";
import { uncovered } from "./support/covered-token.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { SealKeeper } from "../src/seal/keeper.ts";
import { MemoryDisk } from "../src/storage/engines/memory.ts";
import { type MadeBarrier, sealedBarrier } from "./support/made/made-barrier.ts";
import { putBootstrap, readBootstrap } from "../src/tokens/bootstrap/bootstrap.ts";
import type { FirstTokenOptions } from "../src/tokens/bootstrap/first-tokens.ts";
import { Tokens } from "../src/tokens/tokens.ts";

interface Node extends MadeBarrier {
  readonly tokens: Tokens;
  readonly keeper: SealKeeper;
}

function node(firstToken: FirstTokenOptions = {}): Node {
  const made = sealedBarrier(new MemoryDisk());
  const { barrier, store, world } = made;
  const tokens = new Tokens({
    shared: barrier.view("shared/"),
    local: barrier.view("local/"),
    namespaces: { byId: (id) => (id === "root" ? ROOT_NAMESPACE : null) },
    ...world,
    firstToken,
  });
  const keeper = new SealKeeper({
    store,
    barrier,
    ...world,
    tokens: tokens.first,
    hooks: {
      created: (tx) => tokens.first.created(tx),
      opened: async () => {
        barrier.activate();
        tokens.open();
      },
      closing: async () => tokens.close(),
    },
    version: "1.0.0",
    buildDate: "2026-01-01",
  });
  return { ...made, tokens, keeper };
}

async function begun(options: FirstTokenOptions = {}, door: "open" | "closed" = "closed") {
  const made = node(options);
  const init = { secretShares: 1, secretThreshold: 1, aclBootstrap: door } as const;
  const { keys, rootToken } = await made.keeper.init(init);
  const [key] = keys.reveal();
  assert.ok(key !== undefined);
  await made.keeper.unseal({ key });
  return { ...made, key, rootToken: rootToken?.reveal() ?? null };
}

const warnings = ({ world }: MadeBarrier) =>
  world.lines.filter((line) => line.includes("ACL bootstrap is open")).length;

test("init returns the one first management token, and the bootstrap is spent", async () => {
  const made = await begun();
  const { tokens, barrier } = made;
  assert.match(made.rootToken ?? "", /^[0-9a-f-]{36}$/);
  const root = tokens.find(made.rootToken ?? "");
  assert.equal(root?.type, "management");
  assert.equal(root.name, "initial root");
  assert.equal(root.global, true);
  assert.equal(root.expires, null);
  assert.deepEqual(root.policies, []);
  assert.equal(tokens.bootstrapOpen, false);
  const record = tokens.byAccessor("root", root.accessor);
  const { open, resetIndex } = readBootstrap(barrier.view("shared/"));
  assert.equal(open, false);
  assert.equal(resetIndex, record?.createIndex);
  assert.equal(warnings(made), 0);
});

test("with the door left open there is no token, and the log warns every hour until it is spent", async () => {
  const made = await begun({}, "open");
  const { tokens, world, barrier } = made;
  assert.equal(made.rootToken, null);
  assert.equal(tokens.bootstrapOpen, true);
  assert.equal(warnings(made), 1);
  await world.timers.advance(3_600_000_000_000n);
  assert.equal(warnings(made), 2);
  await barrier.view("shared/").write((tx) => putBootstrap(tx, { open: false, resetIndex: 7n }));
  assert.equal(tokens.bootstrapOpen, false);
  await world.timers.advance(2n * 3_600_000_000_000n);
  assert.equal(warnings(made), 2);
});

test("sealed, nobody is told that the door is open and nothing warns", async () => {
  const made = await begun({}, "open");
  await made.keeper.seal();
  assert.equal(made.tokens.bootstrapOpen, false);
  await made.world.timers.advance(2n * 3_600_000_000_000n);
  assert.equal(warnings(made), 1);
  await made.keeper.unseal({ key: made.key });
  assert.equal(made.tokens.bootstrapOpen, true);
});

test("dev mode: the root token may be any text, and the door stays open besides", async () => {
  const made = await begun({ secret: new Secret("dev root"), alsoOpen: true });
  assert.equal(made.rootToken, "dev root");
  assert.equal(made.tokens.find("dev root")?.type, "management");
  assert.equal(made.tokens.find("DEV ROOT"), null);
  assert.equal(made.tokens.bootstrapOpen, true);
});

test("dev mode: a root token that stands for a hidden secret is refused, and nothing is initialised", async () => {
  const made = node({ secret: new Secret("<hidden>") });
  await assert.rejects(made.keeper.init({}), /1 to 8192 characters, and be no placeholder/);
  assert.equal(made.keeper.initialised, false);
});

test("key shares make a management token named generated root, and the door stays as it was", async () => {
  const made = await begun();
  const { keeper, tokens } = made;
  const { nonce, otp } = await keeper.generateRoot.start();
  const done = await keeper.generateRoot.update({ key: made.key, nonce });
  assert.equal(done.complete, true);
  const secret = uncovered(done.encodedToken, otp?.reveal() ?? "");
  assert.equal(tokens.find(secret)?.name, "generated root");
  assert.equal(tokens.find(secret)?.type, "management");
  assert.equal(tokens.find(made.rootToken ?? "")?.name, "initial root");
  assert.equal(tokens.bootstrapOpen, false);
});

test("without a record of the door it is shut", () => {
  assert.deepEqual(readBootstrap({ get: () => null }), { open: false, resetIndex: null });
});
