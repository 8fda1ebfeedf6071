// Comparison of secret bytes.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import { sameBytes } from "./same-bytes.ts";

test("sameBytes() agrees with equality, whatever the lengths", () => {
  const anyBytes = fc.uint8Array({ maxLength: 100 });
  fc.assert(
    fc.property(anyBytes, anyBytes, (x, y) => {
      assert.equal(sameBytes(x, y), hex(x) === hex(y));
      assert.ok(sameBytes(x, Uint8Array.from(x)));
    }),
  );
});
