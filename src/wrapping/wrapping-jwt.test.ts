import assert from "node:assert/strict";
import test from "node:test";
import { claimedSecret, isCurrent, signedClaims } from "./wrapping-jwt.ts";

const SECOND = 1_000_000_000n;
const ISSUED = 1_767_225_600n * SECOND + 700_000_000n; // inside a second
const CLAIMS = {
  address: "https://holdfast.example:8200",
  namespace: "team",
  accessor: "an accessor",
  reference: "a reference",
  secret: "the secret",
  issued: ISSUED,
  expires: ISSUED + 1800n * SECOND,
};
const signature = Buffer.alloc(132, 7);
const made = (more: Partial<typeof CLAIMS> = {}) =>
  signedClaims({ ...CLAIMS, ...more }, async () => signature);

test("the claims are these and no others, and the lifetime is to the second", async () => {
  const [head = "", payload = "", end = ""] = (await made()).split(".");
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown;
  assert.deepEqual(read(head), { alg: "ES512", typ: "JWT" });
  assert.deepEqual(read(payload), {
    accessor: "an accessor",
    addr: "https://holdfast.example:8200",
    exp: 1_767_227_400,
    iat: 1_767_225_600,
    jti: "a reference",
    nbf: 1_767_225_595,
    ns: "team",
    st: "the secret",
    type: "wrapping",
  });
  assert.equal(end, signature.toString("base64url"));
});

test("what was made is read back, with the text that was signed", async () => {
  const text = await made();
  const claimed = claimedSecret(text);
  assert.equal(claimed?.secret, "the secret");
  assert.equal(claimed?.accessor, "an accessor");
  assert.equal(claimed?.signed, text.slice(0, text.lastIndexOf(".")));
  assert.deepEqual(claimed?.signature, signature);
});

test("it counts from five seconds before its making to the second of its end", async () => {
  const claimed = claimedSecret(await made());
  assert.ok(claimed !== null);
  const at = (offset: bigint) => isCurrent(claimed, ISSUED + offset * SECOND);
  assert.deepEqual([-7n, -5n, 0n, 1800n, 1801n].map(at), [false, true, true, true, false]);
});

test("what looks otherwise is nothing that is looked at further", async () => {
  const text = await made();
  const [head = "", payload = "", end = ""] = text.split(".");
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<
    string,
    unknown
  >;
  for (const other of [
    "",
    "a-token",
    head,
    `${head}.`,
    `${head}.${payload}`,
    `${text}.${end}`,
    `${encode({ alg: "none", typ: "JWT" })}.${payload}.${end}`,
    `${encode({ typ: "JWT", alg: "ES512" })}.${payload}.${end}`,
    `${head}.${encode({ ...claims, type: "other" })}.${end}`,
    `${head}.${encode({ ...claims, st: 1 })}.${end}`,
    `${head}.${encode({ ...claims, accessor: null })}.${end}`,
    `${head}.${encode({ ...claims, exp: "9999999999" })}.${end}`,
    `${head}.${encode({ ...claims, nbf: undefined })}.${end}`,
    `${head}.${encode(null)}.${end}`,
    `${head}.${encode("text")}.${end}`,
    `${head}.bm90IGpzb24.${end}`,
  ]) {
    assert.equal(claimedSecret(other), null, other);
  }
});
