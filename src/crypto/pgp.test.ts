import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { promisify } from "node:util";
import * as openpgp from "openpgp";
import { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import { encryptTo, fingerprint, readPublicKey } from "./pgp.ts";

const HOUR = 3_600_000;
const MADE = Date.UTC(2031, 4, 6, 7, 8, 9); // not today: nothing may depend on the real clock
const userIDs = [{ name: "Operator", email: "operator@example.org" }];

function at(hours: number): Instant {
  return BigInt(MADE + hours * HOUR) * 1_000_000n;
}

type Options = Partial<Omit<Parameters<typeof openpgp.generateKey>[0], "format">>;

function generate(options: Options = {}) {
  const date = new Date(MADE);
  return openpgp.generateKey({ type: "ecc", userIDs, date, ...options, format: "object" });
}

function base64(key: openpgp.Key): string {
  return Buffer.from(key.write()).toString("base64");
}

function refusal(code: string, message: RegExp = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, "invalid");
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.match(error.message, /; accepted is one public key/);
    return true;
  };
}

const kinds: readonly (readonly [string, Options])[] = [
  ["an ed25519 key with a legacy curve25519 subkey", { type: "ecc", curve: "ed25519Legacy" }],
  ["a curve25519 key of the newer form", { type: "curve25519" }],
  ["a NIST P-384 key", { type: "ecc", curve: "nistP384" }],
  ["an RSA key of 2048 bits", { type: "rsa", rsaBits: 2048 }],
  ["a version 6 key", { type: "curve25519", config: { v6Keys: true } }],
];

for (const [name, options] of kinds) {
  test(`what is encrypted to ${name} is read back with its private key`, async () => {
    const { publicKey, privateKey } = await generate(options);
    const key = await readPublicKey(base64(publicKey), at(1));
    for (const plaintext of [
      Buffer.alloc(0),
      Buffer.from("00ff0d0a", "hex"),
      Buffer.alloc(5000, 7),
    ]) {
      const bytes = await encryptTo(key, plaintext, at(1));
      assert.ok(Buffer.isBuffer(bytes));
      const message = await openpgp.readMessage({ binaryMessage: Uint8Array.from(bytes) });
      const opened = await openpgp.decrypt({
        message,
        decryptionKeys: privateKey,
        format: "binary",
      });
      assert.deepEqual(Buffer.from(opened.data), plaintext);
    }
  });
}

test("two encryptions of the same bytes differ", async () => {
  const key = await readPublicKey(base64((await generate()).publicKey), at(1));
  const plaintext = Buffer.from("same");
  assert.notDeepEqual(
    await encryptTo(key, plaintext, at(1)),
    await encryptTo(key, plaintext, at(1)),
  );
});

test("the message is dated with the time handed in", async () => {
  const { publicKey, privateKey } = await generate();
  const key = await readPublicKey(base64(publicKey), at(1));
  const bytes = Uint8Array.from(await encryptTo(key, Buffer.from("x"), at(3)));
  const message = await openpgp.readMessage({ binaryMessage: bytes });
  const opened = Buffer.from((await message.decrypt([privateKey])).write());
  // A literal packet ends with its date in seconds and the data.
  assert.equal(opened.readUInt32BE(opened.length - 5), (MADE + 3 * HOUR) / 1000);
});

test("base64 of binary or armored keys, wrapped or not, and armored text are the same key", async () => {
  const { publicKey } = await generate();
  const armored = publicKey.armor();
  const plain = base64(publicKey);
  const forms = [
    plain,
    plain.replace(/=+$/, ""),
    plain.replaceAll(/.{76}/g, "$&\n"),
    Buffer.from(armored).toString("base64"),
    armored,
    `\n${armored}\n`,
    armored.replaceAll("\n", "\r\n"),
  ];
  const prints = await Promise.all(
    forms.map(async (form) => fingerprint(await readPublicKey(form, at(1)))),
  );
  assert.deepEqual(new Set(prints), new Set([publicKey.getFingerprint()]));
});

test("the fingerprint is the SHA-1 of the primary key packet in lower-case hex", async () => {
  const { publicKey } = await generate();
  const bytes = Buffer.from(publicKey.write());
  const body = bytes.subarray(2, 2 + bytes.readUInt8(1)); // a new-format packet below 192 bytes
  const prefix = Buffer.from([0x99, 0, body.length]);
  const expected = createHash("sha1").update(prefix).update(body).digest("hex");
  assert.equal(fingerprint(await readPublicKey(base64(publicKey), at(1))), expected);
});

test("an expired key is refused, at reading and at encrypting, by the time handed in", async () => {
  const { publicKey } = await generate({ keyExpirationTime: 7200 });
  const key = await readPublicKey(base64(publicKey), at(1));
  assert.ok((await encryptTo(key, Buffer.from("x"), at(1.9))).length > 0);
  await assert.rejects(readPublicKey(base64(publicKey), at(2)), refusal("pgp-key-expired"));
  const named = new RegExp(`^the PGP key ${publicKey.getFingerprint()} is expired;`);
  await assert.rejects(encryptTo(key, Buffer.from("x"), at(2)), refusal("pgp-key-expired", named));
});

test("a key made in the future is refused", async () => {
  const { publicKey } = await generate();
  await assert.rejects(readPublicKey(base64(publicKey), at(-1)), refusal("pgp-key-not-yet-valid"));
});

test("a revoked key is refused", async () => {
  const { privateKey } = await generate();
  const date = new Date(MADE + HOUR);
  const revoked = await openpgp.revokeKey({ key: privateKey, date, format: "object" });
  await assert.rejects(readPublicKey(base64(revoked.publicKey), at(2)), refusal("pgp-key-revoked"));
});

test("a key without a usable encryption subkey is refused", async () => {
  const none = await generate({ subkeys: [] });
  const signing = await generate({ subkeys: [{ sign: true }] });
  const expired = await generate({ subkeys: [{ keyExpirationTime: 3600 }] });
  for (const { publicKey } of [none, signing, expired]) {
    const code = refusal("pgp-key-no-encryption-key");
    await assert.rejects(readPublicKey(base64(publicKey), at(2)), code);
  }
});

test("an RSA key below 2048 bits is refused", async () => {
  const config = { minRSABits: 1024 };
  const { publicKey } = await generate({ type: "rsa", rsaBits: 1024, config });
  const code = refusal("pgp-key-no-encryption-key", /at least 2048 bits/);
  await assert.rejects(readPublicKey(base64(publicKey), at(1)), code);
});

test("a key whose numbers cannot encrypt is refused when it is read", async () => {
  const { privateKey } = await generate({ type: "curve25519" });
  const [subkey] = privateKey.subkeys;
  assert.ok(subkey);
  // A point of small order, under a binding signature that is made anew and valid.
  Object.assign(subkey.keyPacket.publicParams, { A: new Uint8Array(32) });
  const date = new Date(MADE);
  const { publicKey } = await openpgp.reformatKey({ privateKey, userIDs, date, format: "object" });
  await assert.rejects(readPublicKey(base64(publicKey), at(1)), refusal("pgp-key-unusable"));
});

test("a private key is refused in every form", async () => {
  const { privateKey } = await generate();
  for (const form of [base64(privateKey), privateKey.armor()]) {
    await assert.rejects(readPublicKey(form, at(1)), refusal("pgp-key-private"));
  }
});

test("more than one key in one place is refused", async () => {
  const [a, b] = [(await generate()).publicKey, (await generate()).publicKey];
  const binary = Buffer.concat([a.write(), b.write()]).toString("base64");
  const armored = `${a.armor()}\n${b.armor()}`;
  for (const form of [binary, armored, Buffer.from(armored).toString("base64")]) {
    await assert.rejects(readPublicKey(form, at(1)), refusal("pgp-key-several"));
  }
});

test("what is no key is refused without being repeated", async () => {
  const { publicKey } = await generate();
  const message = await openpgp.encrypt({
    message: await openpgp.createMessage({ text: "x" }),
    encryptionKeys: publicKey,
    date: new Date(MADE),
  });
  const cut = publicKey.write().subarray(0, 40);
  const inputs = [
    "",
    "   ",
    "c2VjcmV0IHNoYXJlIG9mIGFuIG9wZXJhdG9y",
    "not*base64",
    Buffer.from(cut).toString("base64"),
    message,
    "-----BEGIN PGP PUBLIC KEY BLOCK-----",
    publicKey.armor().slice(0, 200),
  ];
  for (const input of inputs) {
    await assert.rejects(readPublicKey(input, at(1)), (error: unknown) => {
      assert.ok(refusal("pgp-key-unreadable")(error) && error instanceof Failure);
      assert.ok(input.trim() === "" || !error.message.includes(input));
      assert.equal(error.cause, undefined);
      return true;
    });
  }
});

test("more than 64 KiB of text is refused, whatever it holds", async () => {
  const { publicKey } = await generate();
  const padded = publicKey.armor().padEnd(65_536, "\n");
  assert.ok(await readPublicKey(padded, at(1)));
  await assert.rejects(readPublicKey(`${padded}\n`, at(1)), refusal("pgp-key-too-long", /65536/));
});

test("a refusal names the key's place in the list, counted from one", async () => {
  await assert.rejects(
    readPublicKey("nothing", at(1), 2),
    refusal("pgp-key-unreadable", /^PGP key 3 of the list is neither/),
  );
  await assert.rejects(readPublicKey("nothing", at(1)), refusal("pgp-key-unreadable", /^the PGP/));
});

/** A primary key packet of version 4 with the given numbers, and a user ID. */
function bareKey(algorithm: number, bits: readonly number[]): string {
  const numbers = bits.map((length) => {
    const bytes = Buffer.alloc(2 + Math.ceil(length / 8), 0xff);
    bytes.writeUInt16BE(length, 0);
    bytes[2] = 0xff >> ((8 - (length % 8)) % 8);
    return bytes;
  });
  const created = Buffer.alloc(4);
  created.writeUInt32BE(MADE / 1000, 0);
  const body = Buffer.concat([Buffer.from([4]), created, Buffer.from([algorithm]), ...numbers]);
  const head = Buffer.from([0xc6, 0xff, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 2);
  return Buffer.concat([head, body, Buffer.from([0xcd, 1, 0x78])]).toString("base64");
}

test("keys that would take minutes to check are refused before anything is verified", async () => {
  const [dsa, rsa] = [17, 1];
  const slow = [
    bareKey(dsa, [2048, 256, 2048, 2048]),
    bareKey(rsa, [8193, 17]),
    bareKey(rsa, [2048, 33]),
  ];
  for (const key of slow) {
    await assert.rejects(readPublicKey(key, at(1)), refusal("pgp-key-algorithm"));
  }
  // Within the limits such a bare key is refused for what it lacks.
  const bare = readPublicKey(bareKey(rsa, [8192, 32]), at(1));
  await assert.rejects(bare, refusal("pgp-key-no-encryption-key"));
  const ed448 = await generate({ type: "curve448" });
  await assert.rejects(readPublicKey(base64(ed448.publicKey), at(1)), refusal("pgp-key-algorithm"));
});

test("a key may have 32 signatures of its own and a hundred of others", async () => {
  const { publicKey } = await generate();
  const packets = [...publicKey.toPacketList()];
  const first = packets.findIndex((packet) => packet instanceof openpgp.SignaturePacket);
  const withMore = (count: number, more: openpgp.BasePacket) => {
    const list = new openpgp.PacketList<openpgp.AnyPacket>();
    list.push(...packets.slice(0, first + 1), ...Array.from({ length: count }, () => more));
    list.push(...packets.slice(first + 1));
    return Buffer.from(list.write()).toString("base64");
  };
  const own = packets[first];
  assert.ok(own);
  // Two are there already: one for the user, one for the subkey.
  assert.ok(await readPublicKey(withMore(30, own), at(1)));
  const over = readPublicKey(withMore(31, own), at(1));
  await assert.rejects(over, refusal("pgp-key-signatures", /over 32 signatures/));

  const { privateKey: friend } = await generate();
  const signed = await publicKey.signPrimaryUser([friend], new Date(MADE));
  const [foreign] = signed.users[0]?.otherCertifications ?? [];
  assert.ok(foreign);
  assert.ok(await readPublicKey(withMore(100, foreign), at(1)));
});

test("the library is loaded when a key is first read, not before", async () => {
  const { publicKey } = await generate();
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const count = () => loaded.filter((url) => url.includes("/openpgp/")).length;
    const { readPublicKey } = await import(${JSON.stringify(import.meta.resolve("./pgp.ts"))});
    const before = count();
    await readPublicKey(${JSON.stringify(base64(publicKey))}, ${at(1)}n);
    console.log(before, count() > 0);
  `;
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  assert.equal(stdout, "0 true\n");
});

test("a key of more than 256 parts is refused before the library reads it", async () => {
  const { publicKey } = await generate();
  const plain = Buffer.from(publicKey.write());
  const parts = publicKey.toPacketList().length;
  const marker = [0xca, 3, 0x50, 0x47, 0x50]; // which every reader passes over
  const padded = (count: number) =>
    Buffer.concat([plain, Buffer.from(Array.from({ length: count }, () => marker).flat())]);
  assert.ok(await readPublicKey(padded(256 - parts).toString("base64"), at(1)));
  const over = readPublicKey(padded(257 - parts).toString("base64"), at(1));
  await assert.rejects(over, refusal("pgp-key-packets", /more than 256 parts/));
});

test("an armored key with pages of headers is refused", async () => {
  const { publicKey } = await generate();
  const [first = "", ...rest] = publicKey.armor().split("\n");
  const withHeaders = (count: number) =>
    [first, ...Array.from({ length: count }, () => "Comment: x"), ...rest].join("\n");
  assert.ok(await readPublicKey(withHeaders(15), at(1)));
  await assert.rejects(readPublicKey(withHeaders(16), at(1)), refusal("pgp-key-unreadable"));
});
