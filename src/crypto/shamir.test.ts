import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { combine, split } from "shamir-secret-sharing";
import vectors from "../../tests/vectors/shamir.json" with { type: "json" };
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import { combineShares, invert, multiply, splitSecret } from "./shamir.ts";

const random = new SystemRandom();

/** Hands out the given bytes in order and keeps every Buffer, to look at what became of it. */
class ScriptedRandom implements Random {
  readonly issued: Buffer[] = [];
  readonly #left: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#left = bytes;
  }

  bytes(length: number): Buffer {
    assert.ok(this.#at + length <= this.#left.length, "the script is used up");
    const out = Buffer.alloc(length);
    this.#left.copy(out, 0, this.#at, (this.#at += length));
    this.issued.push(out);
    return out;
  }

  uuid(): string {
    return assert.fail("no uuid is drawn");
  }
}

/** The product by school: multiply the polynomials, then divide by x^8 + x^4 + x^3 + x + 1. */
function schoolProduct(a: number, b: number): number {
  let product = 0;
  for (let i = 0; i < 8; i++) if (b & (1 << i)) product ^= a << i;
  for (let i = 14; i >= 8; i--) if (product & (1 << i)) product ^= 0x11b << (i - 8);
  return product;
}

test("the product agrees with long multiplication and division for all pairs", () => {
  for (let a = 0; a < 256; a++) {
    for (let b = 0; b < 256; b++) {
      if (multiply(a, b) !== schoolProduct(a, b)) assert.fail(`${a} times ${b}`);
    }
  }
});

test("every non-zero byte times its inverse is one, and zero inverts to zero", () => {
  assert.equal(invert(0), 0);
  for (let a = 1; a < 256; a++) {
    assert.equal(schoolProduct(a, invert(a)), 1, `${a}`);
    assert.ok(invert(a) > 0 && invert(a) < 256);
  }
});

for (const { name, secret, threshold, shares } of vectors.combine) {
  test(`pinned shares combine: ${name}`, () => {
    const all = shares.map((share) => Buffer.from(share, "hex"));
    assert.equal(combineShares(all)?.toString("hex"), secret);
    assert.equal(combineShares(all.slice(0, threshold))?.toString("hex"), secret);
    assert.equal(combineShares(all.slice(-threshold))?.toString("hex"), secret);
    assert.notEqual(combineShares(all.slice(0, threshold - 1))?.toString("hex"), secret);
  });
}

for (const { name, secret, threshold, random: drawn, shares } of vectors.split) {
  test(`pinned random bytes split: ${name}`, () => {
    const source = new ScriptedRandom(Buffer.from(drawn, "hex"));
    const made = splitSecret(source, Buffer.from(secret, "hex"), shares.length, threshold);
    assert.deepEqual(
      made.map((share) => share.toString("hex")),
      shares,
    );
  });
}

const sharing = fc
  .integer({ min: 2, max: 12 })
  .chain((shares) =>
    fc.tuple(
      fc.uint8Array({ minLength: 16, maxLength: 40 }),
      fc.constant(shares),
      fc.integer({ min: 2, max: shares }),
      fc.shuffledSubarray([...Array(shares).keys()], { minLength: 1 }),
    ),
  );

test("any shares in any order recover the secret if and only if they reach the threshold", () => {
  fc.assert(
    fc.property(sharing, ([secret, count, threshold, chosen]) => {
      const shares = splitSecret(random, secret, count, threshold);
      const combined = combineShares(chosen.map((i) => shares[i]!));
      assert.ok(combined !== null);
      assert.equal(combined.equals(secret), chosen.length >= threshold);
    }),
    { numRuns: 300 },
  );
});

test("our shares combine in another implementation and its shares combine here", async () => {
  await fc.assert(
    fc.asyncProperty(sharing, async ([secret, count, threshold]) => {
      const ours = splitSecret(random, secret, count, threshold);
      const theirs = await split(Uint8Array.from(secret), count, threshold);
      assert.deepEqual(
        theirs.map((share) => share.length),
        ours.map((share) => share.length),
      );
      const there = await combine(ours.slice(-threshold).map((share) => Uint8Array.from(share)));
      assert.deepEqual(Buffer.from(there), Buffer.from(secret));
      assert.deepEqual(combineShares(theirs.slice(-threshold)), Buffer.from(secret));
    }),
    { numRuns: 100 },
  );
});

test("the largest sharing works: 255 shares, all needed", () => {
  const secret = random.bytes(32);
  const shares = splitSecret(random, secret, 255, 255);
  assert.deepEqual(combineShares(shares), secret);
  assert.notDeepEqual(combineShares(shares.slice(1)), secret);
});

test("a share is the y bytes and a distinct non-zero x byte, in memory of its own", () => {
  const shares = splitSecret(random, random.bytes(32), 255, 2);
  const xs = new Set(shares.map((share) => share.at(-1)));
  assert.equal(xs.size, 255);
  assert.ok(!xs.has(0));
  for (const share of shares) {
    assert.equal(share.length, 33);
    assert.equal(share.buffer.byteLength, 33);
  }
});

test("the x bytes come in an order drawn anew each time", () => {
  const order = () => splitSecret(random, Buffer.alloc(1), 255, 2).map((share) => share.at(-1));
  assert.notDeepEqual(order(), order());
  // Each place must be able to hold each x: the first of 5 shares over 5,100 splits misses one of
  // the 255 with probability below 255·e^-20.
  const first = new Set<number | undefined>();
  for (let i = 0; i < 5100; i++) first.add(splitSecret(random, Buffer.alloc(1), 5, 2)[0]?.at(-1));
  assert.equal(first.size, 255);
});

test("the leading coefficient may be zero, so that one share excludes no secret", () => {
  // With threshold 2, y = secret + c·x: over all 256 values of c every y comes exactly once.
  const ys = new Set<number | undefined>();
  for (let c = 0; c < 256; c++) {
    const source = new ScriptedRandom(Buffer.from([0, 0, c]));
    ys.add(splitSecret(source, Buffer.from([0x5a]), 2, 2)[0]?.[0]);
  }
  assert.equal(ys.size, 256);
});

test("a single share is a copy of the secret without x, and draws nothing", () => {
  const secret = random.bytes(32);
  const shares = splitSecret(new ScriptedRandom(Buffer.alloc(0)), secret, 1, 1);
  assert.deepEqual(shares, [secret]);
  shares[0]?.fill(0);
  assert.notDeepEqual(secret, Buffer.alloc(32));
});

test("the polynomials are wiped when the shares are made", () => {
  const source = new ScriptedRandom(Buffer.alloc(5 + 32 * 2, 1));
  splitSecret(source, Buffer.alloc(32, 1), 5, 3);
  assert.equal(source.issued.at(-1)?.length, 64);
  for (const bytes of source.issued) assert.deepEqual(bytes, Buffer.alloc(bytes.length));
});

test("a source that fails or gives too little fails the split and leaves no polynomial", () => {
  const failing = new ScriptedRandom(Buffer.alloc(5 + 32 * 2 - 1, 1));
  assert.throws(() => splitSecret(failing, Buffer.alloc(32, 1), 5, 3), /used up/);

  const issued: Buffer[] = [];
  const short: Random = {
    bytes(length) {
      const out = Buffer.alloc(Math.min(length, 63), 1);
      issued.push(out);
      return out;
    },
    uuid: () => failing.uuid(),
  };
  assert.throws(() => splitSecret(short, Buffer.alloc(32, 1), 5, 3), InvariantError);
  assert.deepEqual(issued.at(-1), Buffer.alloc(63));
});

test("counts outside the rules are refused, and the message says what is accepted", () => {
  const refuses = (shares: number, threshold: number, message: RegExp) =>
    assert.throws(
      () => splitSecret(random, Buffer.alloc(32), shares, threshold),
      (error) =>
        error instanceof Failure && error.kind === "invalid" && message.test(error.message),
    );
  for (const shares of [0, -1, 256, 2.5, Number.NaN]) refuses(shares, 2, /must be 1 to 255$/);
  for (const threshold of [0, 1, 6, 2.5, Number.NaN]) refuses(5, threshold, /must be 2 to 5$/);
  for (const threshold of [0, 2]) refuses(1, threshold, /must be 1$/);
});

test("malformed shares combine to nothing", () => {
  const good = splitSecret(random, random.bytes(32), 5, 3);
  const [a, b, c] = good;
  assert.ok(a && b && c);
  const zero = Buffer.concat([b.subarray(0, 32), Buffer.alloc(1)]);
  const sameX = Buffer.concat([b.subarray(0, 32), a.subarray(32)]);
  assert.equal(combineShares([]), null, "none");
  assert.equal(combineShares([a, b, c.subarray(1)]), null, "unequal lengths");
  assert.equal(combineShares([a.subarray(1), b, c]), null, "unequal lengths");
  assert.equal(combineShares([a, zero, c]), null, "x is zero");
  assert.equal(combineShares([zero]), null, "x is zero");
  assert.equal(combineShares([a, b, c, a]), null, "a share twice");
  assert.equal(combineShares([a, c, sameX]), null, "an x twice");
  assert.equal(combineShares([Buffer.from([1]), Buffer.from([2])]), null, "no y bytes");
  assert.equal(combineShares([Buffer.alloc(0)]), null, "empty");
  const many = Array.from({ length: 256 }, (_, i) => Buffer.from([0, i]));
  assert.equal(combineShares(many), null, "more shares than there are x");
});

test("combining leaves the shares as they are", () => {
  const shares = splitSecret(random, random.bytes(32), 3, 2);
  const before = shares.map((share) => share.toString("hex"));
  combineShares(shares);
  assert.deepEqual(
    shares.map((share) => share.toString("hex")),
    before,
  );
});
