import assert from "node:assert/strict";
import { test } from "node:test";
import { SystemRandom } from "../../system/random.ts";
import { exportKey } from "../../crypto/aead.ts";
import { failure, makeOperator } from "../../../tests/support/servers/sealed-node.ts";
import { combineKey, parseShare, readPublicKeys, shareOutFreshKey } from "./share.ts";

const random = new SystemRandom();
// Later than the keys that the tests make as they go.
const NOW = BigInt(Date.now()) * 1_000_000n + 3_600_000_000_000n;
const of = (length: number) =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 37 + 200) % 256));

const readable: readonly [name: string, input: string, length: number][] = [
  ["hex of 33 bytes", of(33).toString("hex"), 33],
  ["hex of 32 bytes", of(32).toString("hex"), 32],
  ["upper-case hex", of(33).toString("hex").toUpperCase(), 33],
  ["base64 of 33 bytes", of(33).toString("base64"), 33],
  ["base64 of 32 bytes", of(32).toString("base64"), 32],
  ["base64 without padding", of(32).toString("base64").replace("=", ""), 32],
];
for (const [name, input, length] of readable) {
  test(`a share in ${name} is read`, () => assert.deepEqual(parseShare(input), of(length)));
}

test("a text that is hex of another length and base64 of a share is read as base64", () => {
  const input = "0123456789abcdef0123456789abcdef0123456789ab"; // 44 digits: 22 bytes, or 33
  assert.deepEqual(parseShare(input), Buffer.from(input, "base64"));
});

const unreadable: readonly [name: string, input: string][] = [
  ["nothing", ""],
  ["31 bytes of hex", of(31).toString("hex")],
  ["34 bytes of hex", of(34).toString("hex")],
  ["31 bytes of base64", of(31).toString("base64")],
  ["34 bytes of base64", of(34).toString("base64")],
  ["base64 for addresses", `${"-_".repeat(22)}`],
  ["hex with a space in it", ` ${of(32).toString("hex")}`],
  ["a word", "correct horse battery staple"],
  ["1 MiB of hex", "ab".repeat(512 * 1024)],
];
for (const [name, input] of unreadable) {
  test(`T-F05: ${name} is refused with one text`, () => {
    const says = "key must be a share of 32 or 33 bytes in hex or base64";
    assert.throws(() => parseShare(input), failure("invalid", says));
  });
}

test("the shares of a fresh key give it back, and are shown in hex and base64", async () => {
  const scheme = { shares: 5, threshold: 3, pgpFingerprints: [] };
  const { key, printed, messages } = await shareOutFreshKey(random, scheme, [], NOW);
  const shares = printed.keys.reveal().map(parseShare);
  assert.deepEqual(printed.keysBase64.reveal().map(parseShare), shares);
  assert.equal(new Set(printed.keys.reveal()).size, 5);
  assert.deepEqual(combineKey(scheme, shares.slice(2)), exportKey(key));
  assert.notDeepEqual(combineKey(scheme, shares.slice(3)), exportKey(key));
  assert.deepEqual(messages, []);
});

test("the only share is the key itself", async () => {
  const scheme = { shares: 1, threshold: 1, pgpFingerprints: [] };
  const { key, printed } = await shareOutFreshKey(random, scheme, [], NOW);
  assert.equal(printed.keys.reveal()[0], exportKey(key).toString("hex"));
  assert.deepEqual(combineKey(scheme, [exportKey(key)]), exportKey(key));
});

test("shares of another length than the scheme's give no key", () => {
  const one = { shares: 1, threshold: 1, pgpFingerprints: [] };
  const two = { shares: 2, threshold: 2, pgpFingerprints: [] };
  assert.equal(combineKey(one, [of(33)]), null);
  assert.equal(combineKey(one, []), null);
  assert.equal(combineKey(two, [of(32), of(32)]), null);
  assert.equal(combineKey(two, [of(33), of(32)]), null);
});

test("a share to a PGP key is its lower-case hex text", async () => {
  const [ann, bob] = [await makeOperator(), await makeOperator()];
  const pgpKeys = await readPublicKeys([ann.publicKey, bob.publicKey], NOW);
  const scheme = { shares: 2, threshold: 2, pgpFingerprints: [] };
  const { key, printed, messages } = await shareOutFreshKey(random, scheme, pgpKeys, NOW);
  const [first, second] = printed.keys.reveal().map((hex) => Buffer.from(hex, "hex"));
  assert.deepEqual(messages, [first, second]);
  const texts = [await ann.read(first!), await bob.read(second!)];
  for (const text of texts) assert.match(text, /^[0-9a-f]{66}$/);
  assert.deepEqual(combineKey(scheme, texts.map(parseShare)), exportKey(key));
  await assert.rejects(bob.read(first!));
});

test("a bad PGP key is named by its place in the list", async () => {
  const { publicKey } = await makeOperator();
  const reading = readPublicKeys([publicKey, "nonsense"], NOW);
  await assert.rejects(reading, failure("invalid", /^PGP key 2 of the list /));
});
