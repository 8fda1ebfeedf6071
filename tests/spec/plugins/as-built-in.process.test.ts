// What an engine says in its type and in its handlers holds as a process as well: what it recovers, which options may change, and that
// it gives a secret though its endpoint does not say so. What only a built-in engine can say is refused where it is built and mounted.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { at, errorsOf } from "../../support/http-client.ts";
import { served } from "../../support/plugins/child-type.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { oddEngine } from "../../support/plugins/odd-engine.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const KV = { file: "engines/kv/kv.ts", exported: "kvEngine" };
const ODD = { file: "tests/support/plugins/odd-engine.ts", exported: "oddEngine" };

async function registered(server: PluginServer, name: string, text: string): Promise<void> {
  const sha256 = server.place.put(name, text);
  await server.register({ name, command: name, args: [], sha256 });
}

test("a plugin recovers what its path held in a loaded snapshot, by what it held and by what the mount is now", async (t) => {
  const server = await PluginServer.start(t);
  await registered(server, "kvp", served(KV));
  await server.ok("POST", "sys/mounts/kvp", { type: "kvp", options: { version: "2" } });
  await server.ok("POST", "kvp/data/app", { data: { password: "then" } });
  await server.ok("POST", "kvp/data/deleted", { data: { a: 1 } });
  await server.ok("DELETE", "kvp/data/deleted");
  const { url } = server.test;
  const { token } = server.opened;
  const { body } = await takeSnapshot(url, token);
  const sent = await sendSnapshot(url, token, "snapshot-load", body);
  const id = String(sent.json["snapshot_id"]);
  const recover = (path: string, more: object = {}) =>
    server.call("POST", path, { headers: { "X-Service-Recover-Snapshot-Id": id }, ...more });
  await server.ok("POST", "kvp/data/app", { data: { password: "now" } });
  await server.ok("POST", "kvp/config", { cas_required: true }); // which the mount of then had not
  const recovered = await recover("kvp/data/app");
  assert.equal(recovered.status, 200, recovered.text);
  assert.equal(at(recovered, "data", "version"), 3);
  assert.deepEqual(at(await server.ok("GET", "kvp/data/app"), "data", "data"), {
    password: "then",
  });
  assert.equal((await recover("kvp/data/deleted")).status, 404);
  assert.equal((await recover("kvp/data/never")).status, 404);
  const refused = await recover("kvp/config");
  assert.equal(refused.status, 400, "what declares nothing recovers nothing");
  const { json } = await server.ok("GET", "sys/internal/specs/openapi");
  const { paths } = json as { paths: Record<string, { post: { parameters: unknown } }> };
  assert.match(JSON.stringify(paths["/kvp/data/{path}"]?.post.parameters), /recover/i);
});

test("options of a plugin are changed as its type says: not at all, or not so", async (t) => {
  const said: unknown[] = [];
  for (const isPlugin of [true, false]) {
    const server = await PluginServer.start(
      t,
      isPlugin ? {} : { engineTypes: [anyEngine(oddEngine)] },
    );
    if (isPlugin) {
      await registered(server, "kv", served(KV));
      await registered(server, "odd", served(ODD));
    }
    await server.ok("POST", "sys/mounts/kv", { type: "kv", options: { version: "2" } });
    await server.ok("POST", "sys/mounts/odd", { type: "odd", options: { one: "1" } });
    const tuned = async (path: string, options: object) => {
      const answer = await server.call("POST", `sys/mounts/${path}/tune`, { body: { options } });
      return [path, answer.status, answer.status === 204 ? null : errorsOf(answer)];
    };
    said.push([
      await tuned("kv", { version: "1" }),
      await tuned("kv", { version: "7" }),
      await tuned("kv", { version: "2" }),
      await tuned("odd", { one: "2" }),
      await tuned("odd", { one: "1" }),
    ]);
    assert.equal((await server.call("GET", "kv/data/none")).status, 404, "it is as it was");
  }
  assert.deepEqual(said[0], said[1]);
  assert.match(JSON.stringify(said[0]), /version 1 has no place for the versions of secrets/);
  assert.match(JSON.stringify(said[0]), /they are fixed when it is mounted/);
});

test("a handler of a plugin may give a secret that it has asked for, and is refused where the quota is full or the token ends", async (t) => {
  const server = await PluginServer.start(t);
  await registered(server, "odd", served(ODD));
  await server.ok("POST", "sys/mounts/odd", { type: "odd" });
  const issued = await server.ok("GET", "odd/odd?asks=true&gives=true");
  assert.match(String(at(issued, "lease_id")), /^odd\/odd\//);
  const unasked = await server.call("GET", "odd/odd?gives=true");
  assert.equal(unasked.status, 502, unasked.text);
  assert.match(unasked.text, /gave a secret where it declares none/);
  await server.ok("POST", "sys/policies/acl/odd", {
    policy: 'path "odd/*" { capabilities = ["read"] }',
  });
  const body = { policies: ["odd"], num_uses: 1 };
  const made = await server.call("POST", "auth/token/create", { body });
  const token = String(at(made, "auth", "client_token"));
  const last = await server.call("GET", "odd/odd?asks=true&gives=true", { token });
  assert.equal(last.status, 400, last.text);
  await server.ok("POST", "sys/quotas/lease-count/odd", { path: "odd/", max_leases: 1 });
  const full = await server.call("GET", "odd/odd?asks=true&gives=true");
  assert.equal(full.status, 429, full.text);
  assert.equal((await server.call("GET", "odd/odd")).status, 200, "which gives none");
});

test("what only a built-in engine can say is refused where a plugin is built, and where it is mounted", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hf-odd-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const source = (
    changes: string,
    more = "",
  ) => `import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
const endpoint = engineEndpoints<object>();
export default {
  type: "odd", kind: "secret", summary: "", version: "v1.0.0", checkOptions: () => ({}), open: () => ({}), ${more}
  paths: () => [endpoint({ name: "readOdd", method: "GET", path: "/odd", summary: "", access: access.capability, input: {},
    output: out.nothing, handler: async () => undefined, ${changes} })],
};
`;
  const built = (text: string) => {
    const file = join(folder, "odd.ts");
    writeFileSync(file, text);
    const args = ["plugin", "build", "-out", join(folder, "odd.mjs"), file];
    const { status, stderr } = spawnSync(join(ROOT, "bin", "holdfast"), args, { encoding: "utf8" });
    return { status, stderr };
  };
  assert.equal(built(source("")).status, 0);
  const rows: [string, string, RegExp][] = [
    ["audited: false", "", /endpoint readOdd: audited is for engines that are built in/],
    ["rateLimited: false", "", /rateLimited is for/],
    ["rootOnly: true", "", /rootOnly is for/],
    ["implied: (data) => data", "", /implied is for/],
    ["help: async () => null", "", /help is for/],
    ["", "plugins: async () => [],", /of the engine: plugins is for/],
    ["", "trouble: () => null,", /trouble is for/],
  ];
  for (const [changes, more, says] of rows) {
    const { status, stderr } = built(source(changes, more));
    assert.equal(status, 2, `${changes}${more} ${stderr}`);
    assert.match(stderr, says);
  }
  const server = await PluginServer.start(t);
  const text = served(ODD).replace(
    "await serve(oddEngine)",
    "await serve({ ...oddEngine, plugins: async () => [] })",
  );
  await registered(server, "odd", text);
  const mounted = await server.call("POST", "sys/mounts/odd", { body: { type: "odd" } });
  assert.equal(mounted.status, 400, mounted.text);
  assert.match(mounted.text, /of the engine: plugins is for engines that are built in/);
});
