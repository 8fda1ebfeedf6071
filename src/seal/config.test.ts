import assert from "node:assert/strict";
import { test } from "node:test";
import { text, utf8 } from "@holdfast/shared/bytes";
import { parseTime } from "@holdfast/shared/text/time";
import {
  checkShares,
  decodeConfig,
  encodeConfig,
  RECOVERY_FIELDS,
  type SealConfig,
  SECRET_FIELDS,
} from "./config.ts";
import { failure } from "../../tests/support/servers/sealed-node.ts";

const stamp = { nonce: "n-1", created: parseTime("2026-11-15T02:00:00.5Z") ?? 0n };
const shamir: SealConfig = {
  type: "shamir",
  scheme: { shares: 2, threshold: 2, pgpFingerprints: ["aa", "bb"] },
  ...stamp,
};
const auto: SealConfig = {
  type: "static",
  recovery: { shares: 5, threshold: 3, pgpFingerprints: [], canUnseal: true },
  ...stamp,
};

test("the row is readable JSON with its members", () => {
  assert.deepEqual(JSON.parse(text(encodeConfig(shamir))), {
    type: "shamir",
    shares: 2,
    threshold: 2,
    pgp_fingerprints: ["aa", "bb"],
    nonce: "n-1",
    created: "2026-11-15T02:00:00.5Z",
  });
  assert.deepEqual(JSON.parse(text(encodeConfig(auto))), {
    type: "static",
    shares: 1,
    threshold: 1,
    pgp_fingerprints: [],
    nonce: "n-1",
    created: "2026-11-15T02:00:00.5Z",
    recovery: { shares: 5, threshold: 3, pgp_fingerprints: [], can_unseal: true },
  });
});

test("what was written is read back", () => {
  for (const config of [shamir, auto]) assert.deepEqual(decodeConfig(encodeConfig(config)), config);
});

const good = JSON.parse(text(encodeConfig(shamir))) as Record<string, unknown>;
const goodAuto = JSON.parse(text(encodeConfig(auto))) as Record<string, unknown>;
const goodRecovery = goodAuto["recovery"] as Record<string, unknown>;
const { nonce: _, ...withoutNonce } = good;
const damaged: readonly [name: string, document: unknown][] = [
  ["nothing", undefined],
  ["null", null],
  ["an array", [good]],
  ["another type", { ...good, type: "pkcs11" }],
  ["no type", { ...good, type: undefined }],
  ["a member too many", { ...good, more: 1 }],
  ["a member too few", withoutNonce],
  ["shares as text", { ...good, shares: "2" }],
  ["no shares", { ...good, shares: 0 }],
  ["a threshold above the shares", { ...good, threshold: 3 }],
  ["one of several", { ...good, threshold: 1 }],
  ["too few fingerprints", { ...good, pgp_fingerprints: ["aa"] }],
  ["fingerprints that are no text", { ...good, pgp_fingerprints: [1, 2] }],
  ["a nonce that is no text", { ...good, nonce: 7 }],
  ["no time", { ...good, created: "yesterday" }],
  ["an empty time", { ...good, created: "" }],
  ["recovery beside shamir", { ...good, recovery: goodAuto["recovery"] }],
  ["an auto seal without recovery", { ...good, type: "static" }],
  ["recovery that is null", { ...goodAuto, recovery: null }],
  [
    "recovery without can_unseal",
    { ...goodAuto, recovery: { ...goodRecovery, can_unseal: undefined } },
  ],
  ["can_unseal as text", { ...goodAuto, recovery: { ...goodRecovery, can_unseal: "true" } }],
];

for (const [name, document] of damaged) {
  test(`a row with ${name} is damage`, () => {
    const bytes = utf8(document === undefined ? "" : JSON.stringify(document));
    const says = "the stored seal configuration is damaged; restore it from a snapshot";
    assert.throws(() => decodeConfig(bytes), failure("damaged", says));
  });
}

const keys = (count: number) => Array.from({ length: count }, (_, i) => `key ${i}`);

const accepted: readonly [shares: number | undefined, threshold: number | undefined, string][] = [
  [undefined, undefined, "5/3"],
  [1, 1, "1/1"],
  [1, undefined, "1/1"],
  [2, undefined, "2/2"],
  [7, undefined, "7/3"],
  [undefined, 5, "5/5"],
  [255, 255, "255/255"],
];
for (const [shares, threshold, made] of accepted) {
  test(`asking for ${shares} shares and threshold ${threshold} gives ${made}`, () => {
    const plan = checkShares({ shares, threshold, pgpKeys: undefined }, SECRET_FIELDS);
    assert.equal(`${plan.shares}/${plan.threshold}`, made);
  });
}

const refused: readonly [number | undefined, number | undefined, pgp: number, says: RegExp][] = [
  [0, undefined, 0, /^recovery_shares must be a whole number from 1 to 255$/],
  [256, 3, 0, /^recovery_shares must be a whole number from 1 to 255$/],
  [2.5, 2, 0, /^recovery_shares must be/],
  [Number.NaN, 2, 0, /^recovery_shares must be/],
  [
    5,
    1,
    0,
    /^recovery_threshold must be a whole number from 2 to 5 when the number of shares is 5$/,
  ],
  [5, 0, 0, /^recovery_threshold must be/],
  [5, 6, 0, /^recovery_threshold must be/],
  [5, 2.5, 0, /^recovery_threshold must be/],
  [undefined, 6, 0, /^recovery_threshold must be/],
  [1, 2, 0, /^recovery_threshold must be 1 when the number of shares is 1$/],
  [3, 2, 2, /^recovery_pgp_keys has 2 keys; give none, or one for each of the 3 shares$/],
  [3, 2, 4, /^recovery_pgp_keys has 4 keys/],
];
for (const [shares, threshold, pgp, says] of refused) {
  test(`${shares} shares, threshold ${threshold} and ${pgp} PGP keys are refused`, () => {
    const request = { shares, threshold, pgpKeys: keys(pgp) };
    assert.throws(() => checkShares(request, RECOVERY_FIELDS), failure("invalid", says));
  });
}
