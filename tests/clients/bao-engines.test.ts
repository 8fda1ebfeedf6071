// The existing ecosystem's client library and command line, replayed: enabling the key/value engine,
// using it, wrapping and unwrapping, and leases, in their own requests.

import assert from "node:assert/strict";
import test from "node:test";
import { engineServer, grants } from "../support/servers/engine-server.ts";
import { until } from "../support/until.ts";
import { ClientError, commandMountInput, mountInput, secretsClient } from "./bao-client.ts";

function isError(status: number, text: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ClientError, String(error));
    assert.equal(error.status, status, error.message);
    assert.match(error.message, text);
    return true;
  };
}

test("replayed: the library enables version 2 and puts, gets, patches, lists, deletes", async (t) => {
  const server = await engineServer(t);
  const client = await secretsClient(t, server.test.url, server.root);
  await client.mount("secret", mountInput("kv", { options: { version: "2" } }));
  const put = await client.kvPut("secret", "app/db", { password: "<p> & q", user: "u" });
  assert.deepEqual([put.version, put.deleted, put.custom], [1, false, null]);
  const got = await client.kvGet("secret", "app/db");
  assert.deepEqual(got.data, { password: "<p> & q", user: "u" });
  const cas = await client.kvPut("secret", "app/db", { password: "r" }, { cas: 1 });
  assert.equal(cas.version, 2);
  await assert.rejects(
    client.kvPut("secret", "app/db", {}, { cas: 1 }),
    isError(400, /check-and-set parameter did not match the current version/),
  );
  // Its patch sends its own choice of method along, as an option.
  const patched = await client.kvPatch(
    "secret",
    "app/db",
    { user: "v" },
    { cas: 2, method: "patch" },
  );
  assert.equal(patched.version, 3);
  assert.deepEqual((await client.kvGet("secret", "app/db")).data, { password: "r", user: "v" });
  assert.deepEqual((await client.kvGet("secret", "app/db", 1)).version, 1);
  assert.deepEqual(await client.list("secret/metadata/"), ["app/"]);
  assert.deepEqual(await client.list("secret/metadata/app"), ["db"]);
  assert.equal(await client.list("secret/metadata/none"), null);
  assert.deepEqual(await client.list("secret/metadata/app", { after: "", limit: "1" }), ["db"]);
  await client.delete("secret/data/app/db");
  const deleted = await client.kvGet("secret", "app/db");
  assert.deepEqual([deleted.data, deleted.deleted, deleted.version], [null, true, 3]);
  await client.write("secret/undelete/app/db", { versions: [3] });
  assert.deepEqual((await client.kvGet("secret", "app/db")).data, { password: "r", user: "v" });
  await client.write("secret/delete/app/db", { versions: ["1", "2"] }); // as texts, in this one call
  await client.write("secret/destroy/app/db", { versions: [1] });
  const first = await client.kvGet("secret", "app/db", 1);
  assert.deepEqual([first.data, first.destroyed], [null, true]);
  await assert.rejects(client.kvGet("secret", "none"), /secret not found/);
  await assert.rejects(client.kvPatch("secret", "none", { a: "1" }), isError(404, /^Code: 404/));
  await client.delete("secret/metadata/app/db");
  await assert.rejects(client.kvMetadata("secret", "app/db"), /secret not found/);
  await client.unmount("secret");
});

test("replayed: metadata put and patched, as the library writes durations and empty maps", async (t) => {
  const server = await engineServer(t);
  const client = await secretsClient(t, server.test.url, server.root);
  await client.mount("secret", mountInput("kv-v2"));
  const body = {
    max_versions: 5,
    delete_version_after: "3h25m19s",
    cas_required: false,
    custom_metadata: { owner: "ops" },
  };
  await client.write("secret/metadata/app", body);
  await client.kvPut("secret", "app", { a: "1" });
  const metadata = await client.kvMetadata("secret", "app");
  assert.deepEqual(metadata["custom_metadata"], { owner: "ops" });
  assert.equal(metadata["delete_version_after"], "3h25m19s");
  // An empty map of its caller means: take all of it away.
  await client.mergePatch("secret/metadata/app", { custom_metadata: null, max_versions: 7 });
  const then = await client.kvMetadata("secret", "app");
  assert.deepEqual([then["max_versions"], then["delete_version_after"]], [7, "3h25m19s"]);
  assert.ok(Object.keys(then["custom_metadata"] ?? {}).length === 0);
  // And a metadata write of nothing but zero values.
  const zero = {
    max_versions: 0,
    delete_version_after: "0s",
    cas_required: false,
    custom_metadata: null,
  };
  await client.write("secret/metadata/app", zero);
  assert.equal((await client.kvMetadata("secret", "app"))["delete_version_after"], "0s");
});

test("replayed: the command line asks what is mounted before it puts and gets", async (t) => {
  const server = await engineServer(t);
  const operator = await secretsClient(t, server.test.url, server.root);
  await operator.mount("team/kv", commandMountInput("kv", { version: "2" }));
  await operator.mount("old", commandMountInput("kv", { version: "1" }));
  const policy =
    grants("team/kv/data/app", "create", "read", "update", "patch", "delete") +
    grants("team/kv/metadata/*", "list") +
    grants("old/*", "create", "read", "update", "list", "delete");
  const client = await secretsClient(t, server.test.url, await server.client(policy));
  const found = await client.isVersion2("team/kv/app");
  assert.deepEqual(found, { mount: "team/kv/", second: true });
  assert.equal((await client.kvPut("team/kv", "app", { a: "1" })).version, 1);
  assert.deepEqual((await client.kvGet("team/kv", "app")).data, { a: "1" });
  assert.deepEqual(await client.isVersion2("old/app"), { mount: "old/", second: false });
  assert.equal(await client.write("old/app", { a: "1", ttl: "1h" }), null);
  assert.deepEqual((await client.read("old/app"))?.data, { a: "1", ttl: "1h" });
  assert.deepEqual(await client.list("old"), ["app"]);
  assert.equal(await client.delete("old/app"), null);
  assert.equal(await client.read("old/app"), null);
  await assert.rejects(client.isVersion2("none/app"), isError(403, /permission denied/));
});

test("replayed: wrap with the flag, unwrap with and without a token of one's own", async (t) => {
  const server = await engineServer(t);
  const client = await secretsClient(t, server.test.url, server.root);
  await client.mount("secret", mountInput("kv", { options: { version: "2" } }));
  await client.kvPut("secret", "app", { a: "1" });
  client.wrapTtl = "5m0s";
  const wrap = async () => {
    const wrapped = await client.read("secret/data/app");
    assert.equal(wrapped?.data, null);
    assert.equal(wrapped?.wrap_info?.["ttl"], 300);
    assert.equal(wrapped?.wrap_info?.["creation_path"], "secret/data/app");
    return String(wrapped?.wrap_info?.["token"]);
  };
  const [first, second, third] = [await wrap(), await wrap(), await wrap()];
  client.wrapTtl = "";
  const looked = await client.write("sys/wrapping/lookup", { token: first });
  assert.equal(looked?.data?.["creation_path"], "secret/data/app");
  const opened = await client.unwrap(first);
  assert.deepEqual(opened?.data?.["data"], { a: "1" });
  await assert.rejects(
    client.unwrap(first),
    isError(400, /wrapping token is not valid or does not exist/),
  );
  // Without a token the wrapping token is the credential, and the body is the JSON null.
  const stranger = await secretsClient(t, server.test.url, "");
  assert.deepEqual((await stranger.unwrap(second))?.data?.["data"], { a: "1" });
  const holder = await secretsClient(t, server.test.url, third);
  assert.deepEqual((await holder.unwrap(""))?.data?.["data"], { a: "1" });
  // The endpoint that wraps what one gives: five minutes unless told otherwise.
  const answer = await client.write("sys/wrapping/wrap", { b: "2" });
  assert.equal(answer?.wrap_info?.["ttl"], 300);
  const rewrapped = await client.write("sys/wrapping/rewrap", {
    token: answer?.wrap_info?.["token"],
  });
  const again = await client.unwrap(String(rewrapped?.wrap_info?.["token"]));
  assert.deepEqual(again?.data, { b: "2" });
});

test("replayed: leases looked up, renewed and revoked in every way the library has", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600, max_ttl: 3600 });
  const client = await secretsClient(t, server.test.url, server.root);
  const issue = async () => {
    const secret = await client.read("count/creds/r");
    assert.ok(secret !== null && secret.lease_id !== "");
    return secret.lease_id;
  };
  const id = await issue();
  const looked = await client.lookup(id);
  assert.equal(looked.data?.["id"], id);
  assert.equal(looked.data?.["ttl"], 600);
  const renewed = await client.renew(id, 0);
  assert.deepEqual([renewed.lease_id, renewed.lease_duration, renewed.renewable], [id, 600, true]);
  assert.equal((await client.renew(id, 1200)).lease_duration, 1200);
  await client.revoke(id);
  await until(() => server.outside.objects.length === 0);
  await assert.rejects(client.lookup(id), isError(400, /invalid lease/));
  await assert.rejects(client.renew(id, 0), isError(400, /lease not found/));
  await client.revokeWith(await issue(), "sync");
  assert.deepEqual(server.outside.objects, []);
  await issue();
  await client.revokePrefix("count/creds");
  await until(() => server.outside.objects.length === 0);
  await issue();
  await client.revokeWith("count/creds", "prefix");
  await until(() => server.outside.objects.length === 0);
  await issue();
  await client.revokeWith("count", "force");
  assert.deepEqual(server.outside.objects, []);
  assert.deepEqual(await client.list("sys/leases/lookup"), null);
});

test("replayed: in a namespace, by its header", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  const client = await secretsClient(t, server.test.url, server.root);
  client.namespace = "team";
  await client.mount("secret", mountInput("kv", { options: { version: "2" } }));
  await client.kvPut("secret", "app", { a: "1" });
  assert.deepEqual((await client.kvGet("secret", "app")).data, { a: "1" });
  client.namespace = "";
  await assert.rejects(client.kvGet("secret", "app"), /secret not found/);
});
