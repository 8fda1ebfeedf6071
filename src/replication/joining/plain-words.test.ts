import assert from "node:assert/strict";
import test from "node:test";
import { explain, Failure } from "@holdfast/shared/failure";
import { inWords } from "./plain-words.ts";

test("names of errors are told in words, and everything else as it stands", () => {
  for (const [name, words] of [
    ["ECONNREFUSED", /: connection refused$/],
    ["EHOSTUNREACH", /: host is unreachable$/],
    ["ENOTFOUND", /: its name is not known$/],
    ["ERR_SSL_WRONG_VERSION_NUMBER", /: it does not speak TLS/],
    ["CERT_HAS_EXPIRED", /: its certificate is not valid/],
    ["INVALID_PURPOSE", /: its certificate is not accepted$/],
  ] as const) {
    assert.match(inWords(`a.example cannot be reached: ${name}`), words);
  }
  const plain = "a.example cannot be reached: it did not answer in time";
  assert.equal(inWords(plain), plain);
});

test("the cause of a failure is told without the names that a system has for it", () => {
  const reset = Object.assign(new Error("read"), { code: "ECONNRESET", errno: -104 });
  const tls = Object.assign(new Error("x"), { code: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA" });
  const failed = (cause: Error) => new Failure("unavailable", "x", "it ended", { cause });
  assert.equal(explain(failed(reset)), "it ended: connection reset by peer");
  assert.equal(explain(failed(tls)), "it ended");
  assert.doesNotMatch(explain(tls), /ERR_|TLSV1/);
});
