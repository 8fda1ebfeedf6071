// Wrapped answers of the token API: instead of the record, wrap_info in an envelope; the record stands
// under `data` when it is unwrapped.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  type AclServer,
  succeeded,
  unclaimedServer,
} from "../../support/servers/acl-server.ts";
import { type Answer, at, type CallOptions } from "../../support/http-client.ts";

const WRAP = { "X-Service-Wrap-TTL": "60s" };

interface Info {
  readonly token: string;
  readonly creation_path: string;
  readonly ttl: number;
  readonly wrapped_accessor: string;
}

function wrapIn(answer: Answer, path: string): Info {
  succeeded(answer);
  assert.deepEqual(Object.keys(answer.json as object).toSorted(), [
    "auth",
    "data",
    "lease_duration",
    "lease_id",
    "mount_type",
    "renewable",
    "request_id",
    "warnings",
    "wrap_info",
  ]);
  assert.equal(at(answer, "data"), null);
  const info = at(answer, "wrap_info") as Info;
  assert.deepEqual([info.creation_path, info.ttl], [path, 60]);
  return info;
}

async function unwrapped(server: AclServer, { token }: Info): Promise<Record<string, unknown>> {
  const answer = await server.ask("POST", "/v1/sys/wrapping/unwrap", { token });
  assert.equal(answer.status, 200, answer.text);
  const again = await server.ask("POST", "/v1/sys/wrapping/unwrap", { token });
  assert.equal(again.status, 400, again.text);
  return at(answer, "data") as Record<string, unknown>;
}

test("bootstrap, create, update, read, self and exchange: no secret but in the wrapping", async (t) => {
  const server = await unclaimedServer(t);
  const boot = await server.ask("POST", "/acl/bootstrap", { headers: WRAP });
  const first = await unwrapped(server, wrapIn(boot, "acl/bootstrap"));
  assert.equal(first["Name"], "Bootstrap Token");
  server.management = String(first["SecretID"]);
  assert.ok(!boot.text.includes(server.management));
  await server.writePolicy("readonly", 'path "sys/mounts" { capabilities = ["read"] }');

  const client = await server.create();
  const { AccessorID, SecretID, Name, Type, Policies } = client;
  const body = { AccessorID, Name, Type, Policies };
  const oneTime = await server.ask("POST", "/acl/token/onetime", { token: SecretID });
  const secret = at(oneTime, "OneTimeToken", "OneTimeSecretID");
  const requests: [string, string, CallOptions][] = [
    ["POST", "acl/token", { body: { Type, Policies } }],
    ["POST", `acl/token/${AccessorID}`, { body }],
    ["GET", `acl/token/${AccessorID}`, {}],
    ["GET", "acl/token/self", { token: SecretID }],
    ["POST", "acl/token/onetime/exchange", { body: { OneTimeSecretID: secret } }],
  ];
  for (const [method, path, options] of requests) {
    const answer = await server.manage(method, `/v1/${path}`, { headers: WRAP, ...options });
    const info = wrapIn(answer, path);
    assert.ok(!answer.text.includes(SecretID), path);
    const data = await unwrapped(server, info);
    const record = path.endsWith("exchange") ? (data["Token"] as typeof data) : data;
    assert.equal(Object.keys(record).length, 13, path);
    assert.equal(record["AccessorID"], info.wrapped_accessor);
    if (path !== "acl/token") assert.equal(record["SecretID"], SecretID);
    succeeded(await server.self(String(record["SecretID"])));
  }
});

test("the names of other clients ask for it too; lists come whole, with their cursor beside", async (t) => {
  const server = await aclServer(t);
  const made = await server.create();
  const headers = { "X-Vault-Wrap-TTL": "60s" };
  const read = await server.manage("GET", `/v1/acl/token/${made.AccessorID}`, { headers });
  assert.equal(
    (await unwrapped(server, wrapIn(read, `acl/token/${made.AccessorID}`)))["Name"],
    "reader",
  );
  const list = await server.manage("GET", "/v1/acl/tokens?per_page=1", { headers: WRAP });
  const page = (await unwrapped(server, wrapIn(list, "acl/tokens"))) as unknown;
  assert.ok(Array.isArray(page) && page.length === 1);
  assert.match(String(list.headers["x-service-nexttoken"]), /^\d+\./);
});

test("refusals and answers without a body are not wrapped; a bad time refuses before anything is done", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  const none = await server.manage("GET", "/acl/token/none", { headers: WRAP });
  assert.equal(none.status, 404);
  const before = (await server.stubs()).length;
  const bad = { headers: { "X-Service-Wrap-TTL": "900h" }, body: { Type: "management" } };
  const refused = await server.manage("POST", "/acl/token", bad);
  assert.equal(refused.status, 400, refused.text);
  assert.equal((await server.stubs()).length, before);
  const gone = await server.manage("DELETE", `/acl/token/${AccessorID}`, { headers: WRAP });
  assert.deepEqual([gone.status, gone.text], [200, ""]);
});
