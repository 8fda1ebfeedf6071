// The texts of system errors are those that the runtime has.

import assert from "node:assert/strict";
import test from "node:test";
import { getSystemErrorMap } from "node:util";
import { systemErrorText } from "./system-errors.ts";

test("every error of this system has the runtime's text", () => {
  const all = [...getSystemErrorMap().values()];
  assert.ok(all.length > 50);
  for (const [code, text] of all) assert.equal(systemErrorText(code), text, code);
  assert.equal(systemErrorText("EUNHEARDOF"), undefined);
});
