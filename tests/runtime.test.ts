// Which versions of Node the scripts accept.

import assert from "node:assert/strict";
import test from "node:test";
import { runtimeRefusal } from "../scripts/runtime.ts";

const refused = [
  "20.20.2",
  "22.99.0",
  "24.18.0",
  "24.0.0",
  "25.9.9",
  "26.5.0",
  "26.0.0",
  "v24.9.5",
];
const accepted = ["24.18.1", "24.19.0", "26.5.1", "26.10.0", "27.0.0", "28.1.0", "v26.10.0"];

test("versions of Node with the known hole are refused in a sentence that says what to do", () => {
  for (const version of refused) {
    assert.match(runtimeRefusal(version) ?? "accepted", /is too old: .* is needed\. Run `npm ci`/);
  }
});

test("versions of Node without it are accepted", () => {
  for (const version of accepted) assert.equal(runtimeRefusal(version), null, version);
});
