import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import { uncovered } from "../../../tests/support/covered-token.ts";
import {
  failure,
  give,
  initialised,
  makeOperator,
  opened,
  type TestNode,
} from "../../../tests/support/servers/sealed-node.ts";
import type { RootAttempt, RootGeneration } from "./root-generation.ts";

const random = new SystemRandom();
const OTP = "0123456789abcdefghijklmnopqrstuvwxyz";
const INVALID = failure("invalid", "invalid key");

async function feed(
  generation: RootGeneration,
  nonce: string,
  shares: readonly string[],
): Promise<RootAttempt> {
  for (const key of shares) await generation.update({ key, nonce });
  return generation.progress();
}

/** Gives the threshold of shares and answers with the last answer. */
async function finish(
  generation: RootGeneration,
  nonce: string,
  shares: readonly string[],
): Promise<RootAttempt> {
  await feed(generation, nonce, shares.slice(0, 2));
  return generation.update({ key: shares[2] ?? "", nonce });
}

test("with nothing given, the server makes a pad, shows it once, and the token comes under it", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const none = {
    started: false,
    nonce: "",
    progress: 0,
    required: 3,
    complete: false,
    encodedToken: "",
    pgpFingerprint: "",
    otp: null,
    otpLength: 36,
  };
  assert.deepEqual(generateRoot.progress(), none);
  const begun = await generateRoot.start();
  const otp = begun.otp?.reveal() ?? "";
  assert.match(otp, /^[0-9A-Za-z]{36}$/);
  const running = { ...none, started: true, nonce: begun.nonce };
  const { otp: printed, cancelNonce } = begun;
  assert.deepEqual(begun, { ...running, otp: printed, cancelNonce });
  assert.match(begun.nonce, /^[0-9a-f-]{36}$/);
  assert.deepEqual(generateRoot.progress(), running);

  const first = await generateRoot.update({ key: shares[0] ?? "", nonce: begun.nonce });
  assert.deepEqual(first, { ...running, progress: 1 });
  assert.equal(node.tokens.count, 1);
  await generateRoot.update({ key: shares[1] ?? "", nonce: begun.nonce });
  const done = await generateRoot.update({ key: shares[4] ?? "", nonce: begun.nonce });
  const { encodedToken } = done;
  assert.deepEqual(done, { ...running, progress: 3, complete: true, encodedToken });
  assert.match(encodedToken, /^[A-Za-z0-9+/]{48}$/);
  const token = uncovered(encodedToken, otp);
  assert.equal(node.tokens.nameOf(token), "generated root");
  assert.deepEqual(generateRoot.progress(), none);
});

test("with a pad of the caller's, no answer ever contains it", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const begun = await generateRoot.start({ otp: OTP });
  assert.equal(begun.otp, null);
  const { encodedToken } = await finish(generateRoot, begun.nonce, shares);
  assert.equal(node.tokens.nameOf(uncovered(encodedToken, OTP)), "generated root");
});

test("with a PGP key, the token comes encrypted to it", async () => {
  const { node, shares } = await opened();
  const ann = await makeOperator();
  const { generateRoot } = node.keeper;
  const begun = await generateRoot.start({ pgpKey: ann.publicKey, otp: "" });
  assert.equal(begun.pgpFingerprint, ann.fingerprint);
  assert.equal(begun.otp, null);
  assert.equal(generateRoot.progress().pgpFingerprint, ann.fingerprint);
  const { encodedToken } = await finish(generateRoot, begun.nonce, shares);
  const token = await ann.read(Buffer.from(encodedToken, "base64"));
  assert.equal(node.tokens.nameOf(token), "generated root");
});

const refused: readonly [name: string, options: object, says: RegExp][] = [
  ["a pad that is too short", { otp: OTP.slice(1) }, /^otp must have 36 bytes/],
  ["a pad that is too long", { otp: `${OTP}0` }, /^otp must have 36 bytes/],
  ["a pad of 36 characters and more bytes", { otp: `é${OTP.slice(1)}` }, /^otp must have 36 bytes/],
  ["a pad and a key", { otp: OTP, pgpKey: "x" }, /^give otp or pgp_key, not both$/],
  ["a key that is none", { pgpKey: "x" }, /^the PGP key /],
];
for (const [name, options, says] of refused) {
  test(`a start with ${name} is refused, and none runs`, async () => {
    const { node } = await opened();
    const { generateRoot } = node.keeper;
    await assert.rejects(generateRoot.start(options), failure("invalid", says));
    assert.equal(generateRoot.progress().started, false);
  });
}

test("a start while one runs is refused, and that one goes on", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start({ otp: OTP });
  await generateRoot.update({ key: shares[0] ?? "", nonce });
  const again = generateRoot.start();
  await assert.rejects(again, failure("invalid", /^an attempt is running already/));
  assert.equal(generateRoot.progress().progress, 1);
});

test("of two starts at once one succeeds", async () => {
  const { node } = await opened();
  const starts = [node.keeper.generateRoot.start(), node.keeper.generateRoot.start()];
  const results = await Promise.allSettled(starts);
  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
});

test("a repeated share is refused and the progress stays", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start();
  const [key = ""] = shares;
  await generateRoot.update({ key, nonce });
  await assert.rejects(
    generateRoot.update({ key, nonce }),
    failure("invalid", "this share was given already; give another one"),
  );
  assert.equal(generateRoot.progress().progress, 1);
});

test("T-F03: shares with the nonce of a cancelled attempt do not count for the next", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const ann = await generateRoot.start({ otp: OTP });
  await generateRoot.update({ key: shares[0] ?? "", nonce: ann.nonce });
  await generateRoot.cancel({ nonce: ann.nonce, authorised: true });
  const mallory = await makeOperator();
  const theirs = await generateRoot.start({ pgpKey: mallory.publicKey });
  for (const nonce of [ann.nonce, ""]) {
    await assert.rejects(generateRoot.update({ key: shares[1] ?? "", nonce }), (error: Error) => {
      assert.ok(!error.message.includes(theirs.nonce) && !error.message.includes(ann.nonce));
      return failure("invalid", /^nonce must be the one/)(error);
    });
  }
  const now = generateRoot.progress();
  assert.equal(now.progress, 0);
  assert.equal(now.pgpFingerprint, mallory.fingerprint); // what a holder can see before sending
});

const wrong: readonly [name: string, make: (share: string) => string | Promise<string>][] = [
  ["random bytes", () => random.bytes(33).toString("hex")],
  ["a share of 32 bytes", (share) => share.slice(2)],
  ["a share of another cluster", async () => (await initialised()).shares[1] ?? ""],
];
for (const [name, make] of wrong) {
  test(`T-F05: ${name} among the shares: refused at the threshold, and undoes nothing`, async () => {
    const { node, shares } = await opened();
    const { generateRoot } = node.keeper;
    const { nonce } = await generateRoot.start({ otp: OTP });
    const bad = await make(shares[2] ?? "");
    await feed(generateRoot, nonce, [bad, shares[0] ?? ""]);
    await assert.rejects(generateRoot.update({ key: shares[1] ?? "", nonce }), INVALID);
    const now = generateRoot.progress();
    assert.deepEqual([now.started, now.nonce, now.progress], [true, nonce, 2]);
    assert.equal(node.tokens.count, 1);
    const { complete } = await generateRoot.update({ key: shares[3] ?? "", nonce });
    assert.equal(complete, true, "a right share beside the wrong one is enough");
  });
}

test("three sets of wrong shares end the attempt", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start({ otp: OTP });
  await feed(generateRoot, nonce, shares.slice(0, 2));
  for (let i = 0; i < 7; i++) {
    assert.equal(generateRoot.progress().started, true);
    const key = random.bytes(33).toString("hex");
    await assert.rejects(generateRoot.update({ key, nonce }), INVALID);
  }
  assert.equal(generateRoot.progress().started, false);
});

test("T-F02: an attempt that nobody gives a share to is over after ten minutes", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  await generateRoot.start({ otp: OTP });
  node.clock.ahead += 599n * 1_000_000_000n;
  await assert.rejects(generateRoot.start(), failure("invalid", /^an attempt is running already/));
  node.clock.ahead += 2n * 1_000_000_000n;
  const { nonce } = await generateRoot.start({ otp: OTP });
  await generateRoot.update({ key: shares[0] ?? "", nonce });
  node.clock.ahead += 3590n * 1_000_000_000n;
  assert.equal(
    generateRoot.progress().progress,
    1,
    "with a share in it an attempt stays, for an hour",
  );
  node.clock.ahead += 11n * 1_000_000_000n;
  assert.equal(generateRoot.progress().progress, 0);
});

test("an unreadable share is refused and the progress stays", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start();
  await feed(generateRoot, nonce, shares.slice(0, 2));
  for (const key of ["", "zz", "a".repeat(1 << 20)]) {
    await assert.rejects(
      generateRoot.update({ key, nonce }),
      failure("invalid", /^key must be a share/),
    );
  }
  assert.equal(generateRoot.progress().progress, 2);
});

test("a share while none runs is refused", async () => {
  const { node, shares } = await opened();
  const update = node.keeper.generateRoot.update({ key: shares[0] ?? "", nonce: "" });
  await assert.rejects(update, failure("invalid", /^no attempt is running/));
});

test("T-F01: only the cancel nonce or authority cancels, and nothing happens when none runs", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  await generateRoot.cancel({ authorised: false });
  const { nonce, cancelNonce } = await generateRoot.start();
  assert.equal(generateRoot.progress().cancelNonce, undefined, "told once");
  await generateRoot.update({ key: shares[0] ?? "", nonce });
  await assert.rejects(generateRoot.cancel({ authorised: false }), failure("denied", /sudo/));
  const seen = generateRoot.cancel({ nonce, authorised: false });
  await assert.rejects(seen, failure("denied", /sudo/), "everybody sees that nonce");
  for (const authorised of [true, false]) {
    await assert.rejects(
      generateRoot.cancel({ nonce: random.uuid(), authorised }),
      failure("invalid", /^nonce must be/),
    );
  }
  assert.equal(generateRoot.progress().progress, 1);
  await generateRoot.cancel({ cancelNonce: cancelNonce?.reveal(), authorised: false });
  assert.equal(generateRoot.progress().started, false);
  await generateRoot.start();
  await generateRoot.cancel({ authorised: true });
  assert.equal(generateRoot.progress().started, false);
});

test("on a sealed node every call says so", async () => {
  const { node, shares } = await opened();
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start();
  await node.keeper.seal();
  const sealed = failure("sealed", "service is sealed");
  assert.throws(() => generateRoot.progress(), sealed);
  await assert.rejects(generateRoot.start(), sealed);
  await assert.rejects(generateRoot.update({ key: shares[0] ?? "", nonce }), sealed);
  await assert.rejects(generateRoot.cancel({ nonce, authorised: true }), sealed);
});

test("a PGP key that has expired since the start makes no token", async () => {
  const { node, shares } = await opened();
  const ann = await makeOperator(1800);
  const { generateRoot } = node.keeper;
  const { nonce } = await generateRoot.start({ pgpKey: ann.publicKey });
  await feed(generateRoot, nonce, shares.slice(0, 2));
  node.clock.ahead = 1801n * 1_000_000_000n;
  const update = generateRoot.update({ key: shares[2] ?? "", nonce });
  await assert.rejects(update, failure("invalid", /is expired/));
  assert.equal(node.tokens.count, 1);
  assert.equal(generateRoot.progress().progress, 0);
});

test("a token room that fails leaves no token, and the attempt waits for shares again", async () => {
  const { node, shares } = await opened();
  const failing = node.keeper.generationOf({
    length: 36,
    mint: (tx) => {
      node.tokens.mintGenerated(tx);
      throw new Error("no");
    },
  });
  const { nonce } = await failing.start();
  await assert.rejects(finish(failing, nonce, shares), /^Error: no$/);
  assert.equal(node.tokens.count, 1);
  const now = failing.progress();
  assert.deepEqual([now.started, now.progress], [true, 0]);
});

test("another token of another length is made by the same ceremony, in the one place there is", async () => {
  const { node, shares } = await opened();
  const codec = jsonCodec<string>();
  const minting = {
    length: 12,
    mint: (tx: Parameters<TestNode["tokens"]["mintGenerated"]>[0]) => {
      tx.put("operation-token", "yes", codec);
      return "operation-12";
    },
  };
  const operation = node.keeper.generationOf(minting);
  const first = await node.keeper.generateRoot.start();
  const running = failure("invalid", /an attempt is running already/);
  await assert.rejects(operation.start(), running);
  const other = failure("invalid", /makes another kind of token/);
  const share = { key: shares[0] ?? "", nonce: first.nonce };
  await assert.rejects(operation.update(share), other);
  assert.equal(operation.progress().started, false);
  await node.keeper.generateRoot.cancel({ authorised: true });
  const { nonce, otpLength, otp } = await operation.start();
  await assert.rejects(node.keeper.generateRoot.start(), running);
  assert.equal(otpLength, 12);
  const { encodedToken } = await finish(operation, nonce, shares);
  assert.equal(uncovered(encodedToken, otp?.reveal() ?? ""), "operation-12");
  assert.equal(node.barrier.view("core/").get("operation-token", codec), "yes");
  await node.keeper.generateRoot.start();
  assert.equal(node.keeper.generateRoot.progress().started, true);
});

for (const recoveryUnseal of [true, false]) {
  test(`with an auto seal recovery shares make the token (recovery_unseal ${recoveryUnseal})`, async () => {
    const staticKey = freshKey(random);
    const { node, shares } = await initialised({ recoveryUnseal }, { staticKey });
    const { generateRoot } = node.keeper;
    const { nonce, required } = await generateRoot.start({ otp: OTP });
    assert.equal(required, 3);
    const other = await initialised({}, { staticKey });
    const mixed = [shares[0] ?? "", shares[1] ?? "", other.shares[0] ?? ""];
    await assert.rejects(finish(generateRoot, nonce, mixed), INVALID);
    const key = shares[2] ?? "";
    const { encodedToken } = await generateRoot.update({ key, nonce });
    assert.equal(node.tokens.nameOf(uncovered(encodedToken, OTP)), "generated root");
  });
}

test("old shares with old rows put back on the disk make no token after a rekey", async () => {
  const { node, shares } = await opened({ secretShares: 2, secretThreshold: 2 });
  const rows = ["core/root-key", "core/seal-config"];
  const old = rows.map((key) => node.store.get(key) ?? new Uint8Array(0));
  const { nonce } = await node.keeper.rekey.start();
  for (const key of shares) await node.keeper.rekey.update({ key, nonce });
  await node.store.write((tx) =>
    rows.forEach((key, i) => tx.put(key, old[i] ?? new Uint8Array(0))),
  );
  const { generateRoot } = node.keeper;
  const begun = await generateRoot.start();
  assert.equal(begun.required, 2);
  await generateRoot.update({ key: shares[0] ?? "", nonce: begun.nonce });
  await assert.rejects(generateRoot.update({ key: shares[1] ?? "", nonce: begun.nonce }), INVALID);
  assert.equal(node.tokens.count, 1);
});

test("sealing and unsealing with the shares does not disturb later ceremonies", async () => {
  const { node, shares } = await opened();
  await node.keeper.seal();
  await give(node, shares.slice(1, 4));
  const { nonce } = await node.keeper.generateRoot.start();
  assert.equal((await finish(node.keeper.generateRoot, nonce, shares)).complete, true);
});
