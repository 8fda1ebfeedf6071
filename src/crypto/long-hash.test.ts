import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { LongHash } from "./long-hash.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("each sum is of the bytes since the one before it, however many and in whatever pieces they came", async (t) => {
  const hash = new LongHash();
  t.after(() => hash.close());
  const sizes = fc.oneof(
    fc.integer({ min: 0, max: 3000 }),
    fc.constantFrom(128 * 1024 - 1, 128 * 1024, 128 * 1024 + 1, 300_000),
  );
  const step = fc.oneof(
    { weight: 6, arbitrary: sizes },
    { weight: 2, arbitrary: fc.constant("digest" as const) },
    { weight: 1, arbitrary: fc.constant("forget" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const results: Promise<string>[] = [];
      const expected: string[] = [];
      let region: Uint8Array[] = [];
      hash.forget();
      for (const [i, what] of [...steps, "digest" as const].entries()) {
        if (typeof what === "number") {
          const bytes = new Uint8Array(what).fill(i + 1);
          hash.update(bytes);
          region.push(bytes.slice());
          bytes.fill(0); // whoever wrote them goes on with the same memory
          continue;
        }
        if (what === "digest") {
          results.push(hash.digest());
          expected.push(sha256(Buffer.concat(region)));
        } else hash.forget();
        region = [];
      }
      assert.deepEqual(await Promise.all(results), expected);
    }),
    { numRuns: 60 },
  );
});

test("a thread that ends by itself fails the sums it had begun, and no other", async (t) => {
  const program = new URL("data:text/javascript,process.exit(3)");
  const hash = new LongHash(program);
  t.after(() => hash.close());
  const short = new Uint8Array(100).fill(7);
  hash.update(new Uint8Array(200_000));
  await assert.rejects(hash.digest(), /the thread that hashes has ended/);
  hash.update(short);
  assert.equal(await hash.digest(), sha256(short));
});

test("what is wanted when it is closed is still told, and it can go on", async () => {
  const hash = new LongHash();
  const long = new Uint8Array(500_000).fill(3);
  hash.update(long);
  const digest = hash.digest();
  hash.close();
  assert.equal(await digest, sha256(long));
  hash.update(long);
  assert.equal(await hash.digest(), sha256(long));
  hash.close();
});
