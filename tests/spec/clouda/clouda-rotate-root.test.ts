// rotate-root of clouda through HTTP: cases R1 to R7 of docs/cases/cloud-engines.md.

import assert from "node:assert/strict";
import test from "node:test";
import { type CloudAServer, cloudaServer } from "../../support/servers/cloud-server.ts";
import { dataOf, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

function rotate(server: CloudAServer): Promise<Answer> {
  return server.timed(server.ask("POST", "clouda/config/rotate-root", {}));
}

function rootKeys(server: CloudAServer): string[] {
  return server.user("holdfast").keys.map(({ id }) => id);
}

async function configuredKey(server: CloudAServer): Promise<unknown> {
  return dataOf(await server.ask("GET", "clouda/config/root"))["access_key"];
}

test("R1: the only key is replaced by a new one, which is used from then on", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const answer = await rotate(server);
  const made = String(dataOf(answer)["access_key"]);
  assert.deepEqual(Object.keys(dataOf(answer)), ["access_key"]);
  assert.equal(at(answer, "warnings"), null);
  assert.notEqual(made, server.fake.accessKeyId);
  assert.deepEqual(rootKeys(server), [made]);
  assert.equal(await configuredKey(server), made);
  const root = dataOf(await server.ask("GET", "clouda/config/root"));
  assert.equal(root["root_key_created"], "2026-01-01T00:00:00Z");
  server.fake.control.forgetCalls();
  await server.creds("clouda/creds/r");
  assert.ok(server.fake.control.calls().every(({ accessKeyId }) => accessKeyId === made));
  const again = dataOf(await rotate(server));
  assert.deepEqual(rootKeys(server), [again["access_key"]]);
  for (const secret of server.fake.control.secrets()) assert.ok(!answer.text.includes(secret));
});

test("R2: with two keys it is refused before anything is made", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  const user = control.account.users.get("holdfast");
  user?.keys.push(control.account.newKey("AKIA"));
  const text = "the IAM user already has two access keys; delete the one this service does not use";
  refused(await rotate(server), 400, text);
  assert.equal(control.calls("ListAccessKeys").length, 1);
  assert.equal(control.calls("CreateAccessKey").length, 0);
  // Where the provider finds out later than the list has told: no second try.
  user?.keys.pop();
  control.fault({
    kind: "error",
    action: "CreateAccessKey",
    times: null,
    status: 409,
    code: "LimitExceeded",
    message: "Cannot exceed quota for AccessKeysPerUser: 2",
  });
  refused(await rotate(server), 400, text);
  assert.equal(control.calls("CreateAccessKey").length, 1);
  assert.equal(await configuredKey(server), server.fake.accessKeyId);
});

test("R3: without a stored pair there is nothing to rotate", async (t) => {
  const environment = (fake: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  }) => ({ CLOUDA_ACCESS_KEY: fake.accessKeyId, CLOUDA_SECRET_KEY: fake.secretAccessKey });
  const server = await cloudaServer(t, { configured: false, environment });
  const text = "rotate-root needs access_key and secret_key in config/root";
  refused(await rotate(server), 400, text);
  const { url } = server.fake;
  await server.must("POST", "clouda/config/root", { iam_endpoint: url, sts_endpoint: url });
  refused(await rotate(server), 400, text);
  assert.deepEqual(server.fake.control.calls(), []);
});

test("R4: an old key that cannot be deleted is told of and deleted later", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.permissions("holdfast", { deny: ["iam:DeleteAccessKey"] });
  const answer = await rotate(server);
  const made = String(dataOf(answer)["access_key"]);
  const [warning] = at(answer, "warnings") as string[];
  assert.match(warning ?? "", /iam:DeleteAccessKey.*is still there/);
  assert.deepEqual(rootKeys(server), [server.fake.accessKeyId, made]);
  assert.equal(await configuredKey(server), made);
  control.permissions("holdfast", { deny: [] });
  await server.passUntil(() => rootKeys(server).length === 1, 5n * SECOND);
  assert.deepEqual(rootKeys(server), [made]);
  const again = dataOf(await rotate(server));
  assert.deepEqual(rootKeys(server), [again["access_key"]]);
});

test("R4: a second rotation does not wait for the tick that would have deleted the old key", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.fault({
    kind: "error",
    action: "DeleteAccessKey",
    status: 403,
    code: "AccessDenied",
    message: "no",
  });
  assert.equal((at(await rotate(server), "warnings") as unknown[]).length, 1);
  const again = dataOf(await rotate(server));
  assert.deepEqual(rootKeys(server), [again["access_key"]]);
});

test("R5: a crash after the key was made leaves the old one configured, and the unknown one goes", async (t) => {
  const server = await cloudaServer(t);
  const { control, accessKeyId } = server.fake;
  // An operator's own key from before must survive: it goes when the new one is made.
  await server.dieAt("CreateAccessKey", "after", () =>
    server.ask("POST", "clouda/config/rotate-root", {}),
  );
  assert.equal(rootKeys(server).length, 2);
  assert.equal(await configuredKey(server), accessKeyId);
  await server.time.passSlowly(4n * MINUTE, 30n * SECOND);
  assert.equal(rootKeys(server).length, 2, "a younger record may belong to a running request");
  await server.passUntil(() => rootKeys(server).length === 1, 5n * SECOND);
  assert.deepEqual(rootKeys(server), [accessKeyId]);
  await server.makeRole("r");
  await server.creds("clouda/creds/r");
  assert.equal(control.calls("CreateUser")[0]?.accessKeyId, accessKeyId);
});

test("R5: a crash before the key was made leaves everything as it was", async (t) => {
  const server = await cloudaServer(t);
  await server.dieAt("CreateAccessKey", "before", () =>
    server.ask("POST", "clouda/config/rotate-root", {}),
  );
  await server.time.passSlowly(10n * MINUTE, 30n * SECOND);
  assert.deepEqual(rootKeys(server), [server.fake.accessKeyId]);
  assert.equal((await rotate(server)).status, 200);
  assert.equal(rootKeys(server).length, 1);
});

test("R5: a crash after the new pair was stored ends with the new one alone", async (t) => {
  const server = await cloudaServer(t);
  await server.dieAt("DeleteAccessKey", "before", () =>
    server.ask("POST", "clouda/config/rotate-root", {}),
  );
  const made = await configuredKey(server);
  assert.notEqual(made, server.fake.accessKeyId);
  await server.passUntil(() => rootKeys(server).length === 1, 5n * SECOND);
  assert.deepEqual(rootKeys(server), [made]);
});

test("R6: it returns when a key that is known late works, and nobody's request fails meanwhile", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  control.visibility({ authentication: 8 });
  const began = server.time.clock.elapsed();
  let over = false;
  const rotating = server.ask("POST", "clouda/config/rotate-root", {}).finally(() => (over = true));
  const statuses: number[] = [];
  for (let i = 0; !over; i++) {
    assert.ok(i < 100, "the rotation never came to an end");
    statuses.push((await server.askCreds("clouda/creds/r")).status);
    await server.time.passSlowly(SECOND / 2n, SECOND / 2n);
  }
  const answer = await rotating;
  assert.equal(at(answer, "warnings"), null, answer.text);
  assert.ok(server.time.clock.elapsed() - began >= 8n * SECOND);
  assert.ok(statuses.length > 0);
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual(rootKeys(server), [dataOf(answer)["access_key"]]);
});

test("R6: a key that works only by halves is not trusted yet", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.visibility({ authentication: 2, flapping: 6 });
  const answer = await rotate(server);
  assert.equal(at(answer, "warnings"), null, answer.text);
  const outcomes = server.fake.control
    .calls("GetCallerIdentity")
    .map(({ outcome }) => (outcome === "ok" ? "+" : "-"))
    .join("");
  assert.match(outcomes, /\+-.*\+\+\+$/);
});

test("R6: a key that is not known for long leaves the old one until it is", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.visibility({ authentication: 40 });
  const answer = await rotate(server);
  const made = dataOf(answer)["access_key"];
  assert.match(String(at(answer, "warnings", 0)), /does not accept the new access key everywhere/);
  assert.deepEqual(rootKeys(server), [server.fake.accessKeyId, made]);
  await server.passUntil(() => rootKeys(server).length === 1, 5n * SECOND);
  assert.deepEqual(rootKeys(server), [made]);
});

test("R7: the permission that is missing is named", async (t) => {
  const server = await cloudaServer(t);
  const actions = ["iam:GetUser", "iam:ListAccessKeys", "iam:CreateAccessKey"];
  for (const action of actions) {
    server.fake.control.permissions("holdfast", { deny: [action] });
    refused(await rotate(server), 400, new RegExp(action));
  }
  assert.deepEqual(rootKeys(server), [server.fake.accessKeyId]);
});
