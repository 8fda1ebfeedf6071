// What receipts say of leases of clouds: for which role and for whom, what the provider calls it, by which of its calls
// it ended, and that what nobody can end is not called ended.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { cloudaServer, DEPLOY_ROLE } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import { type EngineServer, HOUR, MINUTE } from "../../support/servers/engine-server.ts";

interface WireReceipt {
  readonly role: string;
  readonly objects: readonly string[];
  readonly accessor: string;
  readonly origin: {
    readonly namespace_id: string;
    readonly mount: string;
    readonly name: string;
    readonly accessor: string;
  } | null;
  readonly why: string;
  readonly result: string;
  readonly good_until: string | null;
  readonly request_ids: readonly string[];
  readonly tries: number;
}

async function receiptOf(server: EngineServer, lease: string): Promise<WireReceipt> {
  return at(await server.must("GET", `sys/evidence/receipts/${lease}`), "data") as WireReceipt;
}

const RULES = 'path "clouda/*" { capabilities = ["read"] }';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test("of a user: role, names, who was logged in, and the ids of the calls that removed it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("app");
  await server.must("POST", "sys/policies/acl/reads", { policy: RULES });
  await server.must("POST", "sys/auth/machines", { type: "approle" });
  await server.must("POST", "auth/machines/role/ci", { token_policies: ["reads"] });
  const role_id = at(await server.must("GET", "auth/machines/role/ci/role-id"), "data", "role_id");
  const made = await server.must("POST", "auth/machines/role/ci/secret-id", {});
  const secret_id = at(made, "data", "secret_id");
  const login = await server.must("POST", "auth/machines/login", { role_id, secret_id });
  const token = String(at(login, "auth", "client_token"));
  const mounts = await server.must("GET", "sys/auth");
  const user = await server.creds("clouda/creds/app", { token });
  const { control } = server.fake;
  control.forgetCalls();
  await server.revokeNow(user.lease);
  const receipt = await receiptOf(server, user.lease);
  assert.deepEqual([receipt.role, receipt.result, receipt.tries], ["app", "ended", 1]);
  assert.deepEqual(receipt.objects, [user.username, user.accessKey]);
  assert.equal(receipt.accessor, at(login, "auth", "accessor"));
  const { mount, name, accessor, namespace_id: namespace } = receipt.origin ?? {};
  assert.equal(mount, at(mounts, "data", "machines/", "uuid"));
  assert.deepEqual([namespace, accessor], ["root", ""]);
  assert.match(String(name), /^machines-./);
  const changes = control.calls().filter(({ action }) => !/^(?:Get|List)/.test(action));
  assert.ok(changes.length >= 3);
  assert.deepEqual(
    receipt.request_ids,
    changes.map(({ requestId }) => requestId),
  );
  assert.ok(!JSON.stringify(receipt).includes(user.secretKey));
});

test("of a user that was gone before: the call that said so; of one without a login: the token that it all began with", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("app");
  const root = at(await server.must("GET", "auth/token/lookup-self"), "data", "accessor");
  const rules = `${RULES}\npath "auth/token/create" { capabilities = ["update"] }`;
  const parent = await server.clientToken(rules);
  const child = await server.must("POST", "auth/token/create", {}, { token: parent.secret });
  const token = String(at(child, "auth", "client_token"));
  const user = await server.creds("clouda/creds/app", { token });
  await server.revokeNow((await server.creds("clouda/creds/app")).lease);
  server.fake.control.removeUser(user.username);
  await server.time.passSlowly(6n * MINUTE, MINUTE);
  server.fake.control.forgetCalls();
  await server.revokeNow(user.lease);
  const receipt = await receiptOf(server, user.lease);
  const [look] = server.fake.control.calls("ListGroupsForUser");
  assert.deepEqual(receipt.request_ids, [look?.requestId]);
  assert.equal(receipt.origin?.mount, "");
  assert.ok(receipt.origin.accessor === parent.accessor && receipt.origin.accessor !== root);
  assert.notEqual(receipt.accessor, parent.accessor);
});

test("a session that is revoked before its time is not called ended: it says until when it is good", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("deploy", {
    credential_type: "assumed_role",
    policy_arns: [],
    role_arns: [DEPLOY_ROLE],
  });
  const early = await server.creds("clouda/sts/deploy?ttl=1h");
  const late = await server.creds("clouda/sts/deploy?ttl=1h");
  await server.revokeNow(early.lease);
  const receipt = await receiptOf(server, early.lease);
  assert.deepEqual([receipt.role, receipt.why, receipt.result], ["deploy", "revoke", "expires"]);
  assert.equal(receipt.objects[0], DEPLOY_ROLE);
  assert.equal(receipt.objects.length, 2);
  assert.match(await server.identity(early), /assumed-role/, "it is good all the same");
  const end = Date.parse(String(receipt.good_until));
  const now = Number(server.time.clock.now() / 1_000_000n);
  assert.ok(end > now + 50 * 60_000 && end < now + 61 * 60_000);
  // One that ends by its time has ended, and the report of the hour counts both.
  await server.time.passSlowly(HOUR, 5n * MINUTE);
  await server.passUntil(async () => !(await server.isThere(late.lease)));
  const over = await receiptOf(server, late.lease);
  assert.deepEqual([over.why, over.result, over.good_until], ["expiry", "ended", null]);
  const results: unknown[] = [];
  await server.passUntil(async () => {
    const listed = at(await server.must("LIST", "sys/evidence"), "data", "key_info");
    results.length = 0;
    for (const [id, { kind }] of Object.entries(listed as Record<string, { kind: string }>)) {
      if (kind !== "leases.ended") continue;
      results.push(at(await server.must("GET", `sys/evidence/${id}`), "data", "report", "result"));
    }
    return (results as { ended: number }[]).some(({ ended }) => ended > 0);
  }, 10n * MINUTE);
  const sums = (results as Record<string, number>[]).reduce(
    (sum, { ended = 0, expires = 0 }) => [sum[0]! + ended, sum[1]! + expires],
    [0, 0],
  );
  assert.deepEqual(sums, [1, 1], JSON.stringify(results));
  assert.equal((results[0] as { state: string }).state, "partly");
});

test("of a principal: role, ids of all that was made, ids of the calls", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("reader");
  const principal = await server.creds("reader");
  await server.revokeNow(principal.lease);
  const receipt = await receiptOf(server, principal.lease);
  assert.deepEqual([receipt.role, receipt.result], ["reader", "ended"]);
  assert.equal(receipt.objects.length, 3);
  for (const id of [...receipt.objects, ...receipt.request_ids]) assert.match(id, UUID);
  assert.ok(receipt.request_ids.length >= 3);
  assert.equal(new Set(receipt.request_ids).size, receipt.request_ids.length);
  assert.ok(!JSON.stringify(receipt).includes(principal.clientSecret));
});
