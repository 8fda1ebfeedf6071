// `holdfast snapshot diff`: names of what changed, and no value of it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startServer } from "../support/servers/test-server.ts";
import { makeHome, run } from "./harness.ts";

const CANARY = "canary-77aa";

async function stage(t: TestContext) {
  const server = await startServer();
  t.after(() => server.stop());
  const { shares, token } = await server.open(3, 2);
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home };
  const list = join(home, "shares.txt");
  writeFileSync(list, shares.join("\n"));
  const must = async (method: string, path: string, body?: object, namespace?: string) => {
    const answer = await server.call(method, `/v1/${path}`, { token, body, namespace });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  };
  const policy = (path: string) => ({ policy: `path "${path}" { capabilities = ["read"] }` });
  await must("POST", "sys/mounts/kv", { type: "kv", options: { version: "2" } });
  await must("POST", "sys/mounts/old", { type: "kv", options: { version: "1" } });
  await must("POST", "sys/auth/approle", { type: "approle" });
  await must("POST", "kv/data/app/db", { data: { password: `${CANARY}-1` } });
  await must("POST", "kv/data/app/api", { data: { key: `${CANARY}-2` } });
  await must("POST", "old/stays", { value: CANARY });
  await must("POST", "sys/policies/acl/one", policy("a"));
  await must("POST", "sys/policies/acl/two", policy("b"));
  await must("POST", "auth/approle/role/ci", { policies: ["one"] });
  const [a, b] = [join(home, "a.snap"), join(home, "b.snap")];
  const cli = (...args: string[]) => run(["snapshot", ...args], { env });
  assert.equal((await cli("save", a)).code, 0);
  const change = async () => {
    await must("POST", "kv/data/app/db", { data: { password: `${CANARY}-3` } });
    await must("DELETE", "kv/metadata/app/api");
    await must("POST", "kv/data/app/new", { data: { x: CANARY } });
    await must("POST", "sys/policies/acl/one", policy("c"));
    await must("DELETE", "sys/policies/acl/two");
    await must("POST", "auth/approle/role/ci", { policies: ["one"], token_ttl: "1h" });
    await must("POST", "auth/token/create", { policies: ["one"] });
    await must("POST", "sys/namespaces/team", {});
    await must("POST", "sys/mounts/box", { type: "kv" }, "team");
  };
  return { cli, list, a, b, change, shares, env };
}

const EXPECTED = [
  "added namespace team",
  "added secret kv/app/new",
  "changed policy acl/one",
  "changed role auth/approle/ci",
  "changed secret kv/app/db",
  "removed policy acl/two",
  "removed secret kv/app/api",
];

interface Diff {
  readonly changes: readonly Record<"change" | "kind" | "namespace" | "name", string>[];
  readonly tokens: Record<"before" | "after", number>;
  readonly named: Record<string, number>;
}

function lines({ changes }: Diff): string[] {
  return changes
    .filter(({ namespace }) => namespace === "")
    .map(({ change, kind, name }) => `${change} ${kind} ${name}`)
    .toSorted();
}

test("two snapshots: what is new, gone and changed by name, and how many tokens there were", async (t) => {
  const { cli, list, a, b, change } = await stage(t);
  await change();
  assert.equal((await cli("save", b)).code, 0);
  const json = await cli("diff", "-shares", list, "-format", "json", a, b);
  assert.equal(json.code, 1, json.all);
  const diff = JSON.parse(json.stdout) as Diff;
  assert.deepEqual(lines(diff), EXPECTED);
  assert.ok(
    diff.changes.some(
      ({ kind, namespace, name }) => `${namespace}:${kind}:${name}` === "team:mount:box/",
    ),
  );
  assert.equal(diff.tokens.after - diff.tokens.before, 1);

  const table = await cli("diff", "-shares", list, a, b);
  assert.match(table.stdout, /^~ +secret +kv\/app\/db$/m);
  assert.match(table.stdout, /^\+ +mount +team\/box\/$/m);
  assert.match(table.stdout, /^Tokens +\d+ -> \d+$/m);
  for (const text of [json.all, table.all]) assert.ok(!text.includes(CANARY));

  const back = await cli("diff", "-shares", list, "-format", "json", b, a);
  assert.equal((JSON.parse(back.stdout) as Diff).named["added"], diff.named["removed"]);
  const same = await cli("diff", "-shares", list, a, a);
  assert.equal(same.code, 0, same.all);
  assert.match(same.stdout, /Nothing that has a name differs/);
});

test("a snapshot and now: the shares are asked for once, and nothing is kept", async (t) => {
  const { a, change, shares, env } = await stage(t);
  await change();
  const now = await run(["snapshot", "diff", a, "-format", "json"], {
    env,
    typed: [shares[0]!, shares[1]!],
  });
  assert.equal(now.code, 1, now.all);
  assert.deepEqual(lines(JSON.parse(now.stdout) as Diff), EXPECTED);
  assert.ok(!now.all.includes(CANARY));
});
