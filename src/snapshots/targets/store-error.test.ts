import assert from "node:assert/strict";
import test from "node:test";
import { StoreError } from "./store-error.ts";

test("what a store answered is quoted, short, without control characters and secrets", () => {
  const { message } = new StoreError({
    step: "probing",
    status: 403,
    code: "Denied: all is well",
    message: `no "key" s3cret-word\u001b[2J\r\n: the snapshot was stored ${"x".repeat(5000)}`,
    requestId: "a) all is well (b",
    passes: false,
    secrets: ["s3cret-word"],
  });
  // The x at its end are the first of five thousand.
  const start =
    'probing: the store answered 403: "Denied: all is well": "no \\"key\\" [secret] [2J : the snapshot was stored xxx';
  assert.equal(message.slice(0, start.length), start);
  assert.match(message, /x…" \(request id "a\) all is well \(b"\)$/);
  assert.ok(message.length < 900);
});

test("a code of one word stands as it is, and words of ours are not quoted", () => {
  const facts = { step: "listing", code: "AccessDenied", message: "no", passes: false };
  const { message } = new StoreError({ ...facts, status: 403, requestId: "A1/b+c=" });
  assert.equal(message, 'listing: the store answered 403: AccessDenied: "no" (request id A1/b+c=)');
  const own = new StoreError({ step: "listing", message: "the connection ended", passes: true });
  assert.equal(own.message, "listing: the connection ended");
});
