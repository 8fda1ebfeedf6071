import assert from "node:assert/strict";
import test from "node:test";
import { SystemRandom } from "../../base/random.ts";
import { Secret } from "../../base/secret.ts";
import { refused } from "../../../tests/support/made-tokens.ts";
import { Passwords, USUAL_COST } from "./passwords.ts";

const CHEAP = { n: 16, r: 1, p: 1 };
const random = new SystemRandom();
const asking = { address: "192.0.2.1", signal: new AbortController().signal };

test("a password matches its own hash, also after the cost was raised", async () => {
  const hash = await new Passwords(CHEAP).hash(new Secret("x"), random);
  const dearer = new Passwords({ n: 32, r: 1, p: 2 });
  assert.equal(await dearer.matches(new Secret("x"), hash, asking), true);
  assert.equal(await dearer.matches(new Secret("y"), hash, asking), false);
  assert.equal(await dearer.matches(new Secret(""), hash, asking), false);
  assert.equal(await dearer.matches(new Secret("x"), null, asking), false);
});

test("the usual cost is one that guides to password storage recommend", async () => {
  assert.deepEqual(USUAL_COST, { n: 32_768, r: 8, p: 3 });
  const passwords = new Passwords();
  const hash = await passwords.hash(new Secret("x"), random);
  assert.deepEqual([hash.n, hash.r, hash.p], [32_768, 8, 3]);
  assert.equal(await passwords.matches(new Secret("x"), hash, asking), true);
});

test("of an address eight wait, and 128 in all; whoever comes after is told to come back", async () => {
  const passwords = new Passwords(CHEAP);
  const from = (address: string) =>
    passwords.matches(new Secret("x"), null, { ...asking, address });
  const one = await Promise.allSettled(Array.from({ length: 40 }, () => from("192.0.2.1")));
  assert.equal(one.filter(({ status }) => status === "rejected").length, 31);
  const all = Array.from({ length: 140 }, (_, i) => from(`192.0.2.${Math.floor(i / 8)}`));
  const results = await Promise.allSettled(all);
  const refusals = results.filter(({ status }) => status === "rejected");
  assert.equal(refusals.length, 10);
  await assert.rejects(
    async () => {
      const [first] = refusals;
      assert.ok(first?.status === "rejected");
      throw first.reason;
    },
    refused(/too many logins at once/, "unavailable"),
  );
  assert.equal(await passwords.matches(new Secret("x"), null, asking), false);
});

test("a caller that has gone costs no work", async () => {
  const gone = AbortSignal.abort();
  const passwords = new Passwords(CHEAP);
  await assert.rejects(
    passwords.matches(new Secret("x"), null, { ...asking, signal: gone }),
    refused(/did not wait/, "timed-out"),
  );
  assert.equal(await passwords.matches(new Secret("x"), null, asking), false);
});
