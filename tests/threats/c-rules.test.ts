// Threats C where ACL policies are dear to read or to ask: nobody else waits for it. Through HTTP,
// against a whole server; time is that of the processor, so that other work on the machine does not count.

import assert from "node:assert/strict";
import test from "node:test";
import { longestBlock } from "../support/processor-time.ts";
import { EVERYTHING, rule, scene } from "./scene.ts";

const LIMIT = 50; // ms in which others must have their turn
const TIMEOUT = { timeout: 60_000 };

/** Of two runs the better: the first also pays for what the engine compiles. */
async function blockOf(work: () => Promise<unknown>): Promise<number> {
  return Math.min(await longestBlock(work), await longestBlock(work));
}

test("T-C03: values with a star are bounded when a policy is written", TIMEOUT, async (t) => {
  const stage = await scene(t);
  const write = async (count: number, length = 4) => {
    const values = Array.from({ length: count }, (_, i) => `*${String(i).padStart(length, "x")}*`);
    const policy = rule(
      "kv/a",
      ["update"],
      `denied_parameters = { P = ${JSON.stringify(values)} }`,
    );
    const body = { policy };
    return stage.server.call("POST", "/v1/sys/policies/acl/p", { token: stage.root, body });
  };
  assert.ok((await write(256)).status < 300);
  for (const refused of [await write(257), await write(16_000), await write(100, 200)]) {
    assert.equal(refused.status, 400);
    const text = /at most 256 with 16384 characters together are accepted on line 1, column \d+/;
    assert.match(refused.text, text);
    assert.match(refused.text, /denied_parameters names too many .* for parameter \\"P\\"/);
  }
});

test(
  "T-C03 T-C14: what a request brings is compared with a rule in one walk, and too much is denied",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    const texts = (count: number, of: (i: number) => string) =>
      JSON.stringify(Array.from({ length: count }, (_, i) => of(i)));
    const rulesFor = (key: string, values: string) =>
      rule("sys/quotas/config", EVERYTHING, `${key} = { p = ${values} }`);
    // Four policies of one token name as many patterns as may be compared.
    const patterns = await Promise.all(
      [0, 1, 2, 3].map(async (n) => {
        const name = `many-${n}`;
        const values = texts(256, (i) => `*aaaaaaaaaa${n}${i}aaaaaaaaaaaaaaaaaaaaaaaa*`);
        await stage.writePolicy(name, rulesFor("denied_parameters", values));
        return name;
      }),
    );
    const many = await stage.client(patterns);
    const few = await stage.clientWith(
      rulesFor(
        "denied_parameters",
        texts(10, (i) => `*no${i}*`),
      ),
    );
    const nested = await stage.clientWith(
      rulesFor("denied_parameters", `[${"[1,2,3],".repeat(10_000)}[9]]`),
    );
    const allowing = await stage.clientWith(
      rulesFor(
        "allowed_parameters",
        texts(256, (i) => `a${i}`),
      ),
    );
    const send = (token: string, p: unknown) => async () => {
      const options = { token, body: { p } };
      const { status } = await stage.server.call("POST", "/v1/sys/quotas/config", options);
      return status;
    };
    for (const [token, p, want] of [
      [few, "a,".repeat(500_000), 403], // more parts than are compared
      [few, "a".repeat(300_000), 403], // longer than is compared
      [few, "a,".repeat(9_000), 200],
      [few, "a b ".repeat(60_000), 200],
      [few, `${"a b ".repeat(60_000)}no7`, 403],
      [many, "a".repeat(250_000), 200],
      [many, "aaaaaaaaaaaa,".repeat(9_000), 200],
      [many, Array.from({ length: 5_000 }, () => "a".repeat(40)), 200],
      [many, `${"a".repeat(1_000)}3255${"a".repeat(24)}`, 403],
      [nested, Array.from({ length: 5_000 }, () => [1, 2, 4]), 200],
      [nested, Array.from({ length: 5_000 }, (_, i) => (i === 4_999 ? [9] : [1])), 403],
      [allowing, "a1,".repeat(9_000), 403], // the last part is empty
      [allowing, `${"a1,".repeat(9_000)}a2`, 200],
    ] as const) {
      let status = 0;
      const work = async () => void (status = await send(token, p)());
      const block = await blockOf(work);
      const shown = JSON.stringify(p).slice(0, 40);
      assert.equal(status, want, shown);
      assert.ok(block < LIMIT, `${shown}: ${block.toFixed(0)} ms`);
    }
    // One more than may be compared, from as many policies as it takes: denied, however short the value.
    await stage.writePolicy(
      "fifth",
      rulesFor(
        "denied_parameters",
        texts(1, () => "*z*"),
      ),
    );
    assert.equal(await send(await stage.client([...patterns, "fifth"]), "a")(), 403);
  },
);
