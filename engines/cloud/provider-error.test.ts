import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { isThrottled } from "@holdfast/plugin-sdk/failure";
import {
  failureOf,
  ProviderError,
  type ProviderErrorFacts,
  errorForCaller,
} from "./provider-error.ts";

function made(facts: Partial<ProviderErrorFacts> = {}): ProviderError {
  return new ProviderError({
    step: "iam:CreateUser",
    code: "AccessDenied",
    message: "you may not",
    status: 403,
    requestId: "req-1",
    kind: "refused",
    secrets: [],
    ...facts,
  });
}

test("its text has step, code, the provider's words and the request's id", () => {
  const { message } = made();
  assert.equal(message, "iam:CreateUser: AccessDenied: you may not (provider request id req-1)");
  assert.equal(made({ message: "", requestId: "" }).message, "iam:CreateUser: AccessDenied");
});

test("what was refused is the caller's to mend, what failed is the provider's", () => {
  const kinds = ["refused", "throttled", "unreachable", "unknown"] as const;
  const failures = kinds.map((kind) => failureOf(made({ kind })));
  assert.deepEqual(
    failures.map((failure) => failure.kind),
    ["invalid", "upstream", "upstream", "upstream"],
  );
  assert.deepEqual(failures.map(isThrottled), [false, true, false, false]);
});

test("throttling tells when to come back: what the provider says, or a few seconds by HTTP", () => {
  const retryAfter = (error: unknown) => (error instanceof Failure ? error.retryAfter : null);
  assert.equal(retryAfter(failureOf(made({ kind: "throttled", retryAfter: 17 }))), 17);
  assert.equal(retryAfter(failureOf(made({ kind: "throttled" }))), 0);
  assert.equal(retryAfter(errorForCaller(made({ kind: "throttled" }))), 5);
  const other = new Error("not of a provider");
  assert.equal(errorForCaller(other), other);
});

test("only a known outcome is harmless, and only after no doubtful one", () => {
  assert.equal(made({ kind: "refused" }).harmless, true);
  assert.equal(made({ kind: "unknown" }).harmless, false);
  assert.equal(made({ kind: "refused", doubtful: true }).harmless, false);
});

test("T-I06: a secret is in no text, whatever form the provider gives it back in", () => {
  const secret = 'wJalr/XU"tnF+EMI&K7<M>DENG=x';
  const bytes = Buffer.from(secret);
  const echoes = [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ k: secret }).toString().slice(2),
    JSON.stringify(secret),
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
    bytes.toString("base64"),
    bytes.toString("hex"),
  ];
  for (const echo of echoes) {
    const error = made({ message: `key ${echo}!`, requestId: echo, code: echo, secrets: [secret] });
    const text = JSON.stringify([error.message, error.said, error.code, error.requestId]);
    assert.ok(!text.includes(echo), echo);
    assert.ok(error.message.includes("[secret]"));
  }
});

test("its text is one line of bounded length that steers no terminal", () => {
  const { message } = made({ message: `a\r\n\u001b[2J\u202e${"x".repeat(50_000)}` });
  assert.ok(message.length < 1200);
  assert.ok(!/[\p{Cc}\p{Cf}]/u.test(message));
});
