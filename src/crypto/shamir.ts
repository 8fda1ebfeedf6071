// Shamir sharing of short secrets over GF(2^8). Whether a combined secret is the right one is not
// known here: the seal finds out by decrypting with it.
//
// Secret bytes (the secret, coefficients, shares) are never an index and never decide a branch: a
// table look-up leaves its row in the cache, a branch its time. Bits are selected by masks, loops
// run over lengths and counts only, and the one test on combined values tells well-formed shares
// from malformed ones, which the caller learns anyway. Masks are written `0 - bit`, not `-bit`:
// minus zero is a floating-point number, and the engine would leave its integer path for it.

import { alloc, concat, wipe } from "@holdfast/shared/bytes";
import { sharesOutOfRange, thresholdOutOfRange } from "./failures.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";
import { drawBelow } from "./uniform.ts";

const POLYNOMIAL = 0x11b; // x^8 + x^4 + x^3 + x + 1
const MAX_SHARES = 255; // the non-zero bytes

/** Product in GF(2^8): eight doublings, each followed by a masked addition. */
export function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ (POLYNOMIAL & (0 - (product >>> 7)));
    product ^= a & (0 - ((b >>> bit) & 1));
  }
  return product;
}

/** The inverse as a^254, with 0 for 0. The exponent is 2 + 4 + … + 128, so no step is conditional. */
export function invert(a: number): number {
  let power = a;
  let product = 1;
  for (let i = 0; i < 7; i++) {
    power = multiply(power, power);
    product = multiply(product, power);
  }
  return product;
}

/**
 * Splits a secret so that any `threshold` of the `shares` recover it and fewer tell nothing. A share
 * is one y byte per secret byte, then the x byte. A single share is the secret itself, without x.
 */
export function splitSecret(
  random: Random,
  secret: Uint8Array,
  shares: number,
  threshold: number,
): Buffer[] {
  checkCounts(shares, threshold);
  invariant(secret.length > 0, "an empty secret cannot be split");
  if (shares === 1) return [concat(secret)];

  const xs = drawCoordinates(random, shares);
  const degree = threshold - 1;
  // One polynomial per secret byte. All coefficients are uniform, the leading one too: were it never
  // zero, `degree` shares would exclude one value of each secret byte.
  const coefficients = random.bytes(secret.length * degree);
  try {
    invariant(coefficients.length === secret.length * degree, "random source gave too few bytes");
    return Array.from(xs, (x) => evaluate(secret, coefficients, degree, x));
  } finally {
    wipe(coefficients);
  }
}

/** One share: the polynomials of all secret bytes at x, by Horner's rule. */
function evaluate(secret: Uint8Array, coefficients: Uint8Array, degree: number, x: number): Buffer {
  const share = alloc(secret.length + 1);
  for (let i = 0; i < secret.length; i++) {
    let y = 0;
    for (let power = 0; power < degree; power++) {
      y = multiply(y ^ coefficients[i * degree + power]!, x);
    }
    share[i] = y ^ secret[i]!;
  }
  share[secret.length] = x;
  return share;
}

/**
 * The secret that the shares determine, or null when they cannot belong together: none, lengths that
 * differ or are below 2, x zero or repeated. With too few or foreign shares the result is another value.
 */
export function combineShares(shares: readonly Uint8Array[]): Buffer | null {
  const length = shares[0]?.length ?? 0;
  if (length < 2 || shares.length > MAX_SHARES) return null;
  if (shares.some((share) => share.length !== length)) return null;

  const xs = alloc(shares.length);
  const weights = alloc(shares.length);
  try {
    shares.forEach((share, i) => (xs[i] = share[length - 1]!));
    if (!weigh(xs, weights)) return null;
    const secret = alloc(length - 1);
    shares.forEach((share, i) => {
      for (let at = 0; at < secret.length; at++) {
        secret[at] = secret[at]! ^ multiply(share[at]!, weights[i]!);
      }
    });
    return secret;
  } finally {
    wipe(xs, weights);
  }
}

/**
 * Fills in the Lagrange weights at 0: for each x the product of the others over the product of its
 * differences to them. False when an x is zero or comes twice: then a factor is zero, and so is the
 * product of all, which is the only value looked at.
 */
function weigh(xs: Uint8Array, weights: Uint8Array): boolean {
  let all = 1;
  for (let i = 0; i < xs.length; i++) {
    let numerator = 1;
    let denominator = 1;
    for (let j = 0; j < xs.length; j++) {
      if (i === j) continue;
      numerator = multiply(numerator, xs[j]!);
      denominator = multiply(denominator, xs[i]! ^ xs[j]!);
    }
    weights[i] = multiply(numerator, invert(denominator));
    all = multiply(all, multiply(denominator, xs[i]!));
  }
  return all !== 0;
}

/** Distinct non-zero bytes in random order, by the first steps of a Fisher–Yates shuffle. They say
 *  nothing about the secret, so indexing with them is harmless. */
function drawCoordinates(random: Random, count: number): Uint8Array {
  const pool = Uint8Array.from({ length: MAX_SHARES }, (_, i) => i + 1);
  for (let i = 0; i < count; i++) {
    const other = i + drawBelow(random, MAX_SHARES - i);
    const drawn = pool[other]!;
    pool[other] = pool[i]!;
    pool[i] = drawn;
  }
  return pool.subarray(0, count);
}

function checkCounts(shares: number, threshold: number): void {
  if (!Number.isInteger(shares) || shares < 1 || shares > MAX_SHARES) {
    throw sharesOutOfRange(`the number of shares is ${shares}; it must be 1 to ${MAX_SHARES}`);
  }
  const min = shares === 1 ? 1 : 2;
  if (!Number.isInteger(threshold) || threshold < min || threshold > shares) {
    const accepted = shares === 1 ? "1" : `2 to ${shares}`;
    const message = `the threshold is ${threshold}; for shares = ${shares} it must be ${accepted}`;
    throw thresholdOutOfRange(message);
  }
}
