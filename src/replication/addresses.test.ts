// What is an address of a cluster port, and what is not.

import assert from "node:assert/strict";
import test from "node:test";
import { clusterAddressText, parseClusterAddress, usableApiAddress } from "./addresses.ts";

test("addresses have one form, however they are written", () => {
  for (const [text, one] of [
    ["https://a.example:8201", "https://a.example:8201"],
    ["a.example:8201", "https://a.example:8201"],
    ["https://a.example:443/", "https://a.example:443"],
    ["[::1]:8201", "https://[::1]:8201"],
    ["https://10.0.0.1:1", "https://10.0.0.1:1"],
    ["10.0.0.1.example.:8201", "https://10.0.0.1.example.:8201"],
    ["a.x0:8201", "https://a.x0:8201"],
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
    "0:8201",
    "0x0:8201",
    "2852039166:8201",
    "1.2.3:8201",
    "0x7f.1:8201",
    "0.0.0.0.:8201",
    "127.0.0.1.:8201",
  ]) {
    assert.equal(clusterAddressText(text), null, text);
  }
});

test("of what a primary says of the address of its API only an address is taken", () => {
  for (const right of ["https://vault.example:8200", "http://10.0.0.1", "https://[fd00::1]:8200"]) {
    assert.equal(usableApiAddress(right), right);
    assert.equal(usableApiAddress(`${right}/`), right);
  }
  for (const wrong of [
    "",
    "vault.example:8200",
    "ftp://vault.example",
    "javascript://vault.example",
    "https://operator@vault.example",
    "https://vault.example/path",
    "https://vault.example:0",
    "https://vault.example; run this",
    "https://vault.example\n",
    "https://vault.example\n\u001b[31mrun this",
    `https://${"x".repeat(300)}`,
  ]) {
    assert.equal(usableApiAddress(wrong), "", wrong);
  }
});
