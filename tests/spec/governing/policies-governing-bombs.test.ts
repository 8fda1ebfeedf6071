// Programs that would run for ever, or grow for ever: denied, while others are served (5.9, T-C03, T-C14).

import assert from "node:assert/strict";
import test from "node:test";
import { SystemClock } from "../../../src/system/clock.ts";
import type { Nanos } from "@holdfast/shared/world";
import { governedServer } from "../../support/servers/governed-server.ts";
import { at } from "../../support/http-client.ts";

const HARD = "hard-mandatory";
const LOOKUP = "/v1/auth/token/lookup-self";
const MANY = 30;
const TEN = "[0,1,2,3,4,5,6,7,8,9]";

function nested(depth: number): string {
  let text = "true";
  for (let i = 0; i < depth; i++) text = `${TEN}.all(x${i}, ${text})`;
  return text;
}

/** Twice as long with each rule. */
function doubling(rules: number): string {
  const lines = ['rule r0 { size(request.path + "xxxxxxxxxxxxxxxx") > 0 }'];
  let text = '"xxxxxxxxxxxxxxxx"';
  for (let i = 0; i < rules; i++) text = `(${text} + ${text})`;
  return [...lines, `main { size(${text}) > 0 }`].join("\n");
}

const BOMBS: readonly (readonly [string, string])[] = [
  ["loops in loops", nested(6)],
  ["a text that doubles", doubling(10).slice(0, 60_000)],
  ["a pattern that others take for ever on", 'request.data.text.matches("^(a+)+$")'],
  [
    "a list that grows with each round",
    `${TEN}.map(a, ${TEN}.map(b, ${TEN}.map(c, ${TEN}.map(d, ${TEN})))).size() < 0`,
  ],
];

test("each is denied, and a request that nothing governs is answered all the same", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", 'path "secret/*" { capabilities = ["read", "update", "create"] }');
  const bound = await server.client(["all"]);
  const free = await server.client(["all"]);
  let written = 0;
  for (const [name, policy] of BOMBS) {
    const body = { policy, enforcement_level: HARD, paths: ["secret/*"] };
    const path = "/v1/sys/policies/egp/bomb";
    const answer = await server.manage("POST", path, { body });
    if (answer.status === 400) continue; // refused at the door
    assert.ok(answer.status < 300, `${name}: ${answer.text}`);
    written++;
    const text = `${"a".repeat(10_000)}!`;
    const both = await Promise.all([
      server.call("POST", "/v1/secret/x", { token: bound.secret, body: { text } }),
      server.call("GET", LOOKUP, { token: free.secret }),
    ]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [403, 200],
      name,
    );
    assert.match(String(at(both[0], "errors", 0)), /egp standard policy "root\/bomb"/);
  }
  assert.ok(written >= 2);
});

/** Each look at it takes a while. */
class SlowClock extends SystemClock {
  #waited = 0n;

  override elapsed(): Nanos {
    this.#waited += 2_000_000n;
    return super.elapsed() + this.#waited;
  }
}

test("thirty on one token do not hold up the others, and are told as slow", async (t) => {
  const server = await governedServer(t, { world: { clock: new SlowClock() } });
  for (let i = 0; i < MANY; i++) await server.rgp(`bomb-${i}`, nested(6), HARD);
  const bound = await server.client(Array.from({ length: MANY }, (_, i) => `bomb-${i}`));
  const free = await server.client(["other"]);
  let over = false;
  let between = 0;
  const heavy = server.call("GET", LOOKUP, { token: bound.secret }).finally(() => (over = true));
  while (!over) {
    const { status } = await server.call("GET", LOOKUP, { token: free.secret });
    assert.equal(status, 200);
    if (!over) between++;
  }
  const answer = await heavy;
  assert.equal(answer.status, 403);
  assert.ok(String(at(answer, "errors", 0)).startsWith(`${MANY + 1} errors occurred:\n`));
  // Four use up what they have together; the others find nothing left, and have failed as well.
  assert.match(String(at(answer, "errors", 0)), /the budget of 20000 steps is used up/);
  assert.match(String(at(answer, "errors", 0)), /the budget of 80000 steps for all policies/);
  assert.ok(between >= 3, `${between} were answered meanwhile`);
  const line = server.test.lines.find((text) => text.includes("took long")) ?? "";
  assert.match(line, new RegExp(`policies.?[=:]\\s*"?${MANY}`));
  const { text } = await server.must("GET", "/v1/sys/metrics?format=prometheus");
  assert.match(text, /\nholdfast_policy_slow_requests_total 1\n/);
});
