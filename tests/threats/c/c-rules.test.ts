// Threats C where ACL policies are dear to read or to ask: nobody else waits for it. Through HTTP,
// against a whole server; time is that of the processor, so that other work on the machine does not count.

import assert from "node:assert/strict";
import test from "node:test";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { EVERYTHING, rule, scene } from "../scene.ts";

const TIMEOUT = { timeout: 300_000 };

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
      const label = JSON.stringify(p).slice(0, 40);
      await keepsNobodyWaiting(label, work);
      assert.equal(status, want, label);
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

test(
  "T-C03 T-C14: numbers, names and members count for what is compared, however deep",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/one", { body: { type: "kv-v1" } });
    await stage.must("POST", "/v1/sys/mounts/two", { body: { type: "kv-v2" } });
    const values = JSON.stringify(
      Array.from({ length: 250 }, (_, i) => [`*no${i}x*`, `*end${i}x`, `begin${i}x*`][i % 3]),
    );
    const denied = `denied_parameters = { data = ${values} }`;
    const token = await stage.clientWith(
      rule("one/*", EVERYTHING, denied) + rule("two/data/*", EVERYTHING, denied),
    );
    const listOf = (count: number, of: (i: number) => string) =>
      Array.from({ length: count }, (_, i) => of(i)).join();
    const digits = (i: number, length: number) => `${i + 1}`.padEnd(length, "7");
    const members = (count: number, length: number) =>
      `{${listOf(count, (i) => `"k${i}":${digits(i, length)}`)}}`;
    const objects = (count: number, length: number) =>
      `[${listOf(count, () => members(1_000, length))}]`;
    const lists = (count: number, length: number) =>
      `[${listOf(count, () => `[${listOf(4_900, (i) => digits(i, length))}]`)}]`;
    for (const [path, json, want] of [
      ["two/data/x", `{"data":{"a":${objects(9, 18)}}}`, 200],
      ["two/data/x", `{"data":{"a":${objects(9, 40)}}}`, 403], // longer, in digits of numbers
      ["two/data/x", `{"data":{"a":${objects(20, 6)}}}`, 403], // more members
      ["two/data/x", `{"data":{"a":${lists(2, 18)}}}`, 200],
      ["two/data/x", `{"data":{"a":${lists(8, 19)}}}`, 403],
      ["two/data/x", `{"data":{"a":[${listOf(4, () => `[${listOf(4_900, () => "{}")}]`)}]}}`, 403],
      ["two/data/x", `{"data":{"a":["begin3",{"b":"no0x"}]}}`, 403],
      ["one/x", members(1_000, 100), 204], // parameters that the rule does not speak of
      ["one/x", `{"data":${lists(2, 18)}}`, 204],
      ["one/x", `{"data":${lists(2, 40)}}`, 403],
    ] as const) {
      let [status, text] = [0, ""];
      const work = async () => {
        const answer = await stage.server.call("POST", `/v1/${path}`, { token, body: json });
        ({ status, text } = answer);
      };
      const label = `${path} ${json.slice(0, 30)} (${json.length})`;
      await keepsNobodyWaiting(label, work);
      assert.equal(status, want, `${label}: ${text.slice(0, 200)}`);
    }
  },
);

test(
  "T-C03 T-C14: patterns for many parameters are made ready in slices, and too much of all together is denied",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    const body = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`p${i}`, "q"]));
    const policies = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const values = Array.from({ length: 250 }, (_, i) => `*${`${n}x${i}`.padEnd(56, "ab")}*`);
        const named = Object.keys(body).map((name) => `${name} = ${JSON.stringify(values)}`);
        const denied = `denied_parameters = { ${named.join(", ")} }`;
        await stage.writePolicy(`many-${n}`, rule("sys/quotas/config", EVERYTHING, denied));
        return `many-${n}`;
      }),
    );
    // Each a set of its own, which nobody has made ready before.
    for (const [count, want] of [
      [1, 200],
      [2, 200],
      [4, 200],
      [20, 403],
    ] as const) {
      const send = (token: string, more: object = {}) =>
        stage.server.call("POST", "/v1/sys/quotas/config", { token, body: { ...body, ...more } });
      const chosen = policies.slice(0, count);
      const ask = async (token: string) => {
        const answers = await Promise.all([send(token), send(token), send(token)]);
        const statuses = answers.map(({ status }) => status);
        assert.deepEqual(statuses, [want, want, want], `${count} policies`);
      };
      let tries = 0;
      const fresh = () => stage.client([...chosen, `none-${tries++}-${count}`]);
      await keepsNobodyWaiting(`${count} policies`, ask, fresh);
      const caught = await send(await fresh(), { p7: `..${"0x249".padEnd(56, "ab")}..` });
      assert.equal(caught.status, 403);
    }
  },
);

test("T-A13: what only looks like a field is not the one that must be there", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/approle", { body: { type: "approle" } });
  const path = "auth/approle/role/ci";
  const token = await stage.clientWith(
    rule(path, EVERYTHING, 'required_parameters = ["token_ttl"]'),
  );
  const write = async (body: object) =>
    (await stage.server.call("POST", `/v1/${path}`, { token, body })).status;
  assert.equal(await write({}), 403);
  assert.equal(await write({ TOKEN_TTL: "1m" }), 403);
  assert.equal(await write({ token_ttl: null }), 403);
  assert.ok((await write({ token_ttl: "1m" })) < 300);
});

test(
  "T-C03 T-C14: a document as large as may be is written and used in slices",
  TIMEOUT,
  async (t) => {
    const stage = await scene(t);
    const many = <T>(count: number, of: (i: number) => T): T[] =>
      Array.from({ length: count }, (_, i) => of(i));
    const inRule = (key: string, value: string) => `path "a" { ${key} = ${value} }`;
    const documents: Readonly<Record<string, string>> = {
      blocks: many(9_000, (i) => `path "a/${i}"{policy="read"}`).join(""),
      "blocks with +": many(9_000, (i) => `path "+/${i}"{policy="read"}`).join(""),
      json: JSON.stringify({
        path: Object.fromEntries(many(9_000, (i) => [`a/${i}`, { policy: "read" }])),
      }),
      values: inRule(
        "allowed_parameters",
        `{ p = [${many(40_000, (i) => `"${i % 999}"`).join()}] }`,
      ),
      objects: inRule("allowed_parameters", `{ p = [${many(40_000, () => "{a=1}").join()}] }`),
      names: inRule("allowed_parameters", `{ ${many(25_000, (i) => `a${i}=[]`).join(" ")} }`),
      comments: `${"#\n".repeat(120_000)}${rule("a", ["read"])}`,
      heredoc: inRule("comment", `<<X\n${"a\n".repeat(120_000)}X\n`),
      "a long label with +": rule(`+/${"a".repeat(250_000)}*`, ["read"]),
    };
    for (const [what, policy] of Object.entries(documents)) {
      const body = { policy };
      let status = 0;
      await keepsNobodyWaiting(`${what}, written`, async () => {
        const answer = await stage.server.call("POST", "/v1/sys/policies/acl/big", {
          token: stage.root,
          body,
        });
        ({ status } = answer);
      });
      assert.ok(status === 200 || status === 204, `${what}: ${status}`);
      await keepsNobodyWaiting(`${what}, used`, async () => {
        await stage.writePolicy("big", `${policy} `); // nobody has it compiled
        const token = await stage.client(["big"]);
        return stage.server.call("GET", "/v1/sys/internal/ui/resultant-acl", { token });
      });
    }
  },
);

test("T-C03: hundreds of paths are asked for with turns for others between", TIMEOUT, async (t) => {
  const stage = await scene(t);
  // A path of fourteen segments meets all of these, and none of them settles it.
  const labels = Array.from({ length: 4_096 }, (_, i) =>
    Array.from({ length: 12 }, (__, place) => ((i >> place) & 1 ? "+" : "a")).join("/"),
  );
  const rules = labels.map((label) => `path "+/${label}/a*"{policy="read"}`).join("");
  const token = await stage.clientWith(rules);
  const body = { paths: Array.from({ length: 150 }, (_, i) => `${"a/".repeat(13)}a${i}`) };
  const ask = async () => {
    const answer = await stage.server.call("POST", "/v1/sys/capabilities-self", { token, body });
    assert.equal(answer.status, 200, answer.text.slice(0, 200));
  };
  await keepsNobodyWaiting("paths", ask);
});

test("T-C03: lists of documents and of rules are pages that are soon made", TIMEOUT, async (t) => {
  const stage = await scene(t);
  const text = `${rule("a/*", ["read"])}# ${"x".repeat(20_000)}\n`;
  for (let i = 0; i < 100; i++) await stage.writePolicy(`p${i}`, text);
  for (const path of ["/v1/sys/policies/detailed/acl", "/acl/policies"]) {
    const method = path === "/acl/policies" ? "GET" : "LIST";
    const list = () => stage.must(method, path);
    await keepsNobodyWaiting(path, list);
    const many = () => Promise.all(Array.from({ length: 16 }, list));
    await keepsNobodyWaiting(`${path}, sixteen at once`, many);
  }
  const rules = Array.from({ length: 9_000 }, (_, i) => `path "a/${i}"{policy="read"}`).join("");
  const token = await stage.clientWith(rules);
  const resultant = async () => {
    const answer = await stage.server.call("GET", "/v1/sys/internal/ui/resultant-acl", { token });
    assert.match(answer.text, /there are more rules than one answer shows/);
  };
  await keepsNobodyWaiting("resultant-acl", resultant);
});

test("T-C14: a path that no request could have costs nobody anything", TIMEOUT, async (t) => {
  const stage = await scene(t);
  const token = await stage.clientWith(rule("kv/*", ["read"]));
  for (const path of [
    "a/".repeat(60_000),
    `${"sys/leases/revoke-prefix/".repeat(1_000)}${"a/".repeat(60_000)}`,
    `${"sys/revoke/".repeat(400)}x`,
  ]) {
    await keepsNobodyWaiting(path.slice(0, 30), async () => {
      const body = { paths: [path] };
      const answer = await stage.server.call("POST", "/v1/sys/capabilities-self", { token, body });
      assert.equal(answer.status, path.length > 16_384 ? 400 : 200, answer.text);
    });
    const described = { path, operation: "read", policies: ["default"] };
    const explained = await stage.server.call("POST", "/v1/sys/inspect/request", {
      token: stage.root,
      body: described,
    });
    assert.equal(explained.status, 400);
  }
  const nested = `${"sys/revoke/".repeat(15)}x`;
  await keepsNobodyWaiting("a path in a path in a path", async () => {
    const body = { policy: rule(nested, ["read"]) };
    const how = { token: stage.root, body };
    const answer = await stage.server.call("POST", "/v1/sys/policies/acl/nested", how);
    assert.ok(answer.status < 300, answer.text);
  });
});

test("T-A13: a rule that speaks of a field by an older name speaks of the field", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/people", { body: { type: "userpass" } });
  const path = "auth/people/users/+";
  const grant = (more: string) => `path "${path}" { capabilities = ["create", "update"] ${more} }`;
  const write = async (more: string, body: object) => {
    const token = await stage.clientWith(grant(more));
    const fields = { password: "correct horse", ...body };
    const how = { token, body: fields };
    return (await stage.server.call("POST", "/v1/auth/people/users/ada", how)).status;
  };
  const denied = 'denied_parameters = { policies = ["admin"] }';
  assert.equal(await write(denied, { policies: ["admin"] }), 403);
  assert.equal(await write(denied, { token_policies: ["admin"] }), 403);
  assert.equal(await write(denied, { token_policies: ["dev"] }), 204);
  const allowed = 'allowed_parameters = { policies = ["dev"], password = [] }';
  assert.equal(await write(allowed, { token_policies: ["dev"] }), 204);
  assert.equal(await write(allowed, { policies: ["admin"] }), 403);
  const required = 'required_parameters = ["policies"]';
  assert.equal(await write(required, { token_policies: ["dev"] }), 204);
  assert.equal(await write(required, {}), 403);
});
