import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesBar, sizeText } from "./size.ts";

test("sizes have the unit that keeps them short", () => {
  assert.equal(sizeText(0), "0 bytes");
  assert.equal(sizeText(1023), "1023 bytes");
  assert.equal(sizeText(1536), "1.5 KiB");
  assert.equal(sizeText(5 * 1024 ** 3), "5.0 GiB");
});

test("a bar is as full as the work is done, and is none where the whole is not known", () => {
  assert.equal(bytesBar(1024, 4096), "[######------------------] 25 %, 1.0 KiB of 4.0 KiB");
  assert.equal(bytesBar(9, 4), "[########################] 100 %, 9 bytes of 4 bytes");
  assert.equal(bytesBar(2048, null), "2.0 KiB");
});
