// Threats I of both clouds that concern what is shown of a configuration, and roles that would limit nothing.

import assert from "node:assert/strict";
import test from "node:test";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import { MINUTE, SECOND } from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

test("T-I09: cloud A shows no secret key, and a rotation tells an id alone", async (t) => {
  const server = await cloudaServer(t);
  const before = await server.must("GET", "clouda/config/root");
  const id = String(at(before, "data", "access_key"));
  assert.equal(id, server.fake.accessKeyId, "there is a configuration");
  const rotated = await server.timed(server.ask("POST", "clouda/config/rotate-root"));
  assert.equal(rotated.status, 200, rotated.text);
  const after = await server.must("GET", "clouda/config/root");
  assert.deepEqual(Object.keys(at(rotated, "data") as object), ["access_key"]);
  assert.notEqual(at(after, "data", "access_key"), id);
  const secrets = server.fake.control.secrets();
  const texts = [before, rotated, after].map(({ text }) => text);
  assert.ok(secrets.length > 0);
  for (const secret of [...secrets, server.fake.secretAccessKey]) {
    for (const text of [...texts, ...server.test.lines]) assert.ok(!text.includes(secret));
  }
});

test("T-I09: cloud B shows no client secret, before a rotation or after", async (t) => {
  const server = await cloudbServer(t);
  const answers: Answer[] = [await server.must("GET", "cloudb/config")];
  answers.push(await server.timed(server.ask("POST", "cloudb/rotate-root")));
  await server.pass(6n * MINUTE, 20n * SECOND);
  answers.push(await server.must("GET", "cloudb/config"));
  for (const { status } of answers) assert.ok(status < 300);
  const secrets = server.fake.control.secrets();
  assert.ok(secrets.length > 1, "the old one and the new one");
  for (const secret of secrets) {
    for (const { text } of answers) assert.ok(!text.includes(secret));
    for (const line of server.test.lines) assert.ok(!line.includes(secret));
  }
});

test("T-I10: a role that would limit nothing is refused, and none is stored", async (t) => {
  const server = await cloudaServer(t);
  const nothing: readonly unknown[] = [undefined, [], [""], "", ",", ["", ""], [" "]];
  for (const credential_type of ["iam_user", "federation_token"]) {
    for (const policy_arns of nothing) {
      const answer = await server.writeRole("r", { credential_type, policy_arns });
      assert.equal(answer.status, 400, `${credential_type} ${JSON.stringify(policy_arns)}`);
      assert.match(answer.text, /policy_arns/);
    }
  }
  for (const role_arns of nothing) {
    const answer = await server.writeRole("r", { credential_type: "assumed_role", role_arns });
    assert.equal(answer.status, 400, JSON.stringify(role_arns));
    assert.match(answer.text, /role_arns/);
  }
  assert.equal((await server.ask("LIST", "clouda/roles")).status, 404);
  const cloudb = await cloudbServer(t);
  for (const roles of [undefined, [], "", "[]"]) {
    const body = { cloudb_roles: roles };
    const answer = await cloudb.timed(cloudb.ask("POST", "cloudb/roles/r", body));
    assert.equal(answer.status, 400, `${JSON.stringify(roles)}: ${answer.text}`);
  }
  assert.equal((await cloudb.ask("LIST", "cloudb/roles")).status, 404);
});
