import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../../support/http-client.ts";
import { keysIn, textsOf } from "./raw-client.ts";
import { refused, started, succeeded } from "./started.ts";

const ANNA = { UserName: "anna" };

function names(state: { readonly users: readonly { readonly name: string }[] }): string[] {
  return state.users.map(({ name }) => name);
}

test("a new user is unknown for a while to reads and to changes, but its name is taken", async (t) => {
  let now = Date.now();
  const { root, must, fake } = await started(t, { now: () => now });
  fake.control.visibility({ newUsers: 3, actions: { AttachUserPolicy: 5 } });
  await must("CreateUser", ANNA);
  refused(await root.send("GetUser", ANNA), 404, "NoSuchEntity");
  refused(await root.send("CreateAccessKey", ANNA), 404, "NoSuchEntity");
  refused(await root.send("CreateUser", ANNA), 409, "EntityAlreadyExists");
  now += 3000;
  await must("GetUser", ANNA);
  const attach = { ...ANNA, PolicyArn: "arn:aws:iam::aws:policy/ReadOnlyAccess" };
  refused(await root.send("AttachUserPolicy", attach), 404, "NoSuchEntity");
  now += 2000;
  await must("AttachUserPolicy", attach);
});

test("a new key is accepted late, and by halves before that", async (t) => {
  let now = Date.now();
  const { root, must, fake } = await started(t, { now: () => now });
  fake.control.visibility({ authentication: 8, flapping: 4, newKeys: 2 });
  await must("CreateUser", ANNA);
  const keys = keysIn(await must("CreateAccessKey", ANNA));
  const anna = root.as(keys);
  assert.deepEqual(textsOf(await must("ListAccessKeys", ANNA), "AccessKeyId"), []);
  refused(await anna.send("GetCallerIdentity"), 403, "InvalidClientTokenId");
  now += 8000;
  assert.deepEqual(textsOf(await must("ListAccessKeys", ANNA), "AccessKeyId"), [keys.accessKeyId]);
  const codes: string[] = [];
  for (let i = 0; i < 4; i++) codes.push((await anna.send("GetCallerIdentity")).code);
  assert.deepEqual(codes, ["", "InvalidClientTokenId", "", "InvalidClientTokenId"]);
  now += 4000;
  for (let i = 0; i < 4; i++) succeeded(await anna.send("GetCallerIdentity"));
});

test("a deleted user is read and a deleted key accepted for a while", async (t) => {
  let now = Date.now();
  const { root, must, fake } = await started(t, { now: () => now });
  await must("CreateUser", ANNA);
  const keys = keysIn(await must("CreateAccessKey", ANNA));
  fake.control.visibility({ deletions: 5 });
  await must("DeleteAccessKey", { ...ANNA, AccessKeyId: keys.accessKeyId });
  succeeded(await root.as(keys).send("GetCallerIdentity"));
  await must("DeleteUser", ANNA);
  await must("GetUser", ANNA);
  refused(await root.send("DeleteUser", ANNA), 404, "NoSuchEntity");
  now += 5000;
  refused(await root.send("GetUser", ANNA), 404, "NoSuchEntity");
  refused(await root.as(keys).send("GetCallerIdentity"), 403, "InvalidClientTokenId");
});

test("an answer is lost after the deed, and a connection cut before it", async (t) => {
  const { root, must, fake } = await started(t);
  fake.control.fault({ kind: "lost", action: "CreateUser" });
  await assert.rejects(root.send("CreateUser", ANNA), /hang up|ECONNRESET/);
  assert.deepEqual(names(fake.control.state()), ["anna", "holdfast"]);
  fake.control.fault({ kind: "lost", action: "CreateUser", when: "before" });
  await assert.rejects(root.send("CreateUser", { UserName: "bob" }), /hang up|ECONNRESET/);
  assert.deepEqual(names(fake.control.state()), ["anna", "holdfast"]);
  await must("CreateUser", { UserName: "bob" });
  assert.deepEqual(
    fake.control.calls("CreateUser").map(({ outcome }) => outcome),
    ["ok, lost", "lost", "ok"],
  );
});

test("a fault befalls the requests that it fits, as often as told", async (t) => {
  const { root, must, fake } = await started(t);
  const denial = { kind: "error", status: 403, code: "AccessDenied", message: "no" } as const;
  fake.control.fault({ ...denial, action: "GetUser", match: ANNA, skip: 1, times: 2 });
  await must("CreateUser", ANNA);
  await must("GetUser", ANNA);
  refused(await root.send("GetUser", ANNA), 403, "AccessDenied");
  await must("GetUser");
  refused(await root.send("GetUser", ANNA), 403, "AccessDenied");
  await must("GetUser", ANNA);
  fake.control.fault({ kind: "unavailable", action: "*", times: null });
  const failed = await root.send("GetUser");
  refused(failed, 503, "ServiceUnavailable");
  assert.match(failed.text, /<Type>Receiver<\/Type>/);
  fake.control.calm();
  await must("GetUser");
});

test("a refusal can repeat every secret of the caller", async (t) => {
  const { root, keys, fake } = await started(t);
  fake.control.fault({ kind: "error", action: "GetUser", status: 400, code: "X", echo: true });
  assert.ok((await root.send("GetUser")).text.includes(keys.secretAccessKey));
});

test("what is over the rate is throttled", async (t) => {
  let now = 1_767_225_600_000;
  const { root, must, fake } = await started(t, { now: () => now });
  fake.control.throttle({ perSecond: 2, retryAfter: 7 });
  await must("GetUser");
  await must("GetUser");
  const over = await root.send("GetUser");
  refused(over, 400, "Throttling");
  assert.equal(over.headers["retry-after"], "7");
  now += 1000;
  await must("GetUser");
  fake.control.throttle({ fraction: 0.5, actions: ["GetUser"] });
  const codes: string[] = [];
  for (let i = 0; i < 40; i++) codes.push((await root.send("GetUser")).code);
  const refusals = codes.filter((code) => code === "Throttling").length;
  assert.ok(refusals > 10 && refusals < 30, String(refusals));
  await must("ListUsers");
});

test("a held request goes on when it is released, but not for a caller that has gone", async (t) => {
  const { root, fake } = await started(t);
  const { control } = fake;
  control.fault({ kind: "hold", action: "CreateUser" });
  const waiting = root.send("CreateUser", ANNA);
  await control.whenHeld();
  assert.equal(control.calls("CreateUser")[0]?.outcome, "under way");
  control.release();
  succeeded(await waiting);
  control.fault({ kind: "hold", action: "DeleteUser", when: "after" });
  const deleting = root.send("DeleteUser", ANNA);
  await control.whenHeld();
  assert.deepEqual(names(control.state()), ["holdfast"]);
  control.release();
  succeeded(await deleting);
});

test("a wire that is cut ends what is held without effect, and serves nothing", async (t) => {
  const { root, must, fake } = await started(t);
  const { control } = fake;
  control.fault({ kind: "hold", action: "CreateUser" });
  const waiting = assert.rejects(root.send("CreateUser", ANNA), /hang up|ECONNRESET/);
  await control.whenHeld();
  control.cut(true);
  await waiting;
  await assert.rejects(root.send("CreateUser", ANNA), /hang up|ECONNRESET/);
  control.cut(false);
  assert.deepEqual(names(control.state()), ["holdfast"]);
  assert.equal(control.calls("CreateUser")[0]?.outcome, "abandoned");
  await must("CreateUser", ANNA);
});

test("an answer can be anything", async (t) => {
  const { root, fake } = await started(t);
  const body = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>';
  fake.control.fault({ kind: "raw", action: "GetUser", status: 200, body });
  assert.equal((await root.send("GetUser")).text, body);
});

test("the control answers over HTTP too", async (t) => {
  const { fake, root } = await started(t);
  const post = async (path: string, body: unknown) => {
    const answer = await call(fake.url, "POST", `/_fake/${path}`, { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  await post("users", { name: "bob", keys: 2 });
  await post("faults", { kind: "throttle", action: "GetUser" });
  await post("permissions", { user: "holdfast", deny: ["iam:ListUsers"] });
  refused(await root.send("GetUser"), 400, "Throttling");
  refused(await root.send("ListUsers"), 403, "AccessDenied");
  const state = await call(fake.url, "GET", "/_fake/state");
  assert.match(state.text, /"name":"bob"/);
  assert.ok(fake.control.secrets().every((secret) => !state.text.includes(secret)));
  const calls = (await call(fake.url, "GET", "/_fake/calls")).json as { action: string }[];
  assert.deepEqual(
    calls.map(({ action }) => action),
    ["GetUser", "ListUsers"],
  );
  const unknown = await call(fake.url, "POST", "/_fake/none", { body: {} });
  assert.equal(unknown.status, 404);
});
