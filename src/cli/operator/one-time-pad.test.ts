// Taking a one-time password off.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "@holdfast/shared/secret";
import { uncover } from "./one-time-pad.ts";

test("uncover() is the inverse of covering, and says what does not fit", () => {
  const token = "a-token";
  const otp = "Zx81qP0";
  const covered = Buffer.from(token).map((byte, i) => byte ^ otp.charCodeAt(i));
  const encoded = Buffer.from(covered).toString("base64").replace(/=+$/, "");
  assert.equal(uncover(`${encoded}\n`, new Secret(otp)).reveal(), token);
  assert.throws(() => uncover(encoded, new Secret("short")), /5 bytes; it must have 7/);
  assert.throws(() => uncover("not base64!", new Secret(otp)), /not base64/);
  assert.throws(() => uncover("/////////w", new Secret(otp)), /not the one-time password/);
});
