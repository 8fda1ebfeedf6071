import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure, OwnError } from "@holdfast/shared/failure";
import { SystemRandom } from "../system/random.ts";
import { SystemTimers } from "../system/timers.ts";
import type { Timer, Timers } from "@holdfast/shared/world";
import { freshKey } from "../crypto/aead.ts";
import { keepsNobodyWaiting } from "../../tests/support/processor-time.ts";
import {
  crash,
  failure,
  give,
  initialised,
  makeNode,
  opened,
  type TestNode,
  unseals,
} from "../../tests/support/servers/sealed-node.ts";

const random = new SystemRandom();
const staticKey = freshKey(random);
const codec = jsonCodec<string>();
const SECOND = 1_000_000_000n;
const INVALID = failure("invalid", "invalid key");

// --- status ---

test("before init the status shows the configured seal and no shares", () => {
  const base = {
    initialized: false,
    sealed: true,
    t: 0,
    n: 0,
    progress: 0,
    nonce: "",
    version: "1.2.3",
    buildDate: "2026-11-15",
    migration: false,
    recoveryCanUnseal: false,
    storageType: "memory",
    warnings: [],
  };
  assert.deepEqual(makeNode().keeper.status(), { ...base, type: "shamir", recoverySeal: false });
  const auto = makeNode({ staticKey }).keeper.status();
  assert.deepEqual(auto, { ...base, type: "static", recoverySeal: true });
});

test("the status follows the unsealing, and names the cluster only while unsealed", async () => {
  const { node, shares } = await initialised({ secretShares: 4, secretThreshold: 2 });
  const { keeper } = node;
  const sealed = keeper.status();
  assert.equal(`${sealed.t} of ${sealed.n}`, "2 of 4");
  assert.deepEqual([sealed.initialized, sealed.sealed, sealed.progress], [true, true, 0]);
  assert.ok(!("clusterName" in sealed) && !("clusterId" in sealed));
  const half = await keeper.unseal({ key: shares[0] });
  assert.deepEqual([half.sealed, half.progress], [true, 1]);
  assert.match(half.nonce, /^[0-9a-f-]{36}$/);
  const open = await keeper.unseal({ key: shares[1] });
  assert.deepEqual([open.sealed, open.progress, open.nonce], [false, 0, ""]);
  assert.match(open.clusterName ?? "", /^holdfast-[0-9a-f]{8}$/);
  assert.match(open.clusterId ?? "", /^[0-9a-f-]{36}$/);
  await keeper.seal();
  assert.deepEqual(keeper.status(), sealed);
});

// --- unsealing with shares ---

test("two shares of three: sealed; the same again: still two; the third: unsealed", async () => {
  const { node, shares } = await initialised();
  const [a, b, , c] = shares;
  const first = await node.keeper.unseal({ key: a });
  const second = await node.keeper.unseal({ key: b });
  assert.deepEqual([first.progress, second.progress], [1, 2]);
  assert.equal(second.nonce, first.nonce);
  for (const key of [a, b, Buffer.from(b ?? "", "hex").toString("base64")]) {
    assert.deepEqual(await node.keeper.unseal({ key }), second);
  }
  assert.deepEqual(node.calls, ["created"]);
  assert.equal((await node.keeper.unseal({ key: c })).sealed, false);
  assert.deepEqual(node.calls, ["created", "opened"]);
});

const wrong: readonly [name: string, make: (share: string) => string | Promise<string>][] = [
  ["a share with one bit flipped", (share) => flip(share, 0)],
  ["a share with another x", (share) => flip(share, 32)],
  ["a share of 32 bytes", (share) => share.slice(0, 64)],
  ["random bytes", () => random.bytes(33).toString("hex")],
  ["a share with x zero", (share) => `${share.slice(0, 64)}00`],
  ["a share of another cluster", async () => (await initialised()).shares[2] ?? ""],
];
for (const [name, make] of wrong) {
  test(`T-F05: ${name} counts until the threshold, is refused with the others, and undoes nothing`, async () => {
    const { node, shares } = await initialised();
    const bad = await make(shares[2] ?? "");
    for (const order of [
      [shares[0], shares[1], bad],
      [bad, shares[0], shares[1]],
    ]) {
      const [first, second, third] = order;
      const begun = await node.keeper.unseal({ key: first });
      assert.equal((await node.keeper.unseal({ key: second })).progress, 2);
      await assert.rejects(node.keeper.unseal({ key: third }), INVALID);
      const { sealed, progress, nonce } = node.keeper.status();
      assert.deepEqual([sealed, progress, nonce], [true, 2, begun.nonce]);
      await node.keeper.unseal({ key: shares[3] });
      assert.equal(node.keeper.sealed, false, "a right share beside the wrong one is enough");
      await node.keeper.seal();
    }
  });
}

test("as many shares as three sets have, and none that opens: the attempt at unsealing ends", async () => {
  const { node, shares } = await initialised();
  const junk = () => random.bytes(33).toString("hex");
  await give(node, shares.slice(0, 2));
  const { nonce } = node.keeper.status();
  for (let i = 0; i < 6; i++) {
    await assert.rejects(node.keeper.unseal({ key: junk() }), kept(true));
    assert.deepEqual([node.keeper.status().progress, node.keeper.status().nonce], [2, nonce]);
  }
  await assert.rejects(node.keeper.unseal({ key: junk() }), kept(false));
  assert.deepEqual([node.keeper.status().progress, node.keeper.status().nonce], [0, ""]);
  await give(node, shares.slice(0, 3));
  assert.equal(node.keeper.sealed, false);
});

/** What is said beside "invalid key" tells whether the shares are still there. */
function kept(still: boolean) {
  return (error: Failure) => {
    assert.match(error.texts[1] ?? "", still ? /they are kept/ : /are dropped/);
    return INVALID(error);
  };
}

test("the costliest try holds up nobody for long", async () => {
  const junk = () => random.bytes(33).toString("hex");
  const filled = async () => {
    const { node, shares } = await initialised(
      { secretShares: 9, secretThreshold: 8 },
      { timers: new SystemTimers() },
    );
    await give(node, shares.slice(0, 7));
    for (let i = 0; i < 8; i++) await assert.rejects(node.keeper.unseal({ key: junk() }), INVALID);
    return { node, last: shares[8] };
  };
  const unsealing = async ({ node, last }: Awaited<ReturnType<typeof filled>>) => {
    await node.keeper.unseal({ key: last });
    assert.equal(node.keeper.sealed, false, "seven, eight of junk, and the right one");
  };
  await keepsNobodyWaiting("the last share", unsealing, filled);
});

test("two shares with one x are refused as invalid at the threshold", async () => {
  const { node, shares } = await initialised({ secretShares: 2, secretThreshold: 2 });
  const [share = ""] = shares;
  await node.keeper.unseal({ key: share });
  await assert.rejects(node.keeper.unseal({ key: flip(share, 3) }), INVALID);
});

test("every attempt has a nonce of its own", async () => {
  const { node, shares } = await initialised();
  const nonces = new Set<string>();
  for (let i = 0; i < 3; i++) {
    nonces.add((await node.keeper.unseal({ key: shares[i] })).nonce);
    await node.keeper.unseal({ reset: true, local: true });
  }
  assert.equal(nonces.size, 3);
});

test("reset drops the progress of a sealed node and takes no share", async () => {
  const { node, shares } = await initialised();
  await give(node, shares.slice(0, 2));
  const { progress, nonce } = await node.keeper.unseal({
    reset: true,
    local: true,
    key: shares[2],
  });
  assert.deepEqual([progress, nonce], [0, ""]);
  await give(node, shares.slice(2, 4));
  assert.equal(node.keeper.sealed, true);
});

test("nobody resets the progress from afar: no token can be asked for while the node is sealed", async () => {
  const { node, shares } = await initialised();
  await give(node, shares.slice(0, 2));
  const afar = node.keeper.unseal({ reset: true });
  await assert.rejects(afar, failure("denied", /own machine only/));
  assert.equal(node.keeper.status().progress, 2);
});

test("an unsealed node answers with its status and refuses a reset", async () => {
  const { node } = await opened();
  assert.deepEqual(await node.keeper.unseal({ key: "nonsense" }), node.keeper.status());
  await assert.rejects(
    node.keeper.unseal({ reset: true }),
    failure("invalid", /^reset drops the progress of unsealing/),
  );
});

const refusals: readonly [name: string, request: object, says: RegExp][] = [
  ["no key", {}, /^key is missing/],
  ["an empty key", { key: "" }, /^key is missing/],
  ["a key that is no share", { key: "zz" }, /^key must be a share of 32 or 33 bytes/],
  ["a key of 1 MiB", { key: "a".repeat(1 << 20) }, /^key must be a share of 32 or 33 bytes/],
  ["a migration", { key: "ab".repeat(33), migrate: true }, /^migrate is not supported/],
  ["another seal", { key: "ab".repeat(33), seal: "hsm" }, /^seal must be empty or "recovery"$/],
  ["recovery shares", { key: "ab".repeat(33), seal: "recovery" }, /no recovery shares/],
];
for (const [name, request, says] of refusals) {
  test(`unsealing with ${name} is refused and changes nothing`, async () => {
    const { node, shares } = await initialised();
    const before = await node.keeper.unseal({ key: shares[0] });
    await assert.rejects(node.keeper.unseal(request), failure("invalid", says));
    assert.deepEqual(node.keeper.status(), before);
  });
}

test("before init there is nothing to unseal", async () => {
  const node = makeNode();
  const says = failure("invalid", "service is not initialized");
  await assert.rejects(node.keeper.unseal({ key: "ab".repeat(33) }), says);
  await assert.rejects(node.keeper.generateRoot.start(), says);
  await assert.rejects(node.keeper.rekey.start(), says);
  await node.keeper.start();
  await node.keeper.seal();
  assert.deepEqual(node.calls, []);
});

test("one share of one is the key itself, 32 bytes", async () => {
  const { node, shares } = await initialised({ secretShares: 1, secretThreshold: 1 });
  assert.match(shares[0] ?? "", /^[0-9a-f]{64}$/);
  await assert.rejects(node.keeper.unseal({ key: `${shares[0]}01` }), INVALID);
  assert.equal((await node.keeper.unseal({ key: shares[0] })).sealed, false);
});

test("255 shares of 255 unseal", async () => {
  const { node, shares } = await initialised({ secretShares: 255, secretThreshold: 255 });
  await give(node, shares.slice(0, 254));
  assert.deepEqual([node.keeper.sealed, node.keeper.status().progress], [true, 254]);
  await give(node, shares.slice(254));
  assert.equal(node.keeper.sealed, false);
});

test("a subset of shares unseals if and only if it has at least the threshold", async () => {
  const schemes = fc.integer({ min: 1, max: 7 }).chain((n) =>
    fc.record({
      n: fc.constant(n),
      t: n === 1 ? fc.constant(1) : fc.integer({ min: 2, max: n }),
      subset: fc.shuffledSubarray(Array.from({ length: n }, (_, i) => i)),
    }),
  );
  await fc.assert(
    fc.asyncProperty(schemes, async ({ n, t, subset }) => {
      const { node, shares } = await initialised({ secretShares: n, secretThreshold: t });
      await give(
        node,
        subset.map((i) => shares[i] ?? ""),
      );
      assert.equal(node.keeper.sealed, subset.length < t);
      assert.equal(node.keeper.status().progress, subset.length < t ? subset.length : 0);
    }),
    { numRuns: 60 },
  );
});

test("shares given at once are taken one after the other", async () => {
  const { node, shares } = await initialised();
  const answers = await Promise.all(shares.map((key) => node.keeper.unseal({ key })));
  assert.deepEqual(
    answers.map(({ sealed }) => sealed),
    [true, true, false, false, false],
  );
  assert.deepEqual(node.calls, ["created", "opened"]);
});

// --- opening and closing ---

test("a hook that fails seals the node again, and the caller hears why", async () => {
  const { node, shares } = await initialised(
    {},
    { hooks: { opened: () => Promise.reject(new Error("no audit device opened")) } },
  );
  await give(node, shares.slice(0, 2));
  await assert.rejects(node.keeper.unseal({ key: shares[2] }), /no audit device opened/);
  assert.equal(node.keeper.sealed, true);
  assert.equal(node.barrier.sealed, true);
  assert.deepEqual(node.calls, ["created", "opened"]); // not closing: it never was open
});

test("right shares are kept while the house does not open, and tried again without their holders", async () => {
  let broken = true;
  const cause = new Failure("unavailable", "files", "audit/: /var/log/x: no such directory");
  const refusal = new Failure("unavailable", "no-device", "no device opens", { cause });
  const opened = () => (broken ? Promise.reject(refusal) : Promise.resolve());
  const { node, shares } = await initialised({}, { hooks: { opened } });
  await give(node, shares.slice(0, 2));
  const texts = async (local: boolean, key?: string) => {
    node.clock.ahead += 2n * SECOND;
    const error = await node.keeper.unseal({ key, local }).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof Failure && error.kind === "unavailable", String(error));
    return error.texts.join("\n");
  };
  const afar = await texts(false, shares[2]);
  assert.match(afar, /^no device opens\nthe shares were right and are kept for 1 h/);
  assert.ok(!afar.includes("/var/log"), "places of this machine are for callers on it");
  assert.match(await texts(true), /no such directory/);
  assert.deepEqual([node.keeper.status().progress, node.barrier.sealed], [3, true]);
  await assert.rejects(node.keeper.unseal({}), failure("rate-limited", /in a second/));
  broken = false;
  node.clock.ahead += 2n * SECOND;
  assert.equal((await node.keeper.unseal({})).sealed, false);
  assert.equal(node.keeper.status().progress, 0);
});

test("shares that wait for the house to open are dropped after an hour, and by a reset", async () => {
  const opened = () => Promise.reject(new Failure("unavailable", "no-device", "no device opens"));
  const timers = new HeldTimers();
  const { node, shares } = await initialised({}, { hooks: { opened }, timers });
  const wait = async () => {
    await give(node, shares.slice(0, 2));
    await assert.rejects(node.keeper.unseal({ key: shares[2] }));
    assert.equal(node.keeper.status().progress, 3);
  };
  await wait();
  const [timer] = timers.started;
  assert.equal(timer?.delay, 3600n * SECOND);
  timer?.call();
  await node.keeper.dropAttempts(); // after everything that was under way
  assert.equal(node.keeper.status().progress, 0);
  await wait();
  assert.equal((await node.keeper.unseal({ reset: true, local: true })).progress, 0);
  await assert.rejects(node.keeper.unseal({}), failure("invalid", /^key is missing/));
});

test("an auto seal that could not open is tried again by a request without a key", async () => {
  let broken = true;
  const opened = () =>
    broken
      ? Promise.reject(new Failure("unavailable", "no-device", "no device opens"))
      : Promise.resolve();
  const { node } = await initialised({}, { hooks: { opened }, staticKey: freshKey(random) });
  assert.equal(node.keeper.sealed, true);
  broken = false;
  node.clock.ahead += 2n * SECOND;
  assert.equal((await node.keeper.unseal({})).sealed, false);
});

/** Timers that fire when the test says so. */
class HeldTimers implements Timers {
  readonly started: { readonly delay: bigint; readonly call: () => void }[] = [];

  after(delay: bigint, call: () => void): Timer {
    this.started.push({ delay, call });
    return { cancel: () => {} };
  }

  turn(): Promise<void> {
    return Promise.resolve();
  }
}

test("a node counts as sealed until its hook is done", async () => {
  const seen: boolean[] = [];
  const hooks = {
    opened: async () => void seen.push(node.keeper.sealed, node.barrier.sealed),
    closing: async () => void seen.push(node.keeper.sealed, node.barrier.sealed),
  };
  const { node, shares } = await initialised({}, { hooks });
  await give(node, shares.slice(0, 3));
  await node.keeper.seal();
  assert.deepEqual(seen, [true, false, true, false]);
});

test("sealing calls the hook, drops the keys, and shares are asked for again", async () => {
  const { node, shares } = await opened();
  const view = node.barrier.view("shared/");
  await view.write((tx) => tx.put("kept", "value", codec));
  await node.keeper.seal();
  assert.deepEqual(node.calls, ["created", "opened", "closing"]);
  assert.equal(node.barrier.sealed, true);
  assert.throws(() => view.get("kept", codec), failure("sealed", "service is sealed"));
  await node.keeper.seal();
  assert.equal(node.calls.length, 3);
  await give(node, shares.slice(2));
  assert.equal(view.get("kept", codec), "value");
});

test("a hook that fails to close does not keep the keys", async () => {
  const hooks = { closing: () => Promise.reject(new OwnError("a stuck mount")) };
  const { node } = await opened({}, { hooks });
  await node.keeper.seal();
  assert.equal(node.barrier.sealed, true);
  assert.match(node.lines.join(""), /could not stop in good order: cause="a stuck mount"/);
});

test("sealing drops every attempt", async () => {
  const { node, shares } = await opened();
  const { keeper } = node;
  const { nonce } = await keeper.generateRoot.start();
  await keeper.generateRoot.update({ key: shares[0] ?? "", nonce });
  await keeper.rekey.start();
  await keeper.seal();
  await keeper.unseal({ key: shares[0] });
  await keeper.seal(); // a sealed node forgets the shares it was given
  assert.equal(keeper.status().progress, 0);
  await give(node, shares.slice(0, 3));
  assert.equal(keeper.generateRoot.progress().started, false);
  assert.equal(keeper.rekey.progress().started, false);
});

test("a node that is no longer active drops its attempts and stays unsealed", async () => {
  const { node } = await opened();
  await node.keeper.generateRoot.start();
  await node.keeper.rekey.start();
  await node.keeper.dropAttempts();
  assert.equal(node.keeper.generateRoot.progress().started, false);
  assert.equal(node.keeper.rekey.progress().started, false);
  assert.equal(node.keeper.sealed, false);
});

test("a keyring that the root key does not open is damage, not a wrong share", async () => {
  const one = await initialised();
  const other = await initialised();
  const value = other.node.store.get("core/keyring");
  await one.node.store.write((tx) => tx.put("core/keyring", value ?? new Uint8Array(0)));
  await give(one.node, one.shares.slice(0, 2));
  await assert.rejects(
    one.node.keeper.unseal({ key: one.shares[2] }),
    failure("damaged", /^the stored root key does not open the stored keyring/),
  );
});

test("rows that are gone or make no sense are damage", async () => {
  const { node, shares } = await initialised();
  await node.store.write((tx) => tx.delete("core/root-key"));
  await give(node, shares.slice(0, 2));
  await assert.rejects(
    node.keeper.unseal({ key: shares[2] }),
    failure("damaged", /^the stored row core\/root-key is missing/),
  );
  assert.equal(node.keeper.status().progress, 0);
  await node.store.write((tx) => tx.put("core/seal-config", Buffer.from("{}")));
  assert.throws(() => node.keeper.status(), failure("damaged", /seal configuration is damaged/));
  await node.store.write((tx) => tx.delete("core/seal-config"));
  assert.throws(() => node.keeper.status(), failure("damaged", /core\/seal-config is missing/));
});

// --- static seal ---

test("a static seal unseals at the start", async () => {
  const { node } = await initialised({}, { staticKey });
  const next = await crash(node, { staticKey });
  assert.equal(next.keeper.sealed, true);
  await next.keeper.start();
  assert.equal(next.keeper.sealed, false);
  assert.deepEqual(next.calls, ["opened"]);
  const { type, recoverySeal, recoveryCanUnseal, t, n } = next.keeper.status();
  assert.deepEqual([type, recoverySeal, recoveryCanUnseal, t, n], ["static", true, true, 3, 5]);
  await next.keeper.start();
  assert.deepEqual(next.calls, ["opened"]);
});

const missing: readonly [name: string, options: { staticKey?: typeof staticKey }, says: RegExp][] =
  [
    ["without its key", {}, /initialised with the static seal, and none is configured/],
    ["with another key", { staticKey: freshKey(random) }, /key of the static seal is not the one/],
  ];
for (const [name, options, says] of missing) {
  test(`a static seal ${name} stays sealed, logs why, and recovery shares unseal`, async () => {
    const { node, shares } = await initialised({}, { staticKey });
    const next = await crash(node, options);
    await next.keeper.start();
    assert.equal(next.keeper.sealed, true);
    assert.match(next.lines.join(""), says);
    assert.equal(next.keeper.status().warnings.length, 1);
    const key = shares[0];
    await assert.rejects(next.keeper.unseal({ key }), failure("invalid", /no unseal shares/));
    await give(next, shares.slice(0, 3), "recovery");
    assert.equal(next.keeper.sealed, false);
    assert.equal(next.tokens.count, 1);
    assert.deepEqual(next.keeper.status().warnings, []);
  });
}

test("recovery shares that are wrong do not unseal", async () => {
  const { node } = await initialised({}, { staticKey });
  const other = await initialised({}, { staticKey });
  assert.equal(await unseals(node, other.shares.slice(0, 3), "recovery"), false);
});

test("without recovery_unseal recovery shares are refused", async () => {
  const { node, shares } = await initialised({ recoveryUnseal: false }, { staticKey });
  const next = await crash(node);
  assert.equal(next.keeper.status().recoveryCanUnseal, false);
  await assert.rejects(
    next.keeper.unseal({ key: shares[0], seal: "recovery" }),
    failure("invalid", /^recovery shares cannot unseal this server/),
  );
  assert.equal(next.keeper.status().progress, 0);
});

test("recovery switched on in the plaintext row alone opens nothing", async () => {
  const { node, shares } = await initialised({ recoveryUnseal: false }, { staticKey });
  const next = await crash(node);
  const row = Buffer.from(next.store.get("core/seal-config") ?? []).toString();
  const forged = row.replace('"can_unseal":false', '"can_unseal":true');
  assert.notEqual(forged, row);
  await next.store.write((tx) => tx.put("core/seal-config", Buffer.from(forged)));
  await give(next, shares.slice(0, 2), "recovery");
  await assert.rejects(
    next.keeper.unseal({ key: shares[2], seal: "recovery" }),
    failure("damaged", /core\/recovery-root-key is missing/),
  );
});

test("a node initialised with shares has no use for an auto seal, and says so", async () => {
  const { node, shares } = await initialised();
  const next = await crash(node, { staticKey });
  await next.keeper.start();
  assert.equal(next.keeper.sealed, true);
  assert.equal(next.keeper.status().type, "shamir");
  assert.match(next.lines.join(""), /the auto seal has no use here/);
  await give(next, shares.slice(0, 3));
  assert.equal(next.keeper.sealed, false);
});

// --- rotation ---

test("rotation passes to the barrier, while unsealed only", async () => {
  const { node, shares } = await initialised();
  const { keeper } = node;
  const sealed = failure("sealed", "service is sealed");
  const rotation = { enabled: false, maxOperations: 1_000_000, interval: 0n };
  await assert.rejects(keeper.rotate(), sealed);
  await assert.rejects(keeper.configureRotation(rotation), sealed);
  assert.throws(() => keeper.keyStatus, sealed);
  assert.throws(() => keeper.rotation, sealed);
  await give(node, shares.slice(0, 3));
  assert.equal(keeper.keyStatus.term, 1);
  assert.equal(await keeper.rotate(), 2);
  assert.equal(keeper.keyStatus.term, 2);
  await keeper.configureRotation(rotation);
  assert.deepEqual(keeper.rotation, rotation);
  assert.equal(await unsealsTo(node, shares), 2);
});

async function unsealsTo(node: TestNode, shares: readonly string[]): Promise<number> {
  const next = await crash(node);
  await give(next, shares.slice(0, 3));
  return next.keeper.keyStatus.term;
}

function flip(share: string, at: number): string {
  const bytes = Buffer.from(share, "hex");
  bytes[at] = (bytes[at] ?? 0) ^ 0x80;
  return bytes.toString("hex");
}

test("who waits to initialise what other data has taken the place of is given no shares", async () => {
  const { keeper } = makeNode();
  const gate = Promise.withResolvers<void>();
  const exchange = keeper.undisturbed(async () => {
    await gate.promise;
    keeper.retire(new Failure("unavailable", "exchanging", "try again"));
  });
  const waiting = keeper.init({});
  gate.resolve();
  await exchange;
  await assert.rejects(waiting, /try again/);
  assert.equal(keeper.initialised, false);
});
