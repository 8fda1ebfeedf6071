import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import test from "node:test";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import { bytesCodec } from "@holdfast/shared/codec";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { madeWrapping } from "../../tests/support/made/made-wrapping.ts";
import { SigningKey } from "./signing-key.ts";

/** Gives these bytes first. */
class Drawn extends SystemRandom implements Random {
  readonly #first: Buffer[];

  constructor(...first: Buffer[]) {
    super();
    this.#first = first;
  }

  override bytes(length: number): Buffer {
    return this.#first.shift() ?? super.bytes(length);
  }
}

async function made(random: Random = new SystemRandom()) {
  const { barrier, disk } = await madeBarrier();
  const view = barrier.view("shared/wrapping/");
  return { view, disk, key: await SigningKey.ensure(view, random) };
}

test("what it signs, everybody can verify with its public half, in either notation", async () => {
  const { key } = await made();
  const { x, y } = key.point;
  const signature = await key.sign("some text");
  assert.equal(signature.length, 132);
  const jwk = { key: { kty: "EC", crv: "P-521", x, y }, format: "jwk" } as const;
  for (const half of [createPublicKey(key.pem), createPublicKey(jwk)]) {
    const with1363 = { key: half, dsaEncoding: "ieee-p1363" } as const;
    assert.equal(verify("sha512", Buffer.from("some text"), with1363, signature), true);
    assert.equal(verify("sha512", Buffer.from("some test"), with1363, signature), false);
  }
  for (let i = 0; i < 3; i += 1) assert.equal(key.verifies("some text", signature), true);
  assert.equal(key.verifies("some test", signature), false);
  assert.equal(key.verifies("some text", signature.subarray(1)), false);
});

test("there is one key, however many ask for it", async () => {
  const { view, key } = await made();
  const again = await Promise.all([1, 2, 3].map(() => SigningKey.ensure(view, new SystemRandom())));
  for (const other of again) assert.equal(other.pem, key.pem);
  const fresh = await madeBarrier();
  const empty = fresh.barrier.view("shared/wrapping/");
  const racing = await Promise.all([1, 2].map(() => SigningKey.ensure(empty, new SystemRandom())));
  assert.equal(racing[0]?.pem, racing[1]?.pem);
  assert.equal((await SigningKey.ensure(empty, new SystemRandom())).pem, racing[0]?.pem);
});

test("what is drawn but is no scalar of the curve is drawn again", async () => {
  const beyond = Buffer.alloc(66, 0xff); // 2^521 - 1 is above the order of the group
  const one = Buffer.alloc(66);
  one[65] = 1;
  const { key } = await made(new Drawn(Buffer.alloc(66), beyond, one));
  // The first half of the base point (SEC 2, secp521r1).
  const base =
    "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66";
  assert.equal(Buffer.from(key.point.x, "base64url").toString("hex"), base);
});

test("another key that comes with rows of a primary is the one from then on", async () => {
  const { wrapping, barrier } = await madeWrapping();
  const other = await made();
  const bytes = other.view.get("signing-key", bytesCodec)!;
  await barrier.view("shared/wrapping/").write((tx) => tx.put("signing-key", bytes, bytesCodec));
  assert.deepEqual(wrapping.publicKey.point, other.key.point);
});
