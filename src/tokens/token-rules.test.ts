// What a new token may be, and in which words it is refused. Numbers are those of
// the conformance cases.

import assert from "node:assert/strict";
import test from "node:test";
import { START } from "../../tests/support/fake-world.ts";
import {
  CLIENT,
  HOUR,
  madeTokens,
  MANAGEMENT,
  MINUTE,
  problemsText,
  refused,
  SECOND,
} from "../../tests/support/made/made-tokens.ts";

const TOO_SHORT = (was: string) =>
  `expiration time cannot be less than 1m0s in the future (was ${was})`;
const TOO_LONG = (was: string) =>
  `expiration time cannot be more than 24h0m0s in the future (was ${was})`;

const invalid: readonly [name: string, change: object, problems: readonly string[]][] = [
  ["14: no type", { type: "" }, ["token type must be client or management"]],
  ["15: a type in another case", { type: "Client" }, ["token type must be client or management"]],
  ["T-B10: Management", { type: "Management" }, ["token type must be client or management"]],
  ["16: a client without policies", { policies: [] }, ["client token missing policies or roles"]],
  [
    "17: management with policies",
    { type: "management" },
    ["management token cannot be associated with policies or roles"],
  ],
  ["19: a name of 257 bytes", { name: "ä".repeat(128) + "x" }, ["token name too long"]],
  ["22: a TTL of 30 s", { ttl: 30n * SECOND }, [TOO_SHORT("30s")]],
  ["a TTL a nanosecond too short", { ttl: MINUTE - 1n }, [TOO_SHORT("59.999999999s")]],
  ["23: a TTL of 25 h", { ttl: 25n * HOUR }, [TOO_LONG("25h0m0s")]],
  ["a TTL a nanosecond too long", { ttl: 24n * HOUR + 1n }, [TOO_LONG("24h0m0.000000001s")]],
  ["T-B14: the longest TTL", { ttl: 2n ** 63n - 1n }, [TOO_LONG("2562047h47m16.854775807s")]],
  ["25: a negative TTL", { ttl: -HOUR }, ["token expiration TTL '-1h0m0s' should not be negative"]],
  [
    "27: an expiry an hour ago",
    { expires: START - HOUR },
    ["expiration time cannot be before create time", TOO_SHORT("-1h0m0s")],
  ],
  ["an explicit expiry too far off", { expires: START + 48n * HOUR }, [TOO_LONG("48h0m0s")]],
  ["an explicit expiry too close", { expires: START }, [TOO_SHORT("0s")]],
  [
    "29: several at once",
    { type: "x", name: "n".repeat(257) },
    ["token name too long", "token type must be client or management"],
  ],
  [
    "more policies than 1,024",
    { policies: Array.from({ length: 1025 }, (_, i) => `p${i}`) },
    ["a token may have at most 1024 policies"],
  ],
];
for (const [name, change, problems] of invalid) {
  test(`${name} is refused, and nothing is made`, async () => {
    const { tokens, engine } = await madeTokens();
    engine.batches.length = 0;
    const made = tokens.writes.create({ ...CLIENT, ...change });
    await assert.rejects(made, refused(problemsText(...problems)));
    assert.equal(engine.batches.length, 0);
  });
}

test("T-B10: no spelling of root is taken for a policy", async () => {
  const { tokens } = await madeTokens();
  for (const name of ["root", "Root", "ROOT"]) {
    const made = tokens.writes.create({ ...CLIENT, policies: ["a", name] });
    await assert.rejects(made, refused(/policy "root" cannot be attached to a client token/));
  }
  for (const name of [" root", "root ", "ｒｏｏｔ", "root\u200b", "root/", "/root", "", "root\n"]) {
    const made = tokens.writes.create({ ...CLIENT, policies: [name] });
    await assert.rejects(made, refused(/invalid policy name: accepted are 1 to 128/));
  }
});

test("there are no roles yet, so whatever is named is none", async () => {
  const { tokens } = await madeTokens();
  const made = tokens.writes.create({ ...CLIENT, roles: ["ops"] });
  await assert.rejects(made, refused("cannot find role ops"));
  assert.ok(await tokens.writes.create({ ...CLIENT, roles: [] }));
});

test("both bounds of a lifetime are included, and 1,024 policies are not too many", async () => {
  const { tokens } = await madeTokens();
  for (const ttl of [MINUTE, 24n * HOUR]) {
    const { expires } = await tokens.writes.create({ ...CLIENT, ttl });
    assert.equal(expires, START + ttl);
  }
  const policies = Array.from({ length: 1024 }, (_, i) => `p${i}`);
  assert.deepEqual((await tokens.writes.create({ ...CLIENT, policies })).policies, policies);
  assert.equal((await tokens.writes.create({ ...CLIENT, name: "n".repeat(256) })).name.length, 256);
});

test("a TTL sets the expiry to the nanosecond, an expiry of its own leaves no TTL", async () => {
  const { tokens, world } = await madeTokens();
  world.clock.pass(123_456_789n);
  const byTtl = await tokens.writes.create({ ...CLIENT, ttl: 8n * HOUR });
  assert.equal(byTtl.created, START + 123_456_789n);
  assert.equal(byTtl.expires, byTtl.created + 8n * HOUR);
  assert.equal(byTtl.ttl, 8n * HOUR);
  const byTime = await tokens.writes.create({ ...CLIENT, expires: START + 2n * HOUR + 7n });
  assert.equal(byTime.expires, START + 2n * HOUR + 7n);
  assert.equal(byTime.ttl, null);
});

test("of a TTL and an expiry the TTL counts", async () => {
  const { tokens } = await madeTokens();
  const fields = { ...CLIENT, ttl: HOUR, expires: START + 5n * HOUR };
  assert.equal((await tokens.writes.create(fields)).expires, START + HOUR);
});

test("management tokens may expire too, and no expiry is always allowed", async () => {
  const { tokens } = await madeTokens();
  assert.equal((await tokens.writes.create({ ...MANAGEMENT, ttl: HOUR })).expires, START + HOUR);
  assert.equal((await tokens.writes.create(MANAGEMENT)).expires, null);
});

test("the bounds are those of the configuration, and can be left away by whoever cuts by himself", async () => {
  const { tokens } = await madeTokens({ lifetimes: { min: HOUR, max: 2n * HOUR } });
  const text = "expiration time cannot be less than 1h0m0s in the future (was 1m0s)";
  await assert.rejects(
    tokens.writes.create({ ...CLIENT, ttl: MINUTE }),
    refused(problemsText(text)),
  );
  assert.ok(await tokens.writes.create({ ...CLIENT, ttl: MINUTE }, null));
  const past = tokens.writes.create({ ...CLIENT, expires: START - 1n }, null);
  await assert.rejects(past, refused(problemsText("expiration time cannot be before create time")));
});

test("policies are kept in order and once, and unknown ones are warned of", async () => {
  const known = new Set(["root/a", "root/b", "t1/c"]);
  const kindOf = (id: string, name: string) => (known.has(`${id}/${name}`) ? "acl" : null);
  const { tokens } = await madeTokens({ policies: { kindOf } });
  const token = await tokens.writes.create({ ...CLIENT, policies: ["b", "nope", "a", "b", "c"] });
  assert.deepEqual(token.policies, ["b", "nope", "a", "c"]);
  assert.deepEqual(tokens.warningsOn(token), ["unknown policies: nope, c"]);
  const fine = await tokens.writes.create({ ...CLIENT, policies: ["a"] });
  assert.deepEqual(tokens.warningsOn(fine), []);
});

test("a token that carries RGPs and no ACL policy is warned of; strictly, unknown names are refused", async () => {
  const kinds = new Map<string, "acl" | "rgp">([
    ["office", "rgp"],
    ["a", "acl"],
  ]);
  const kindOf = (_: string, name: string) => kinds.get(name) ?? null;
  const { tokens } = await madeTokens({ policies: { kindOf } });
  const warned = async (...policies: string[]) =>
    tokens.warningsOn(await tokens.writes.create({ ...CLIENT, policies }));
  assert.deepEqual(await warned("office"), ["token has no ACL policy"]);
  assert.deepEqual(await warned("office", "a"), []);
  assert.deepEqual(await warned("office", "x"), ["unknown policies: x", "token has no ACL policy"]);
  assert.deepEqual(await warned("x"), ["unknown policies: x"]);
  assert.throws(
    () => tokens.checkPolicies("root", ["a", "x", "office", "y"]),
    refused("unknown policies: x, y"),
  );
});
