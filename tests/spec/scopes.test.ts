// Of every record it is known to which mount or namespace it belongs: by that a filtered secondary is sent it
// or not. The table of all keys is looked at in every test that runs a server (support/stores/key-table.ts);
// here are those records whose key does not say it.

import assert from "node:assert/strict";
import test from "node:test";
import { MemoryDisk, MemoryEngine } from "../../src/storage/engines/memory.ts";
import { at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";
import { againstTable, ofNamespace } from "../support/stores/key-table.ts";

async function tenant() {
  const disk = new MemoryDisk();
  const server = await startServer({ disk });
  const { token } = await server.open();
  const ask = async (method: string, path: string, body?: object, namespace = "") => {
    const headers = namespace === "" ? {} : { "X-Vault-Namespace": namespace };
    const answer = await server.call(method, `/v1/${path}`, { token, body, headers });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  };
  const made = await ask("PUT", "sys/namespaces/eu");
  const id = String(at(made, "data", "id"));
  const scopes = (row: RegExp) =>
    new MemoryEngine(disk)
      .leaves(null, 100_000)
      .filter(({ key }) => row.test(key))
      .map(({ scope }) => Buffer.from(scope).toString("hex"));
  return { server, ask, id, scopes };
}

test("a namespace's own row, its tokens' hashes and its policies are its own", async () => {
  const { server, ask, id, scopes } = await tenant();
  const own = ofNamespace(id);
  const before = scopes(/^(?:shared|local)\/tokens\/by-hash\//).length;
  await ask("PUT", "sys/policies/acl/p", { policy: 'path "x" { capabilities = ["read"] }' }, "eu");
  await ask("POST", "auth/token/create", { policies: ["p"] }, "eu");
  await ask("POST", "acl/token", { Type: "client", Policies: ["p"], Global: true }, "eu");
  await ask("POST", "acl/token", { Type: "client", Policies: ["p"] }, "eu");
  const hashes = scopes(/^(?:shared|local)\/tokens\/by-hash\//);
  assert.equal(hashes.length, before + 3);
  assert.equal(hashes.filter((scope) => scope === own).length, 3);
  assert.deepEqual(scopes(/^shared\/namespaces\/tree\//), [own]);
  assert.ok(scopes(/^shared\/ns\/[^/]+\/policies\/acl\/p$/).every((scope) => scope === own));
  await server.stop();
});

test("a mount's path belongs to the mount, also after it has moved to another namespace", async () => {
  const { server, ask, scopes } = await tenant();
  const uuidAt = async (path: string, namespace = "") =>
    String(at(await ask("GET", `sys/mounts/${path}`, undefined, namespace), "data", "uuid"));
  await ask("POST", "sys/mounts/box", { type: "kv", options: { version: "1" } });
  await ask("POST", "box/a", { value: "1" });
  const own = (await uuidAt("box")).replaceAll("-", "");
  assert.deepEqual(scopes(/\/mount-paths\/box$/), [own]);
  await ask("POST", "sys/remount", { from: "box/", to: "eu/box/" });
  for (;;) {
    const found = scopes(/\/ns\/(?!root)[^/]+\/mount-table\//);
    if (found.includes(own) && scopes(/\/ns\/root\/mount-paths\/box$/).length === 0) break;
    await ask("GET", "sys/mounts");
  }
  assert.deepEqual(scopes(/\/mount-paths\/box$/), [own]);
  assert.equal((await uuidAt("box", "eu")).replaceAll("-", ""), own);
  await server.stop();
});

test("the table finds a key that it does not have, and a scope that is another's", () => {
  const leaf = (scope: number) => ({ hash: Buffer.alloc(32), scope: Buffer.alloc(16, scope) });
  const data = [{ key: "shared/new-room/x", value: Buffer.alloc(1) }];
  assert.deepEqual(againstTable({ data, leaves: [] }), ["shared/new-room/x: in no row"]);
  const key = "shared/ns/abc/policies/acl/p";
  const wrong = againstTable({ data: [], leaves: [{ slot: 0, key, leaf: leaf(0) }] });
  assert.deepEqual(wrong, [`${key}: its scope is ${"0".repeat(32)}`]);
});
