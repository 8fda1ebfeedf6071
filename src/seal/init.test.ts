import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { OwnError } from "@holdfast/shared/failure";
import { SystemRandom } from "../system/random.ts";
import type { Tx } from "../barrier/view.ts";
import { exportKey, freshKey } from "../crypto/aead.ts";
import { MemoryDisk } from "../storage/engines/memory.ts";
import type { InitOptions } from "./init.ts";
import {
  crash,
  failure,
  give,
  initialised,
  makeNode,
  makeOperator,
  opened,
} from "../../tests/support/servers/sealed-node.ts";

const staticKey = freshKey(new SystemRandom());

test("an empty request makes 5 shares with threshold 3, a root token, and a sealed node", async () => {
  const { node, made } = await initialised();
  const shares = made.keys.reveal();
  assert.equal(shares.length, 5);
  for (const share of shares) assert.match(share, /^[0-9a-f]{66}$/);
  const fromBase64 = made.keysBase64.reveal().map((text) => Buffer.from(text, "base64"));
  assert.deepEqual(
    fromBase64.map((bytes) => bytes.toString("hex")),
    shares,
  );
  assert.deepEqual(made.recoveryKeys.reveal(), []);
  assert.deepEqual(made.recoveryKeysBase64.reveal(), []);
  assert.equal(node.keeper.initialised, true);
  assert.equal(node.keeper.sealed, true);
  assert.equal(node.barrier.sealed, true);
  assert.equal(node.store.locked, true);
  assert.deepEqual(node.calls, ["created"]);
  await give(node, shares.slice(0, 3));
  assert.equal(node.tokens.nameOf(made.rootToken?.reveal() ?? ""), "initial root");
  assert.equal(node.tokens.doorOpen, false);
});

test("everything is in the first transaction: config, keys, copies, cluster, hook and token", async () => {
  const codec = jsonCodec<string>();
  const hooks = { created: (tx: Tx) => tx.put("from-the-hook", "yes", codec) };
  const request = { secretShares: 1, secretThreshold: 1 };
  const { node, shares } = await opened(request, { clusterName: "north", hooks });
  const core = node.barrier.view("core/");
  const rows = node.engine.commits[0]?.filter((key) => !key.startsWith("shared/tokens/"));
  assert.deepEqual(rows?.sort(), [
    "core/cluster",
    "core/from-the-hook",
    "core/keyring",
    "core/root-key",
    "core/root-key-copy",
    "core/seal-config",
    "core/tree-key",
    "core/unseal-key-copy",
    "shared/door",
  ]);
  assert.equal(node.engine.commits[0]?.length, 10); // and the token
  assert.equal(core.get("from-the-hook", codec), "yes");
  const unsealKey = core.get("unseal-key-copy", bytesCodec) ?? Buffer.alloc(0);
  assert.equal(Buffer.from(unsealKey).toString("hex"), shares[0]);
  assert.deepEqual(core.get("root-key-copy", bytesCodec), exportKey(node.barrier.rootKey));
  const { clusterName, clusterId } = node.keeper.status();
  assert.equal(clusterName, "north");
  const stored = core.get("cluster", jsonCodec<unknown>());
  assert.deepEqual(stored, { name: "north", id: clusterId });
});

test("the root token comes encrypted when a key is given for it", async () => {
  const ann = await makeOperator();
  const { node, made } = await opened({ rootTokenPgpKey: ann.publicKey });
  const message = Buffer.from(made.rootToken?.reveal() ?? "", "base64");
  const token = await ann.read(message);
  assert.equal(node.tokens.nameOf(token), "initial root");
});

test("shares come encrypted to the operators' keys, and unseal when decrypted", async () => {
  const operators = [await makeOperator(), await makeOperator(), await makeOperator()];
  const pgpKeys = operators.map((operator) => operator.publicKey);
  const request = { secretShares: 3, secretThreshold: 2, pgpKeys };
  const { node, made } = await initialised(request);
  const hex = made.keys.reveal();
  assert.deepEqual(
    made.keysBase64.reveal().map((text) => Buffer.from(text, "base64").toString("hex")),
    hex,
  );
  const shares: string[] = [];
  for (const [i, operator] of operators.entries()) {
    shares.push(await operator.read(Buffer.from(hex[i] ?? "", "hex")));
  }
  await give(node, shares.slice(1));
  assert.equal(node.keeper.sealed, false);
  const row = JSON.parse(Buffer.from(node.store.get("core/seal-config") ?? []).toString()) as {
    pgp_fingerprints: string[];
  };
  const fingerprints = operators.map((operator) => operator.fingerprint);
  assert.deepEqual(row.pgp_fingerprints, fingerprints);
});

test("an open bootstrap makes no root token and leaves the door open", async () => {
  const { node, made } = await opened({ aclBootstrap: "open" });
  assert.equal(made.rootToken, null);
  assert.equal(node.tokens.count, 0);
  assert.equal(node.tokens.doorOpen, true);
});

const refused: readonly [name: string, auto: boolean, InitOptions, says: RegExp][] = [
  ["too many shares", false, { secretShares: 256, secretThreshold: 3 }, /^secret_shares must be/],
  ["one of several", false, { secretShares: 3, secretThreshold: 1 }, /^secret_threshold must be/],
  ["too few PGP keys", false, { pgpKeys: ["x"] }, /^pgp_keys has 1 keys/],
  [
    "fields of the auto seal",
    false,
    { recoveryShares: 5, recoveryThreshold: 3, recoveryPgpKeys: ["x"], recoveryUnseal: true },
    /^recovery_shares, recovery_threshold, recovery_pgp_keys, recovery_unseal: for an auto seal only; this server has the shamir seal$/,
  ],
  ["one field of the auto seal", false, { recoveryUnseal: false }, /^recovery_unseal: for an auto/],
  [
    "fields of the shamir seal",
    true,
    { secretShares: 5, secretThreshold: 3, pgpKeys: ["x"] },
    /^secret_shares, secret_threshold, pgp_keys: for the shamir seal only; this server has the static seal$/,
  ],
  ["bad recovery shares", true, { recoveryShares: 0 }, /^recovery_shares must be/],
  [
    "a key for a token that is not made",
    false,
    { aclBootstrap: "open", rootTokenPgpKey: "x" },
    /^root_token_pgp_key has no use/,
  ],
  [
    "a bad PGP key",
    false,
    { secretShares: 1, secretThreshold: 1, pgpKeys: ["x"] },
    /^PGP key 1 of the list/,
  ],
  ["a bad key for the token", false, { rootTokenPgpKey: "x" }, /^the PGP key /],
];
for (const [name, auto, options, says] of refused) {
  test(`${name}: refused, and nothing is stored`, async () => {
    const node = makeNode(auto ? { staticKey } : {});
    await assert.rejects(node.keeper.init(options), failure("invalid", says));
    assert.equal(node.keeper.initialised, false);
    assert.deepEqual(node.disk.rows.keys({ from: "", to: null, limit: 10 }), []);
    assert.deepEqual(node.calls, []);
    await node.keeper.init(); // and the node is as good as new
  });
}

test("zeros and empty lists in the fields of the other seal say nothing", async () => {
  const nothing = { recoveryShares: 0, recoveryThreshold: 0, recoveryPgpKeys: [] };
  const { made } = await initialised({ ...nothing, secretShares: 2, rootTokenPgpKey: "" });
  assert.equal(made.keys.reveal().length, 2);
});

test("a second init is refused, before and after a restart", async () => {
  const { node } = await initialised();
  const says = "service is already initialized";
  await assert.rejects(node.keeper.init(), failure("invalid", says));
  const next = await crash(node);
  await assert.rejects(next.keeper.init({ secretShares: 999 }), failure("invalid", says));
});

test("of two inits at once on one node one succeeds", async () => {
  const node = makeNode();
  const results = await Promise.allSettled([node.keeper.init(), node.keeper.init()]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  const [first, second] = results;
  assert.ok(second?.status === "rejected");
  failure("invalid", "service is already initialized")(second.reason);
  assert.ok(first?.status === "fulfilled");
  await give(node, first.value.keys.reveal().slice(0, 3));
  assert.equal(node.keeper.sealed, false);
});

test("of two nodes that race for one storage one succeeds, and the shares of that one unseal both", async () => {
  const disk = new MemoryDisk();
  const nodes = [makeNode({ disk }), makeNode({ disk })];
  const results = await Promise.allSettled(nodes.map((node) => node.keeper.init()));
  const made = results.filter((result) => result.status === "fulfilled");
  const lost = results.filter((result) => result.status === "rejected");
  assert.equal(made.length, 1);
  assert.equal(lost.length, 1);
  failure("invalid", "service is already initialized")(lost[0]?.reason);
  const shares = made[0]?.value.keys.reveal().slice(0, 3) ?? [];
  for (const node of nodes) {
    assert.equal(node.keeper.initialised, true);
    await give(node, shares);
    assert.equal(node.keeper.sealed, false);
    assert.equal(node.tokens.count, 1);
    await node.keeper.seal();
  }
});

test("a hook or token room that fails leaves nothing behind", async () => {
  const node = makeNode({
    hooks: {
      created: () => {
        throw new Error("no room");
      },
    },
  });
  await assert.rejects(node.keeper.init(), /no room/);
  assert.equal(node.keeper.initialised, false);
  assert.deepEqual(node.disk.rows.keys({ from: "", to: null, limit: 10 }), []);
  const next = await crash(node);
  await next.keeper.init();
});

for (const when of ["before", "after"] as const) {
  test(`a storage that fails ${when} the commit leaves all or nothing`, async () => {
    const node = makeNode();
    node.engine.failNext = when;
    await assert.rejects(node.keeper.init(), failure("unavailable", /^the storage failed/));
    assert.equal(node.barrier.sealed, true);
    const next = await crash(node);
    assert.equal(next.keeper.initialised, when === "after");
    assert.equal(next.store.get("core/root-key") !== null, when === "after");
  });
}

test("with a static seal, init gives recovery shares and the node goes on to open", async () => {
  const request = { recoveryShares: 4, recoveryThreshold: 2 };
  const { node, made } = await initialised(request, { staticKey });
  assert.deepEqual(made.keys.reveal(), []);
  assert.equal(made.recoveryKeys.reveal().length, 4);
  assert.equal(made.recoveryKeysBase64.reveal().length, 4);
  assert.equal(node.keeper.sealed, false);
  assert.deepEqual(node.calls, ["created", "opened"]);
  assert.equal(node.tokens.nameOf(made.rootToken?.reveal() ?? ""), "initial root");
  const rows = node.barrier.view("core/").keys("", { limit: 100 });
  assert.ok(rows.includes("recovery-key-copy"));
  assert.ok(rows.includes("recovery-root-key"));
  assert.ok(!rows.includes("unseal-key-copy"), "the key from outside is not stored");
});

test("without recovery_unseal no root key is kept under the recovery key", async () => {
  const { node } = await initialised({ recoveryUnseal: false }, { staticKey });
  const rows = node.barrier.view("core/").keys("", { limit: 100 });
  assert.ok(rows.includes("recovery-key-copy"));
  assert.ok(!rows.includes("recovery-root-key"));
});

test("recovery shares go out even when the node cannot open after init", async () => {
  let broken = true;
  const hooks = {
    opened: async () => {
      if (broken) throw new OwnError("no audit device");
    },
  };
  const { node, made } = await initialised({}, { staticKey, hooks });
  assert.equal(made.recoveryKeys.reveal().length, 5);
  assert.equal(node.keeper.sealed, true);
  assert.equal(node.barrier.sealed, true);
  assert.match(node.lines.join(""), /could not unseal: cause="no audit device"/);
  assert.equal(node.keeper.status().warnings.length, 1);
  broken = false;
  await node.keeper.start();
  assert.equal(node.keeper.sealed, false);
  assert.deepEqual(node.keeper.status().warnings, []);
});
