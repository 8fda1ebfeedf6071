// The machinery that both cloud engines need, through HTTP: cases M1 to M16 of docs/cases/cloud-engines.md.

import assert from "node:assert/strict";
import test from "node:test";
import { type CloudAServer, cloudaServer } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import {
  absent,
  dataOf,
  done,
  grants,
  keysOf,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { type Answer, at } from "../../support/http-client.ts";

type Mount = Readonly<Record<string, unknown>>;

async function mountOf(server: CloudAServer, path: string): Promise<Mount | undefined> {
  const mounts = dataOf(await server.ask("GET", "sys/mounts"));
  return mounts[`${path}/`] as Mount | undefined;
}

function disable(server: CloudAServer, path = "clouda"): Promise<Answer> {
  return server.timed(server.ask("DELETE", `sys/mounts/${path}`));
}

test("M1: both engines are mounted on a fresh server", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const type of ["clouda", "cloudb"]) {
    const mount = await mountOf(server, type);
    assert.equal(mount?.["type"], type);
    assert.match(String(mount["accessor"]), new RegExp(`^${type}_[0-9a-f]{8}$`));
  }
});

test("M2: two mounts of one engine know nothing of each other", async (t) => {
  const server = await cloudaServer(t);
  await server.enable("team/aws2", "clouda");
  await server.makeRole("one");
  await server.makeRole("two", {}, "team/aws2");
  assert.deepEqual(keysOf(await server.ask("LIST", "clouda/roles")), ["one"]);
  assert.deepEqual(keysOf(await server.ask("LIST", "team/aws2/roles")), ["two"]);
  absent(await server.ask("GET", "clouda/roles/two"));
  absent(await server.ask("GET", "team/aws2/roles/one"));
  absent(await server.ask("GET", "team/aws2/config/root"));
  await server.configure({ region: "eu-west-1" }, "team/aws2");
  await server.creds("clouda/creds/one");
  await server.creds("team/aws2/creds/two");
  const regions = server.fake.control.calls("CreateUser").map(({ region }) => region);
  assert.deepEqual(regions, ["us-east-1", "eu-west-1"]);
});

test("M3: a default mount that was unmounted stays unmounted", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  done(await disable(server, "cloudb"));
  await server.crash();
  assert.equal(await mountOf(server, "cloudb"), undefined);
  assert.notEqual(await mountOf(server, "clouda"), undefined);
});

test("M4: an unknown field is told of, and the role is stored", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const role = { credential_type: "iam_user", policy_arns: ["arn:aws:iam::aws:policy/Billing"] };
  const answer = await server.writeRole("x", { ...role, foo: 1 });
  assert.equal(answer.status, 200, answer.text);
  const warnings = at(answer, "warnings") as string[];
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /foo/);
  done(await server.writeRole("x", role));
  assert.deepEqual(keysOf(await server.ask("LIST", "clouda/roles")), ["x"]);
});

test("M5, M6: what is not there is 404 without a word, read and listed", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const path of ["roles", "static-roles"]) {
    absent(await server.ask("GET", `clouda/${path}/none`));
    absent(await server.ask("LIST", `clouda/${path}`));
    absent(await server.ask("GET", `clouda/${path}?list=true`));
  }
  absent(await server.ask("GET", "clouda/static-creds/none"));
});

test("M7: what is not there cannot be deleted", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const path of ["clouda/roles/none", "clouda/static-roles/none", "cloudb/roles/none"]) {
    absent(await server.ask("DELETE", path));
  }
  await server.makeRole("x");
  done(await server.ask("DELETE", "clouda/roles/x"));
  absent(await server.ask("DELETE", "clouda/roles/x"));
});

test("M8: other verbs are not served", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const [method, path] of [
    ["PATCH", "clouda/roles/x"],
    ["POST", "cloudb/creds/x"],
    ["DELETE", "clouda/config/root"],
    ["POST", "clouda/static-creds/x"],
  ] as const) {
    const answer = await server.ask(method, path, method === "DELETE" ? undefined : {});
    refused(answer, 405, "unsupported operation");
  }
});

test("M9: names of roles have their letters", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const role = { credential_type: "iam_user", policy_arns: ["arn:aws:iam::aws:policy/Billing"] };
  for (const name of ["-x", "x-", "a/b", "x%20y", "x!y"]) {
    for (const mount of ["clouda", "cloudb"]) {
      const answer = await server.ask("POST", `${mount}/roles/${name}`, role);
      assert.equal(answer.status, 404, `${mount} ${name}: ${answer.text}`);
    }
  }
  for (const name of ["x@y", "_x_", "a.b-c", "9", "X"]) {
    done(await server.writeRole(name, role));
    assert.equal((await server.ask("GET", `clouda/roles/${name}`)).status, 200);
  }
  assert.deepEqual(keysOf(await server.ask("LIST", "clouda/roles")), [
    "9",
    "X",
    "_x_",
    "a.b-c",
    "x@y",
  ]);
  absent(await server.ask("GET", "clouda/roles/x"));
  assert.equal((await server.ask("POST", "cloudb/roles/x@y", {})).status, 404);
});

test("M10: names of roles of cloudb are the same in every case", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("MyRole", { ttl: "1h" });
  assert.equal(dataOf(await server.ask("GET", "cloudb/roles/myrole"))["ttl"], 3600);
  assert.deepEqual(keysOf(await server.ask("LIST", "cloudb/roles")), ["myrole"]);
  assert.equal((await server.creds("MYROLE")).seconds, 3600);
  await server.makeRole("MYROLE", { ttl: "2h" });
  assert.equal(dataOf(await server.ask("GET", "cloudb/roles/MyRole"))["ttl"], 7200);
  assert.equal((await server.ask("DELETE", "cloudb/roles/mYrole")).status < 300, true);
  absent(await server.ask("GET", "cloudb/roles/myrole"));
});

test("M11: the envelope of credentials", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { json, status } = await server.askCreds("clouda/creds/r");
  assert.equal(status, 200);
  const envelope = json as Record<string, unknown>;
  assert.match(String(envelope["request_id"]), /^[0-9a-f-]{36}$/);
  assert.match(String(envelope["lease_id"]), /^clouda\/creds\/r\/[0-9A-Za-z]{24}$/);
  assert.equal(envelope["lease_duration"], 2_764_800);
  assert.equal(envelope["renewable"], true);
  assert.equal(envelope["mount_type"], "clouda");
  assert.deepEqual(Object.keys(envelope["data"] as object).toSorted(), [
    "access_key",
    "secret_key",
    "security_token",
    "session_token",
    "username",
  ]);
});

test("M12: who may not, does not reach the provider", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const reader = await server.client(grants("clouda/roles/*", "read", "list"));
  const denied = "permission denied";
  const as = { token: reader };
  refused(await server.ask("GET", "clouda/creds/r", undefined, as), 403, denied);
  refused(await server.ask("POST", "clouda/creds/r", {}, as), 403, denied);
  refused(await server.ask("POST", "clouda/sts/r", {}, as), 403, denied);
  refused(await server.ask("POST", "clouda/roles/r", {}, as), 403, denied);
  refused(await server.ask("POST", "clouda/config/rotate-root", {}, as), 403, denied);
  assert.equal((await server.ask("GET", "clouda/roles/r", undefined, as)).status, 200);
  assert.deepEqual(server.fake.control.calls(), []);
});

test("M13: unmounting ends every lease at the provider and leaves nothing stored", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  await server.creds("clouda/creds/r");
  await server.creds("clouda/creds/r");
  assert.equal(server.users().length, 2);
  const uuid = String((await mountOf(server, "clouda"))?.["uuid"]);
  assert.ok(server.storedKeys(uuid).length > 0);
  done(await disable(server));
  assert.deepEqual(server.users(), []);
  assert.deepEqual(server.storedKeys(uuid), []);
  assert.equal(await mountOf(server, "clouda"), undefined);
});

test("M14: unmounting while the provider is away fails, stays tainted, and is repeated", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  await server.configure({ max_retries: 0 });
  const { username } = await server.creds("clouda/creds/r");
  server.fake.control.cut(true);
  const failed = await disable(server);
  refused(failed, 502, /^the mount could not be disabled and stays closed: /);
  assert.equal(failed.text.split("iam:ListGroupsForUser").length, 2, failed.text); // told once
  assert.notEqual(await mountOf(server, "clouda"), undefined);
  assert.equal((await server.ask("GET", "clouda/roles/r")).status, 404);
  assert.equal((await server.ask("GET", "clouda/creds/r")).status, 404);
  assert.deepEqual(server.users(), [username]);
  server.fake.control.cut(false);
  done(await disable(server));
  assert.deepEqual(server.users(), []);
  assert.equal(await mountOf(server, "clouda"), undefined);
});

test("M15: unmounting right after a crash takes away what was half made", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  await server.dieAt("CreateUser", "after", () => server.ask("GET", "clouda/creds/r"));
  assert.equal(server.users().length, 1);
  await server.time.pass(SECOND);
  done(await disable(server));
  assert.deepEqual(server.users(), []);
});

test("M16: a mount with static roles goes only when they are given up", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("adopted");
  const role = { username: "adopted", rotation_period: "24h" };
  const made = await server.timed(server.ask("POST", "clouda/static-roles/s", role));
  assert.equal(made.status, 200, made.text);
  const [key] = server.user("adopted").keys;
  assert.ok(key !== undefined);
  refused(await disable(server), 400, /1 static role: s \(user adopted\)/);
  assert.equal((await server.ask("GET", "clouda/static-roles/s")).status, 200);
  const answer = await disable(server, "clouda?abandon=true");
  assert.equal(answer.status, 200, answer.text);
  assert.match(String(at(answer, "warnings", 0)), /1 static role: s \(user adopted\)/);
  await until(async () => (await mountOf(server, "clouda")) === undefined);
  assert.deepEqual(server.user("adopted").keys, [key]);
});
