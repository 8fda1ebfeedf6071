import assert from "node:assert/strict";
import test from "node:test";
import type { Random } from "@holdfast/shared/world";
import { SystemRandom } from "../system/random.ts";
import {
  exportHpkeKey,
  type HpkeMessage,
  hpkeOpen,
  hpkePrivateKey,
  hpkePublicKey,
  hpkeSeal,
  isHpkePublicKey,
  makeHpkeKeys,
} from "./hpke.ts";

const hex = (text: string) => Buffer.from(text, "hex");

// Of the test vectors that the authors of RFC 9180 publish: mode 0, kem 0x0020, kdf 0x0001, aead 0x0002; the first
// encryption.
const VECTOR = {
  info: "4f6465206f6e2061204772656369616e2055726e",
  skEm: "179d4b53b6365c45b600c4163b61d95cbc2f4d9e36f1695558dce265ab8bab11",
  skRm: "497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d",
  pkRm: "430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c",
  enc: "6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256",
  aad: "436f756e742d30",
  pt: "4265617574792069732074727574682c20747275746820626561757479",
  ct: "e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9931980a41de125a925cdad859d5b7a",
};

/** Points of order 1, 2, 4 and 8, and their other spellings: everybody agrees with them on zero. */
const LOW_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

const random = new SystemRandom();
const info = Buffer.from("what it is for");
const aad = Buffer.from("what it belongs to");

test("a message is sealed and opened as the published vector has it", () => {
  const fixed: Random = { bytes: () => hex(VECTOR.skEm), uuid: () => "" };
  const context = { info: hex(VECTOR.info), aad: hex(VECTOR.aad) };
  const sealed = hpkeSeal(hex(VECTOR.pkRm), hex(VECTOR.pt), context, fixed);
  assert.ok(sealed !== null);
  assert.equal(Buffer.from(sealed.enc).toString("hex"), VECTOR.enc);
  assert.equal(Buffer.from(sealed.ciphertext).toString("hex"), VECTOR.ct);
  const privateKey = hpkePrivateKey(hex(VECTOR.skRm));
  assert.equal(hpkePublicKey(privateKey).toString("hex"), VECTOR.pkRm);
  const message = { enc: hex(VECTOR.enc), ciphertext: hex(VECTOR.ct) };
  assert.equal(hpkeOpen(privateKey, message, context)?.toString("hex"), VECTOR.pt);
});

test("another key, another purpose, another context and every changed byte open nothing", () => {
  const keys = makeHpkeKeys(random);
  const sealed = hpkeSeal(keys.publicKey, Buffer.from("secret"), { info, aad }, random)!;
  assert.equal(hpkeOpen(keys.privateKey, sealed, { info, aad })?.toString(), "secret");
  assert.equal(hpkeOpen(makeHpkeKeys(random).privateKey, sealed, { info, aad }), null);
  assert.equal(hpkeOpen(keys.privateKey, sealed, { info: aad, aad }), null);
  assert.equal(hpkeOpen(keys.privateKey, sealed, { info }), null);
  for (const part of ["enc", "ciphertext"] as const) {
    for (let i = 0; i < sealed[part].length; i++) {
      const changed = Buffer.from(sealed[part]);
      changed[i]! ^= i === 31 && part === "enc" ? 0x01 : 0x80; // of a public key the last bit does not count
      const message: HpkeMessage = { ...sealed, [part]: changed };
      assert.equal(hpkeOpen(keys.privateKey, message, { info, aad }), null, `${part} ${i}`);
    }
    for (const length of [0, 1, 15, sealed[part].length - 1]) {
      const message: HpkeMessage = { ...sealed, [part]: sealed[part].subarray(0, length) };
      assert.equal(hpkeOpen(keys.privateKey, message, { info, aad }), null, `${part} ${length}`);
    }
  }
});

test("no two messages are alike, and an empty one is one", () => {
  const { privateKey, publicKey } = makeHpkeKeys(random);
  const messages = [1, 2].map(() => hpkeSeal(publicKey, Buffer.alloc(0), { info }, random)!);
  assert.notDeepEqual(messages[0]!.enc, messages[1]!.enc);
  assert.notDeepEqual(messages[0]!.ciphertext, messages[1]!.ciphertext);
  for (const message of messages) assert.equal(hpkeOpen(privateKey, message, { info })?.length, 0);
});

test("nothing is sealed to a key of low order or another length, nor opened with one", () => {
  const { privateKey, publicKey } = makeHpkeKeys(random);
  const sealed = hpkeSeal(publicKey, Buffer.from("x"), { info }, random)!;
  assert.ok(isHpkePublicKey(publicKey));
  const bad = [...LOW_ORDER.map(hex), publicKey.subarray(1), Buffer.alloc(33, 9), Buffer.alloc(0)];
  for (const key of bad) {
    assert.equal(isHpkePublicKey(key), false, key.toString("hex"));
    assert.equal(hpkeSeal(key, Buffer.from("x"), { info }, random), null);
    assert.equal(hpkeOpen(privateKey, { ...sealed, enc: key }, { info }), null);
  }
});

test("a private key goes out and in, and its bytes are wiped on the way in", () => {
  const { privateKey, publicKey } = makeHpkeKeys(random);
  const raw = exportHpkeKey(privateKey);
  assert.equal(raw.length, 32);
  const again = hpkePrivateKey(raw);
  assert.ok(raw.every((byte) => byte === 0));
  assert.deepEqual(hpkePublicKey(again), publicKey);
  assert.throws(() => hpkePrivateKey(Buffer.alloc(31)));
});
