// Lists in pages: every list that can be cut says that there is more, in the one form that clients read, and the
// last page does not.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { MORE } from "@holdfast/shared/endpoint/page";
import { at } from "../support/http-client.ts";
import { type EngineServer, engineServer } from "../support/servers/engine-server.ts";

async function whole(server: EngineServer, path: string): Promise<string[]> {
  const answer = await server.must("LIST", path);
  assert.equal(at(answer, "warnings"), null, answer.text);
  return at(answer, "data", "keys") as string[];
}

async function byPages(server: EngineServer, path: string): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | undefined, i = 0; i < 100; i++) {
    const from = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
    const answer = await server.must("LIST", `${path}?limit=1${from}`);
    const page = at(answer, "data", "keys") as string[];
    assert.ok(page.length <= 1 || page.at(-1) === "root", answer.text); // which is no stored policy
    keys.push(...page);
    const [warning] = (at(answer, "warnings") ?? []) as string[];
    if (warning === undefined) return keys;
    after = MORE.exec(warning)?.[1];
    assert.ok(after !== undefined, `${path}: ${warning}`);
  }
  assert.fail(`${path} has no last page`);
}

test("every list that is cut says how to go on, and adds up to the whole", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "2" } });
  await server.counting("count", { ttl: 600 });
  await server.must("POST", "sys/auth/userpass", { type: "userpass" });
  await server.must("POST", "sys/auth/approle", { type: "approle" });
  await server.must("POST", "auth/approle/role/only", {});
  for (const name of ["a", "b", "c"]) {
    await server.must("POST", `kv/data/${name}`, { data: { a: 1 } });
    await server.must("POST", `auth/userpass/users/${name}`, { password: "correct horse 4" });
    await server.must("POST", `auth/approle/role/${name}`, {});
    await server.must("POST", "auth/approle/role/only/secret-id", {});
    await server.must("POST", `sys/policies/acl/${name}`, { policy: 'path "x" {}' });
    await server.namespaces(name);
    const lease = await server.issue();
    await server.revoke(lease.id, { sync: true });
    await server.issue();
  }
  await server.time.passSlowly(130n * MINUTE, 5n * MINUTE); // receipts are signed for by the hour
  for (const path of [
    "kv/metadata",
    "kv/detailed-metadata",
    "auth/userpass/users",
    "auth/approle/role",
    "auth/approle/role/only/secret-id",
    "auth/token/accessors",
    "sys/policies/acl",
    "sys/namespaces",
    "sys/evidence",
    "sys/evidence/receipts",
  ]) {
    const all = await whole(server, path);
    assert.ok(all.length > 1 || path === "auth/token/accessors", `${path}: ${all.join()}`);
    assert.deepEqual(await byPages(server, path), all, path);
  }
});

test("what needed attention is read back in pages too", async (t) => {
  const server = await engineServer(t);
  const header = "sys/config/ui/headers/Content-Security-Policy";
  for (let i = 0; i < 3; i++) {
    await server.must("POST", header, { values: ["default-src 'self'"] });
    await server.time.passSlowly(2n * MINUTE, MINUTE);
    await server.must("DELETE", header);
    await server.time.passSlowly(2n * MINUTE, MINUTE);
  }
  const first = await server.must("GET", "sys/attention/history?limit=2");
  const numbers = (at(first, "data", "items") as { number: number }[]).map(({ number }) => number);
  assert.deepEqual(at(first, "warnings"), [`there are more; go on with before=${numbers[1]}`]);
  const rest = await server.must("GET", `sys/attention/history?before=${numbers[1]}`);
  assert.equal(at(rest, "warnings"), null);
  const others = (at(rest, "data", "items") as { number: number }[]).map(({ number }) => number);
  const read = [...numbers, ...others];
  assert.ok(read.length >= 3);
  assert.deepEqual(
    read,
    read.map((_, i) => read.length - i),
  );
});
