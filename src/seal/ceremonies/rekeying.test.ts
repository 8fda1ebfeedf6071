import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { SystemRandom } from "../../system/random.ts";
import { exportKey, freshKey } from "../../crypto/aead.ts";
import type { RekeyResult } from "./rekey-answers.ts";
import type { Rekeying } from "./rekeying.ts";
import {
  crash,
  failure,
  give,
  initialised,
  makeOperator,
  opened,
  unseals,
} from "../../../tests/support/servers/sealed-node.ts";

const random = new SystemRandom();
const codec = jsonCodec<string>();
const INVALID = failure("invalid", "invalid key");
const TWO = { secretShares: 2, secretThreshold: 2 };

/** Starts nothing: gives the shares to a running rekey and answers with the new ones. */
async function complete(
  rekey: Rekeying,
  nonce: string,
  shares: readonly string[],
): Promise<RekeyResult> {
  for (const key of shares) {
    const { result } = await rekey.update({ key, nonce });
    if (result !== null) return result;
  }
  return assert.fail("not enough shares");
}

test("a rekey gives new shares, of other numbers, and the old ones are worthless", async () => {
  const { node, shares } = await opened();
  const { rekey } = node.keeper;
  await node.barrier.view("shared/").write((tx) => tx.put("kept", "value", codec));
  const none = {
    started: false,
    nonce: "",
    t: 0,
    n: 0,
    progress: 0,
    required: 3,
    pgpFingerprints: null,
    backup: false,
    verificationRequired: false,
    verificationNonce: "",
  };
  assert.deepEqual(rekey.progress(), none);
  const begun = await rekey.start({ secretShares: 4, secretThreshold: 2 });
  const { nonce } = begun;
  const running = { ...none, started: true, nonce, t: 2, n: 4 };
  assert.deepEqual(begun, { ...running, cancelNonce: begun.cancelNonce });
  const first = await rekey.update({ key: shares[0] ?? "", nonce });
  assert.deepEqual(first, { progress: { ...running, progress: 1 }, result: null });
  const oldRootKey = exportKey(node.barrier.rootKey);
  const result = await complete(rekey, nonce, shares.slice(1, 3));
  const { keys, keysBase64, ...rest } = result;
  assert.deepEqual(rest, {
    complete: true,
    nonce,
    pgpFingerprints: null,
    backup: false,
    verificationRequired: false,
    verificationNonce: "",
    warnings: [],
  });
  const fresh = keys.reveal();
  assert.equal(fresh.length, 4);
  assert.deepEqual(
    keysBase64.reveal().map((text) => Buffer.from(text, "base64").toString("hex")),
    fresh,
  );
  assert.deepEqual(rekey.progress(), { ...none, required: 2 });
  assert.equal(node.keeper.sealed, false);
  assert.notDeepEqual(exportKey(node.barrier.rootKey), oldRootKey);

  const { t, n } = node.keeper.status();
  assert.deepEqual([t, n], [2, 4]);
  assert.equal(await unseals(node, shares.slice(0, 3)), false);
  const next = await crash(node);
  await give(next, fresh.slice(2));
  assert.equal(next.keeper.sealed, false);
  assert.equal(next.barrier.view("shared/").get("kept", codec), "value");
  const core = next.barrier.view("core/");
  assert.deepEqual(core.get("root-key-copy", bytesCodec), exportKey(next.barrier.rootKey));
});

test("everything a rekey changes is in one commit", async () => {
  const { node, shares } = await opened(TWO);
  const { nonce } = await node.keeper.rekey.start(TWO);
  await node.store.settled();
  const before = node.engine.commits.length;
  await complete(node.keeper.rekey, nonce, shares);
  const commits = node.engine.commits.slice(before).map((keys) => keys.sort());
  assert.deepEqual(commits, [
    [
      "core/keyring",
      "core/root-key",
      "core/root-key-copy",
      "core/seal-config",
      "core/tree-key",
      "core/unseal-key-copy",
    ],
  ]);
});

test("after a rekey the node still writes, rotates, seals and rekeys again", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  let current: readonly string[] = shares;
  for (let round = 0; round < 3; round++) {
    const { nonce } = await rekey.start(TWO);
    current = (await complete(rekey, nonce, current)).keys.reveal();
    await node.keeper.rotate();
    await node.barrier.view("shared/").write((tx) => tx.put(`row-${round}`, "value", codec));
  }
  await node.keeper.seal();
  await give(node, current);
  assert.equal(node.keeper.keyStatus.term, 4);
  assert.equal(node.barrier.view("shared/").get("row-0", codec), "value");
});

const refused: readonly [name: string, options: object, says: RegExp][] = [
  ["too many shares", { secretShares: 256 }, /^secret_shares must be/],
  ["a threshold above the shares", { secretShares: 3, secretThreshold: 4 }, /^secret_threshold/],
  ["one of several", { secretShares: 3, secretThreshold: 1 }, /^secret_threshold/],
  ["too few PGP keys", { pgpKeys: ["x"] }, /^pgp_keys has 1 keys/],
  ["a backup without PGP keys", { backup: true }, /^backup stores PGP-encrypted shares only/],
  [
    "a bad PGP key",
    { secretShares: 1, secretThreshold: 1, pgpKeys: ["x"] },
    /^PGP key 1 of the list/,
  ],
];
for (const [name, options, says] of refused) {
  test(`a start with ${name} is refused, and none runs`, async () => {
    const { node } = await opened();
    await assert.rejects(node.keeper.rekey.start(options), failure("invalid", says));
    assert.equal(node.keeper.rekey.progress().started, false);
  });
}

test("wrong shares: refused at the threshold and kept beside the right ones; three sets end the rekey", async () => {
  const { node, shares } = await opened();
  const other = await initialised();
  const { rekey } = node.keeper;
  const { nonce } = await rekey.start();
  const junk = () => random.bytes(33).toString("hex");
  const keys = [shares[0] ?? "", other.shares[0] ?? "", shares[1] ?? ""];
  await assert.rejects(complete(rekey, nonce, keys), INVALID);
  for (let i = 0; i < 5; i++) {
    await assert.rejects(rekey.update({ key: junk(), nonce }), INVALID);
  }
  const now = rekey.progress();
  assert.deepEqual([now.started, now.nonce, now.progress], [true, nonce, 2]);
  await assert.rejects(rekey.update({ key: junk(), nonce }), INVALID);
  assert.equal(rekey.progress().started, false);

  const again = await rekey.start();
  await assert.rejects(complete(rekey, again.nonce, keys), INVALID);
  await rekey.update({ key: shares[2] ?? "", nonce: again.nonce }); // a right one is enough
  assert.equal(rekey.progress().started, false);
  assert.equal(await unseals(node, shares.slice(0, 3)), false, "the old shares are void");
});

test("a repeated share, a wrong nonce and a second start are refused; the progress stays", async () => {
  const { node, shares } = await opened();
  const { rekey } = node.keeper;
  const [key = "", other = ""] = shares;
  await assert.rejects(rekey.update({ key, nonce: "" }), failure("invalid", /^no attempt/));
  const { nonce } = await rekey.start();
  await rekey.update({ key, nonce });
  await assert.rejects(rekey.update({ key, nonce }), failure("invalid", /^this share was given/));
  const wrong = { key: other, nonce: random.uuid() };
  await assert.rejects(rekey.update(wrong), failure("invalid", /^nonce must be/));
  await assert.rejects(rekey.start(), failure("invalid", /^an attempt is running already/));
  assert.equal(rekey.progress().progress, 1);
});

test("T-F02: a rekey that nobody gives a share to is over after ten minutes", async () => {
  const { node, shares } = await opened();
  const { rekey } = node.keeper;
  const { nonce } = await rekey.start();
  node.clock.ahead += 599n * 1_000_000_000n;
  await assert.rejects(rekey.start(), failure("invalid", /^an attempt is running already/));
  node.clock.ahead += 2n * 1_000_000_000n;
  const update = rekey.update({ key: shares[0] ?? "", nonce });
  await assert.rejects(update, failure("invalid", /^no attempt is running/));
  const next = await rekey.start();
  await rekey.update({ key: shares[0] ?? "", nonce: next.nonce });
  node.clock.ahead += 3590n * 1_000_000_000n;
  assert.equal(rekey.progress().progress, 1, "with a share in it an attempt stays, for an hour");
  node.clock.ahead += 11n * 1_000_000_000n;
  assert.equal(rekey.progress().progress, 0);
});

test("T-F01: only the cancel nonce or authority cancels a rekey", async () => {
  const { node, shares } = await opened();
  const { rekey } = node.keeper;
  await rekey.cancel({ authorised: false });
  const { nonce, cancelNonce } = await rekey.start();
  assert.equal(rekey.progress().cancelNonce, undefined, "told once");
  await rekey.update({ key: shares[0] ?? "", nonce });
  await assert.rejects(rekey.cancel({ authorised: false }), failure("denied", /sudo/));
  await assert.rejects(rekey.cancel({ nonce, authorised: false }), failure("denied", /sudo/));
  const wrong = { nonce: random.uuid(), authorised: true };
  await assert.rejects(rekey.cancel(wrong), failure("invalid", /^nonce must be/));
  assert.equal(rekey.progress().progress, 1);
  await rekey.cancel({ cancelNonce: cancelNonce?.reveal(), authorised: false });
  assert.equal(rekey.progress().started, false);
  await rekey.start();
  await rekey.cancel({ authorised: true });
  assert.equal(rekey.progress().started, false);
});

test("a root generation that collected old shares ends with the rekey", async () => {
  const { node, shares } = await opened(TWO);
  const { generateRoot, rekey } = node.keeper;
  const root = await generateRoot.start();
  await generateRoot.update({ key: shares[0] ?? "", nonce: root.nonce });
  const { nonce } = await rekey.start({ secretShares: 3, secretThreshold: 3 });
  await complete(rekey, nonce, shares);
  const now = generateRoot.progress();
  assert.deepEqual([now.started, now.required], [false, 3]);
});

// --- verification ---

test("with verification nothing changes until the new threshold was entered", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  assert.throws(() => rekey.verification(), failure("invalid", /^no attempt is running/));
  const request = { secretShares: 3, secretThreshold: 2, requireVerification: true };
  const { nonce } = await rekey.start(request);
  const rootKey = exportKey(node.barrier.rootKey);
  const result = await complete(rekey, nonce, shares);
  const fresh = result.keys.reveal();
  assert.deepEqual([result.complete, result.verificationRequired], [true, true]);
  const { verificationNonce } = result;
  assert.notEqual(verificationNonce, nonce);
  const progress = rekey.progress();
  assert.deepEqual(
    [progress.started, progress.nonce, progress.verificationNonce, progress.progress],
    [true, nonce, verificationNonce, 2],
  );
  const waiting = { nonce: verificationNonce, t: 2, n: 3, progress: 0, complete: false };
  assert.deepEqual(rekey.verification(), waiting);
  await assert.rejects(
    rekey.update({ key: shares[0] ?? "", nonce }),
    failure("invalid", /^enough shares were given/),
  );
  const first = await rekey.verify({ key: fresh[2] ?? "", nonce: verificationNonce });
  assert.deepEqual(first, { ...waiting, progress: 1 });
  assert.deepEqual(exportKey(node.barrier.rootKey), rootKey);
  assert.equal(node.keeper.status().n, 2);
  const done = await rekey.verify({ key: fresh[0] ?? "", nonce: verificationNonce });
  assert.deepEqual(done, { ...waiting, progress: 2, complete: true });
  assert.equal(rekey.progress().started, false);
  assert.equal(node.keeper.status().n, 3);
  assert.equal(await unseals(node, shares), false);
  assert.equal(await unseals(node, fresh.slice(1)), true);
});

test("wrong, repeated and misplaced shares do not pass the verification", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const { nonce } = await rekey.start({ ...TWO, requireVerification: true });
  const result = await complete(rekey, nonce, shares);
  const [a = "", b = ""] = result.keys.reveal();
  const verify = (key: string, with_ = result.verificationNonce) =>
    rekey.verify({ key, nonce: with_ });
  await assert.rejects(verify(a, nonce), failure("invalid", /^nonce must be/));
  await verify(a);
  await assert.rejects(verify(a), failure("invalid", /^this share was given/));
  await assert.rejects(verify(shares[0] ?? ""), INVALID);
  assert.equal(rekey.verification().progress, 1);
  await assert.rejects(verify(shares[1] ?? ""), INVALID); // the old ones, all of them
  for (let i = 0; i < 3; i++) {
    await assert.rejects(verify(random.bytes(33).toString("hex")), INVALID);
  }
  assert.equal(rekey.verification().progress, 0, "entered again; the new shares are out");
  await verify(b);
  await assert.rejects(verify(random.bytes(33).toString("hex")), INVALID);
  assert.equal((await verify(a)).complete, true);
});

test("restarting the verification needs the cancel nonce or authority, and gives another nonce", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const { nonce, cancelNonce } = await rekey.start({ ...TWO, requireVerification: true });
  await assert.rejects(
    rekey.restartVerification({ authorised: true }),
    failure("invalid", /^no attempt is running/),
  );
  const result = await complete(rekey, nonce, shares);
  const [a = "", b = ""] = result.keys.reveal();
  await rekey.verify({ key: a, nonce: result.verificationNonce });
  const denied = rekey.restartVerification({ authorised: false });
  await assert.rejects(denied, failure("denied", /sudo/));
  const seen = { nonce: result.verificationNonce, authorised: false };
  await assert.rejects(rekey.restartVerification(seen), failure("denied", /sudo/));
  const mine = { ...seen, cancelNonce: cancelNonce?.reveal() };
  const again = await rekey.restartVerification(mine);
  assert.equal(again.progress, 0);
  assert.notEqual(again.nonce, result.verificationNonce);
  const old = rekey.verify({ key: a, nonce: result.verificationNonce });
  await assert.rejects(old, failure("invalid", /^nonce must be/));
  await rekey.verify({ key: a, nonce: again.nonce });
  assert.equal((await rekey.verify({ key: b, nonce: again.nonce })).complete, true);
});

test("a rekey cancelled during its verification leaves the present shares valid", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const { nonce } = await rekey.start({ ...TWO, requireVerification: true });
  const fresh = (await complete(rekey, nonce, shares)).keys.reveal();
  await rekey.cancel({ nonce, authorised: true });
  assert.equal(await unseals(node, fresh), false);
  assert.equal(await unseals(node, shares), true);
});

// --- interrupted ---

/** Stops a verified rekey of 2 of 2 after so many steps: start, 2 old shares, 2 new shares. */
async function stopAfter(steps: number) {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  let nonce = "";
  let fresh: readonly string[] = [];
  let verificationNonce = "";
  const work: (() => Promise<void>)[] = [
    async () => void ({ nonce } = await rekey.start({ ...TWO, requireVerification: true })),
    async () => void (await rekey.update({ key: shares[0] ?? "", nonce })),
    async () => {
      const { result } = await rekey.update({ key: shares[1] ?? "", nonce });
      fresh = result?.keys.reveal() ?? [];
      verificationNonce = result?.verificationNonce ?? "";
    },
    async () => void (await rekey.verify({ key: fresh[0] ?? "", nonce: verificationNonce })),
    async () => void (await rekey.verify({ key: fresh[1] ?? "", nonce: verificationNonce })),
  ];
  for (const step of work.slice(0, steps)) await step();
  return { node, shares, fresh };
}

for (let steps = 0; steps <= 5; steps++) {
  const valid = steps < 5 ? "old" : "new";
  test(`a crash after step ${steps} of 5 leaves the ${valid} shares valid and no others`, async () => {
    const { node, shares, fresh } = await stopAfter(steps);
    assert.equal(await unseals(node, shares), valid === "old");
    if (fresh.length > 0) assert.equal(await unseals(node, fresh), valid === "new");
  });
}

for (const verify of [true, false]) {
  for (const when of ["before", "after"] as const) {
    const mode = verify ? "with" : "without";
    test(`a storage that fails ${when} the commit, ${mode} verification: the operators hold valid shares`, async () => {
      const { node, shares } = await opened(TWO);
      const { rekey } = node.keeper;
      const { nonce } = await rekey.start({ ...TWO, requireVerification: verify });
      await rekey.update({ key: shares[0] ?? "", nonce });
      await node.store.settled();
      let fresh: readonly string[];
      if (verify) {
        const result = await complete(rekey, nonce, shares.slice(1));
        fresh = result.keys.reveal();
        const share = { nonce: result.verificationNonce };
        await rekey.verify({ key: fresh[0] ?? "", ...share });
        node.engine.failNext = when;
        const last = rekey.verify({ key: fresh[1] ?? "", ...share });
        await assert.rejects(last, failure("unavailable", /^the storage failed/));
      } else {
        node.engine.failNext = when;
        const result = await complete(rekey, nonce, shares.slice(1));
        assert.equal(result.complete, false);
        assert.match(result.warnings.join(), /keep the old shares and these/);
        fresh = result.keys.reveal();
      }
      await node.keeper.seal(); // what the server does when its storage fails
      assert.equal(node.barrier.sealed, true);
      assert.equal(await unseals(node, shares), when === "before");
      assert.equal(await unseals(node, fresh), when === "after");
    });
  }
}

// --- PGP and backup ---

test("new shares come encrypted, and a backup of them is kept until deleted", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const [ann, bob] = [await makeOperator(), await makeOperator()];
  const pgpKeys = [ann.publicKey, bob.publicKey, ann.publicKey];
  const prints = [ann.fingerprint, bob.fingerprint, ann.fingerprint];
  assert.equal(rekey.backup(), null);
  const request = { secretShares: 3, secretThreshold: 2, pgpKeys, backup: true };
  const begun = await rekey.start(request);
  assert.deepEqual([begun.pgpFingerprints, begun.backup], [prints, true]);
  const result = await complete(rekey, begun.nonce, shares);
  assert.deepEqual([result.pgpFingerprints, result.backup], [prints, true]);
  const [a = "", b = "", c = ""] = result.keys.reveal();
  const inBase64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");
  assert.deepEqual(rekey.backup(), {
    nonce: begun.nonce,
    keys: { [ann.fingerprint]: [a, c], [bob.fingerprint]: [b] },
    keysBase64: {
      [ann.fingerprint]: [inBase64(a), inBase64(c)],
      [bob.fingerprint]: [inBase64(b)],
    },
  });
  const plain = [await ann.read(Buffer.from(c, "hex")), await bob.read(Buffer.from(b, "hex"))];
  assert.equal(await unseals(node, plain), true);

  const next = await crash(node);
  await give(next, plain);
  assert.equal(next.keeper.rekey.backup()?.nonce, begun.nonce);
  await next.keeper.rekey.deleteBackup();
  assert.equal(next.keeper.rekey.backup(), null);
  await next.keeper.rekey.deleteBackup();
});

test("with verification the backup is stored with the change, not before", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const ann = await makeOperator();
  const pgpKeys = [ann.publicKey, ann.publicKey];
  const { nonce } = await rekey.start({ ...TWO, pgpKeys, backup: true, requireVerification: true });
  const { keys, verificationNonce } = await complete(rekey, nonce, shares);
  for (const key of keys.reveal()) {
    assert.equal(rekey.backup(), null);
    const share = await ann.read(Buffer.from(key, "hex"));
    await rekey.verify({ key: share, nonce: verificationNonce });
  }
  assert.deepEqual(rekey.backup()?.keys, { [ann.fingerprint]: keys.reveal() });
});

test("a later rekey without backup removes the one before, whose shares are dead", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const ann = await makeOperator();
  const pgpKeys = [ann.publicKey];
  const one = { secretShares: 1, secretThreshold: 1 };
  const first = await rekey.start({ ...one, pgpKeys, backup: true });
  const made = await complete(rekey, first.nonce, shares);
  const share = await ann.read(Buffer.from(made.keys.reveal()[0] ?? "", "hex"));
  const second = await rekey.start(one);
  await complete(rekey, second.nonce, [share]);
  assert.equal(rekey.backup(), null);
});

test("a PGP key that has expired since the start changes nothing", async () => {
  const { node, shares } = await opened(TWO);
  const { rekey } = node.keeper;
  const ann = await makeOperator(1800);
  const { nonce } = await rekey.start({ ...TWO, pgpKeys: [ann.publicKey, ann.publicKey] });
  await rekey.update({ key: shares[0] ?? "", nonce });
  node.clock.ahead = 1801n * 1_000_000_000n;
  const last = rekey.update({ key: shares[1] ?? "", nonce });
  await assert.rejects(last, failure("invalid", /is expired/));
  assert.equal(rekey.progress().progress, 0);
  assert.equal(await unseals(node, shares), true);
});

// --- recovery shares ---

for (const recoveryUnseal of [true, false]) {
  test(`recovery shares are rekeyed under an auto seal (recovery_unseal ${recoveryUnseal})`, async () => {
    const staticKey = freshKey(random);
    const request = { recoveryShares: 2, recoveryThreshold: 2, recoveryUnseal };
    const { node, shares } = await initialised(request, { staticKey });
    const { rekeyRecovery } = node.keeper;
    const rootKey = exportKey(node.barrier.rootKey);
    const begun = await rekeyRecovery.start({ secretShares: 3, secretThreshold: 2 });
    assert.equal(begun.required, 2);
    const bad = [shares[0] ?? "", random.bytes(33).toString("hex")];
    await assert.rejects(complete(rekeyRecovery, begun.nonce, bad), INVALID);
    const fresh = (await complete(rekeyRecovery, begun.nonce, shares.slice(1))).keys.reveal();
    assert.equal(fresh.length, 3);
    assert.notDeepEqual(exportKey(node.barrier.rootKey), rootKey);
    const { t, n, recoveryCanUnseal } = node.keeper.status();
    assert.deepEqual([t, n, recoveryCanUnseal], [2, 3, recoveryUnseal]);

    const { generateRoot } = node.keeper;
    const root = await generateRoot.start();
    await generateRoot.update({ key: shares[0] ?? "", nonce: root.nonce });
    const old = generateRoot.update({ key: shares[1] ?? "", nonce: root.nonce });
    await assert.rejects(old, INVALID);
    const half = generateRoot.update({ key: fresh[0] ?? "", nonce: root.nonce });
    await assert.rejects(half, INVALID);
    const made = await generateRoot.update({ key: fresh[1] ?? "", nonce: root.nonce });
    assert.equal(made.complete, true);

    const next = await crash(node, { staticKey });
    await next.keeper.start();
    assert.equal(next.keeper.sealed, false, "the static key still unseals");
    if (!recoveryUnseal) return;
    assert.equal(await unseals(next, shares, "recovery"), false);
    assert.equal(await unseals(next, fresh.slice(1), "recovery"), true);
  });
}

test("a rekey of recovery shares interrupted by the storage leaves one set valid, and the static key", async () => {
  for (const when of ["before", "after"] as const) {
    const staticKey = freshKey(random);
    const request = { recoveryShares: 2, recoveryThreshold: 2 };
    const { node, shares } = await initialised(request, { staticKey });
    const { rekeyRecovery } = node.keeper;
    const { nonce } = await rekeyRecovery.start(TWO);
    await node.store.settled();
    node.engine.failNext = when;
    const fresh = (await complete(rekeyRecovery, nonce, shares)).keys.reveal();
    assert.equal(await unseals(node, shares, "recovery"), when === "before");
    assert.equal(await unseals(node, fresh, "recovery"), when === "after");
    const next = await crash(node, { staticKey });
    await next.keeper.start();
    assert.equal(next.keeper.sealed, false);
  }
});

test("a rekey of recovery shares needs the static key, and the right one", async () => {
  const staticKey = freshKey(random);
  const { node, shares } = await initialised({}, { staticKey });
  for (const [options, says] of [
    [{}, /none is configured$/],
    [{ staticKey: freshKey(random) }, /is not the one this server was initialised with$/],
  ] as const) {
    const next = await crash(node, options);
    await give(next, shares.slice(0, 3), "recovery");
    await assert.rejects(next.keeper.rekeyRecovery.start(), failure("unavailable", says));
    await next.keeper.seal();
  }
});

test("each family of shares has its own rekey", async () => {
  const shamir = await opened();
  const says = /no recovery shares; rekey its unseal key$/;
  await assert.rejects(shamir.node.keeper.rekeyRecovery.start(), failure("invalid", says));
  const auto = await initialised({}, { staticKey: freshKey(random) });
  const other = /no unseal shares; rekey its recovery key instead$/;
  await assert.rejects(auto.node.keeper.rekey.start(), failure("invalid", other));
  assert.throws(() => auto.node.keeper.rekey.progress(), failure("invalid", other));
});

test("on a sealed node every call says so", async () => {
  const { node, shares } = await opened();
  const { rekey } = node.keeper;
  const { nonce } = await rekey.start();
  await node.keeper.seal();
  const sealed = failure("sealed", "service is sealed");
  const share = { key: shares[0] ?? "", nonce };
  assert.throws(() => rekey.progress(), sealed);
  assert.throws(() => rekey.verification(), sealed);
  assert.throws(() => rekey.backup(), sealed);
  await assert.rejects(rekey.start(), sealed);
  await assert.rejects(rekey.update(share), sealed);
  await assert.rejects(rekey.verify(share), sealed);
  await assert.rejects(rekey.cancel({ authorised: true }), sealed);
  await assert.rejects(rekey.restartVerification({ authorised: true }), sealed);
  await assert.rejects(rekey.deleteBackup(), sealed);
});
