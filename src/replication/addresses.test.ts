// What is an address of a cluster port, and what is not.

import assert from "node:assert/strict";
import test from "node:test";
import { clusterAddressText, parseClusterAddress } from "./addresses.ts";

test("addresses have one form, however they are written", () => {
  for (const [text, one] of [
    ["https://a.example:8201", "https://a.example:8201"],
    ["a.example:8201", "https://a.example:8201"],
    ["https://a.example:443/", "https://a.example:443"],
    ["[::1]:8201", "https://[::1]:8201"],
    ["https://10.0.0.1:1", "https://10.0.0.1:1"],
  ] as const) {
    assert.equal(clusterAddressText(text), one, text);
  }
  assert.deepEqual(parseClusterAddress("[::1]:8201"), { host: "::1", port: 8201 });
});

test("what is none is refused", () => {
  for (const text of [
    "",
    "a.example",
    "http://a.example:8201",
    "https://a.example",
    "https://u:p@a.example:8201",
    "https://a.example:8201/x",
    "https://a.example:8201?x",
    "a.example:0",
    "a.example:65536",
    "a b:1",
    "x".repeat(400) + ":1",
  ]) {
    assert.equal(clusterAddressText(text), null, text);
  }
});
