// T-F06: no failure branch shows a key, a share, a pad or a token; none of them is stored in clear;
// and what is no longer needed is wiped.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import { exportKey, freshKey, sealEntry, secretKey } from "../crypto/aead.ts";
import {
  crash,
  give,
  initialised,
  makeNode,
  makeOperator,
  opened,
  type TestNode,
} from "../../tests/support/servers/sealed-node.ts";
import { readStaticKey } from "./static.ts";

const KEY_BYTES = 32;
const TWO = { secretShares: 2, secretThreshold: 2 };

/** Remembers every draw that is long enough to be key material, and the Buffer it went out in. */
class RecordingRandom implements Random {
  readonly drawn: { readonly copy: Buffer; readonly bytes: Buffer }[] = [];
  readonly #source = new SystemRandom();

  bytes(length: number): Buffer {
    const bytes = this.#source.bytes(length);
    if (length >= KEY_BYTES) this.drawn.push({ copy: Buffer.from(bytes), bytes });
    return bytes;
  }

  uuid(): string {
    return this.#source.uuid();
  }
}

/** The ways in which bytes get into a text, each by its beginning, since printing cuts long ones. */
function formsOf(secret: Buffer): string[] {
  const start = secret.subarray(0, 12);
  const hex = start.toString("hex");
  return [
    start.toString("latin1"),
    start.toString("utf8"),
    hex,
    hex.toUpperCase(),
    hex.replaceAll(/..(?!$)/g, "$& "),
    start.toString("base64"),
    start.toString("base64url"),
    [...start].join(","),
    [...start].join(", "),
  ];
}

class Witness {
  readonly random = new RecordingRandom();
  readonly lines: string[] = [];
  readonly #texts: string[] = [];
  readonly #said: string[] = [];

  /** Something an operator holds or gave, as the text it was. */
  marks(...texts: readonly string[]): void {
    this.#texts.push(...texts);
  }

  /** Runs what must fail, and keeps everything that the failure says. */
  async fails(work: () => unknown): Promise<void> {
    const error: unknown = await Promise.resolve()
      .then(work)
      .then(
        () => assert.fail("it did not fail"),
        (failed: unknown) => failed,
      );
    if (error instanceof assert.AssertionError) throw error;
    for (let at = error; at instanceof Error; at = at.cause) {
      this.#said.push(at.message, at.stack ?? "", JSON.stringify(at));
    }
    this.#said.push(inspect(error, { depth: Infinity, showHidden: true, maxStringLength: null }));
  }

  get secrets(): string[] {
    const fromDraws = this.random.drawn.flatMap(({ copy }) => formsOf(copy));
    const fromTexts = this.#texts.flatMap((text) => {
      const bytes = /^[0-9a-f]{64,66}$/.test(text) ? formsOf(Buffer.from(text, "hex")) : [];
      return [text.slice(0, 20), ...bytes];
    });
    return [...fromDraws, ...fromTexts];
  }

  assertSilent(): void {
    assert.ok(this.#said.length > 0 && this.random.drawn.length > 0);
    const all = [...this.lines, ...this.#said].join("\n");
    for (const secret of this.secrets) {
      assert.ok(!all.includes(secret), `a secret was shown: ${JSON.stringify(secret)}`);
    }
  }

  /** Of the draws: keys of every kind, and the coefficients of the sharing. */
  assertWiped(): void {
    for (const { bytes } of this.random.drawn) assert.ok(bytes.every((byte) => byte === 0));
  }
}

function assertNotStored(node: TestNode, witness: Witness): void {
  const everything = { from: "", to: null, limit: 10_000 };
  const { rows } = node.disk;
  const stored = [
    ...rows.rows(everything).map(({ value }) => value),
    ...rows.logs(0n, 10_000).map(({ entry }) => entry),
  ];
  assert.ok(stored.length > 5);
  const all = stored.map((bytes) => Buffer.from(bytes).toString("latin1")).join("\n");
  for (const secret of witness.secrets) assert.ok(!all.includes(secret), "a secret is stored");
}

test("the witness recognises a key in every form it may be printed in", () => {
  const witness = new Witness();
  const key = witness.random.bytes(KEY_BYTES);
  const hex = key.toString("hex");
  for (const text of [
    hex,
    hex.toUpperCase(),
    key.toString("base64"),
    inspect(key),
    inspect([...key]),
  ]) {
    assert.ok(
      witness.secrets.some((secret) => text.replaceAll(/\s+/g, " ").includes(secret)),
      text,
    );
  }
});

test("T-F06: initialising and unsealing show no secret, whatever fails", async () => {
  const witness = new Witness();
  const { random, lines } = witness;
  const { node, made, shares } = await initialised({}, { random, lines });
  const [a = "", b = "", c = ""] = shares;
  witness.marks(...shares, made.rootToken?.reveal() ?? "");
  const { keeper } = node;
  assert.ok(!inspect(made, { depth: Infinity }).includes(a));
  assert.ok(!JSON.stringify(made).includes(a));

  await witness.fails(() => keeper.init({ rootTokenPgpKey: a }));
  const fresh = makeNode({ random, lines });
  await witness.fails(() => fresh.keeper.init({ ...TWO, pgpKeys: [a, b] }));
  await witness.fails(() => fresh.keeper.init({ rootTokenPgpKey: a }));
  for (const key of [`${a}0`, `${a}zz`, a.slice(1), `"${a}"`, `\n${a}`]) {
    await witness.fails(() => keeper.unseal({ key }));
  }
  await witness.fails(() => keeper.unseal({ key: a, seal: b }));
  await witness.fails(() => keeper.unseal({ key: a, seal: "recovery" }));
  await witness.fails(() => keeper.unseal({ key: a, migrate: true }));
  await give(node, [a, b]);
  await witness.fails(() => keeper.unseal({ key: random.bytes(33).toString("hex") }));
  await give(node, [a, b, c]);
  await witness.fails(() => keeper.unseal({ reset: true, key: c }));
  await keeper.seal();
  witness.assertSilent();
  assertNotStored(node, witness);
});

const damages: readonly [row: string, how: string, value: (old: Buffer) => Uint8Array | null][] = [
  ["core/seal-config", "cut short", (old) => old.subarray(0, 20)],
  ["core/root-key", "gone", () => null],
  ["core/root-key", "cut short", (old) => old.subarray(0, 10)],
  ["core/root-key", "changed", flipLast],
  ["core/keyring", "gone", () => null],
  ["core/keyring", "changed", flipLast],
  ["core/tree-key", "gone", () => null],
  ["core/tree-key", "changed", flipLast],
  ["core/cluster", "gone", () => null],
  ["core/cluster", "changed", flipLast],
];
for (const [row, how, value] of damages) {
  test(`T-F06: unsealing with ${row} ${how} shows no secret`, async () => {
    const witness = new Witness();
    const { random, lines } = witness;
    const { node, shares } = await initialised(TWO, { random, lines });
    witness.marks(...shares);
    const after = value(Buffer.from(node.store.get(row) ?? []));
    await node.store.write((tx) => (after === null ? tx.delete(row) : tx.put(row, after)));
    await witness.fails(() => give(node, shares));
    assert.equal(node.keeper.sealed, true);
    assert.equal(node.barrier.sealed, true);
    witness.assertSilent();
  });
}

test("T-F06: malformed key material under a right key shows no secret", async () => {
  const witness = new Witness();
  const { random, lines } = witness;
  const { node, shares } = await initialised(
    { secretShares: 1, secretThreshold: 1 },
    { random, lines },
  );
  const [share = ""] = shares;
  const marker = random.bytes(KEY_BYTES + 7);
  const put = (path: string, key: Parameters<typeof sealEntry>[0], plaintext: Uint8Array) => {
    const sealed = sealEntry(key, 1, path, plaintext, random.bytes(12));
    return node.store.write((tx) => tx.put(path, sealed));
  };
  const unsealKey = secretKey(Buffer.from(share, "hex"));
  await put("core/root-key", unsealKey, marker); // the right key, and 39 bytes inside
  await witness.fails(() => give(node, [share]));
  const rootKey = freshKey(random);
  await put("core/root-key", unsealKey, exportKey(rootKey));
  for (const document of [
    marker,
    Buffer.from(`{"keys":[{"value":"${marker.toString("base64")}"}]}`),
  ]) {
    await put("core/keyring", rootKey, document);
    await witness.fails(() => give(node, [share]));
  }
  assert.equal(node.barrier.sealed, true);
  witness.assertSilent();
});

test("T-F06: an auto seal shows no secret, whatever fails", async () => {
  const witness = new Witness();
  const { random, lines } = witness;
  const staticKey = freshKey(random);
  const { node, shares } = await initialised({}, { staticKey, random, lines });
  witness.marks(...shares);
  assertNotStored(node, witness);
  const [a = "", b = ""] = shares;
  for (const key of [freshKey(random), undefined]) {
    const next = await crash(node, {
      random,
      lines,
      ...(key === undefined ? {} : { staticKey: key }),
    });
    await next.keeper.start();
    await witness.fails(() => next.keeper.unseal({ key: a }));
    await give(next, [a, b], "recovery");
    const wrong = random.bytes(33).toString("hex");
    await witness.fails(() => next.keeper.unseal({ key: wrong, seal: "recovery" }));
    await give(next, shares.slice(0, 3), "recovery");
    await witness.fails(() => next.keeper.rekeyRecovery.start());
    await witness.fails(() => next.keeper.rekey.start());
    await next.keeper.seal();
  }
  for (const text of [a, a.slice(4), `${a.slice(0, 63)}x`]) {
    await witness.fails(() => readStaticKey(Buffer.from(text)));
  }
  witness.assertSilent();
});

test("T-F06: the ceremonies show no secret, whatever fails", async () => {
  const witness = new Witness();
  const { random, lines } = witness;
  const { node, shares } = await opened(TWO, { random, lines });
  const { generateRoot, rekey } = node.keeper;
  const [a = "", b = ""] = shares;
  const wrong = () => random.bytes(33).toString("hex");
  witness.marks(...shares);

  await witness.fails(() => generateRoot.start({ otp: a }));
  await witness.fails(() => generateRoot.start({ pgpKey: a }));
  await witness.fails(() => generateRoot.start({ otp: a, pgpKey: b }));
  const begun = await generateRoot.start();
  witness.marks(begun.otp?.reveal() ?? "");
  assert.ok(!inspect(begun).includes(begun.otp?.reveal() ?? ""));
  const { nonce } = begun;
  await witness.fails(() => generateRoot.start());
  await witness.fails(() => generateRoot.update({ key: a, nonce: b }));
  await witness.fails(() => generateRoot.update({ key: `${a}x`, nonce }));
  await generateRoot.update({ key: a, nonce });
  await witness.fails(() => generateRoot.update({ key: a, nonce }));
  await witness.fails(() => generateRoot.update({ key: wrong(), nonce }));
  await witness.fails(() => generateRoot.cancel({ nonce: a, authorised: false }));
  await witness.fails(() => generateRoot.cancel({ authorised: false }));
  await generateRoot.update({ key: b, nonce });

  const ann = await makeOperator();
  const pgpKeys = [ann.publicKey, ann.publicKey];
  await witness.fails(() => rekey.start({ pgpKeys: [a], secretShares: 1 }));
  const first = await rekey.start({ ...TWO, pgpKeys, backup: true, requireVerification: true });
  await witness.fails(() => rekey.update({ key: a, nonce: b }));
  await rekey.update({ key: a, nonce: first.nonce });
  await witness.fails(() => rekey.update({ key: wrong(), nonce: first.nonce }));
  const { result } = await rekey.update({ key: b, nonce: first.nonce });
  const messages = result?.keys.reveal() ?? [];
  const fresh = await Promise.all(messages.map((key) => ann.read(Buffer.from(key, "hex"))));
  const [x = "", y = ""] = fresh;
  witness.marks(...fresh);
  assert.ok(!inspect(result, { depth: Infinity }).includes(messages[0] ?? ""));
  const verification = { nonce: result?.verificationNonce ?? "" };
  await rekey.verify({ key: x, ...verification });
  await witness.fails(() => rekey.verify({ key: x, ...verification }));
  await witness.fails(() => rekey.verify({ key: wrong(), ...verification }));
  await witness.fails(() => rekey.verify({ key: x, nonce: y }));
  await rekey.verify({ key: y, ...verification });

  const second = await rekey.start(TWO);
  await rekey.update({ key: x, nonce: second.nonce });
  await node.store.settled();
  node.engine.failNext = "after";
  const last = await rekey.update({ key: y, nonce: second.nonce });
  witness.marks(...(last.result?.keys.reveal() ?? []));
  assert.ok(!(last.result?.warnings ?? []).join().includes(last.result?.keys.reveal()[0] ?? ""));
  await witness.fails(() => generateRoot.start());
  await node.keeper.seal();

  witness.marks(...node.tokens.minted);
  assert.equal(node.tokens.minted.length, 2);
  witness.assertSilent();
  assertNotStored(node, witness);
});

test("key bytes that were drawn are wiped once they are keys or shares", async () => {
  const witness = new Witness();
  const { node, shares } = await opened(TWO, { random: witness.random });
  const { nonce } = await node.keeper.rekey.start(TWO);
  for (const key of shares) await node.keeper.rekey.update({ key, nonce });
  assert.ok(witness.random.drawn.length >= 7);
  witness.assertWiped();
});

test("key bytes that leave a key object are wiped", async (t) => {
  const exported: Buffer[] = [];
  const prototype = Object.getPrototypeOf(freshKey(new SystemRandom())) as { export(): Buffer };
  const original = Reflect.get(prototype, "export");
  t.mock.method(prototype, "export", function (this: unknown) {
    const bytes = original.call(this);
    exported.push(bytes);
    return bytes;
  });
  const request = { recoveryShares: 2, recoveryThreshold: 2, recoveryUnseal: false };
  const { node, shares } = await initialised(request, { staticKey: freshKey(new SystemRandom()) });
  const { nonce } = await node.keeper.rekeyRecovery.start(TWO);
  for (const key of shares) await node.keeper.rekeyRecovery.update({ key, nonce });
  await node.keeper.seal();
  await opened(TWO);
  assert.ok(exported.length > 20);
  for (const bytes of exported) assert.ok(bytes.every((byte) => byte === 0));
});

test("shares are wiped once they are shown", async (t) => {
  const copies: Buffer[] = [];
  const { toString } = Buffer.prototype;
  t.mock.method(Buffer.prototype, "toString", function (this: Buffer, ...args: unknown[]) {
    if (this.length === KEY_BYTES + 1) copies.push(this);
    return Reflect.apply(toString, this, args);
  });
  await initialised();
  assert.equal(new Set(copies).size, 5);
  for (const share of copies) assert.ok(share.every((byte) => byte === 0));
});

test("a key that could not be shared out is wiped", async () => {
  const { random } = new Witness();
  const { node, shares } = await opened(TWO, { random });
  const ann = await makeOperator(1800);
  const pgpKeys = [ann.publicKey, ann.publicKey];
  const { nonce } = await node.keeper.rekey.start({ ...TWO, pgpKeys });
  await node.keeper.rekey.update({ key: shares[0] ?? "", nonce });
  node.clock.ahead = 1801n * 1_000_000_000n;
  const before = random.drawn.length;
  await assert.rejects(node.keeper.rekey.update({ key: shares[1] ?? "", nonce }), /is expired/);
  const drawn = random.drawn.slice(before);
  assert.equal(drawn.length, 2); // the key and the coefficients of its sharing
  for (const { bytes } of drawn) assert.ok(bytes.every((byte) => byte === 0));
});

/** Every Buffer of the length of a share that a text is decoded into from now on. */
function watchShares(t: TestContext): Buffer[] {
  const made: Buffer[] = [];
  const { write } = Buffer.prototype;
  t.mock.method(Buffer.prototype, "write", function (this: Buffer, ...args: unknown[]) {
    if (this.length === KEY_BYTES + 1) made.push(this);
    return Reflect.apply(write, this, args);
  });
  return made;
}

const uses: readonly [
  name: string,
  use: (node: TestNode, shares: readonly string[]) => Promise<unknown>,
][] = [
  ["reset", ({ keeper }) => keeper.unseal({ reset: true, local: true })],
  ["sealed again", ({ keeper }) => keeper.seal()],
  ["right", ({ keeper }, [, , c]) => keeper.unseal({ key: c })],
  ["wrong three times over", junk],
];

async function junk({ keeper }: TestNode): Promise<void> {
  for (let i = 1; i <= 7; i++) {
    await assert.rejects(keeper.unseal({ key: `0${i}`.repeat(33) }));
  }
}

for (const [name, use] of uses) {
  test(`shares given to unseal are wiped when they are ${name}`, async (t) => {
    const { node, shares } = await initialised();
    const made = watchShares(t);
    const [a = "", b = ""] = shares;
    await give(node, [a, b, a]);
    assert.equal(made.filter((share) => share.some((byte) => byte !== 0)).length, 2);
    await use(node, shares);
    assert.ok(made.length >= 3);
    for (const share of made) assert.ok(share.every((byte) => byte === 0));
  });
}

test("shares given to ceremonies are wiped when they are refused, judged or dropped", async (t) => {
  const { node, shares } = await opened(TWO);
  const { generateRoot, rekey } = node.keeper;
  const [a = "", b = ""] = shares;
  const made = watchShares(t);
  const left = () => made.filter((share) => share.some((byte) => byte !== 0)).length;
  for (const ceremony of [generateRoot, rekey]) {
    const { nonce } = await ceremony.start();
    await ceremony.update({ key: a, nonce });
    assert.equal(left(), 1);
    await assert.rejects(ceremony.update({ key: a, nonce }));
    await assert.rejects(ceremony.update({ key: b, nonce: "" }));
    assert.equal(left(), 1);
    for (let i = 1; i <= 5; i++) {
      await assert.rejects(ceremony.update({ key: `0${i}`.repeat(33), nonce }));
    }
    assert.equal(left(), 0);
    const again = await ceremony.start();
    await ceremony.update({ key: a, nonce: again.nonce });
    await ceremony.cancel({ authorised: true });
    assert.equal(left(), 0);
  }
  const { nonce } = await generateRoot.start();
  await generateRoot.update({ key: a, nonce });
  await generateRoot.update({ key: b, nonce });
  assert.equal(left(), 0);
});

function flipLast(old: Buffer): Buffer {
  const changed = Buffer.from(old);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  return changed;
}
