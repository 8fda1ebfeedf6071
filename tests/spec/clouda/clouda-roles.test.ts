// Roles of clouda: cases C1 to C12 and C39 of docs/cases/cloud-engines.md, through HTTP. Every rule by itself is in
// engines/clouda/roles.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine, type EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { oldRoleCodec } from "../../../engines/clouda/roles/stored-role.ts";
import { regionsAnswer } from "../../support/replication/leases-elsewhere.ts";
import { cloudaServer, DEPLOY_ROLE, READ_ONLY } from "../../support/servers/cloud-server.ts";
import { absent, dataOf, done, keysOf, refused } from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

const USER = { credential_type: "iam_user", policy_arns: [READ_ONLY] };
const ASSUMED = { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE] };
const DOCUMENT = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "iam:ListUsers", Resource: "*" }],
});

function warningsOf(answer: Answer): readonly string[] {
  assert.equal(answer.status, 200, answer.text);
  return (at(answer, "warnings") ?? []) as string[];
}

test("C1: rules V1 to V15 are refused with the name of the field, all faults in one text", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const tags = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, "v"]));
  const rows: readonly (readonly [string, object, string])[] = [
    ["V1", { policy_arns: [READ_ONLY] }, "credential_type"],
    ["V2", { ...USER, credential_type: "user" }, "credential_type"],
    ["V3", { ...USER, role_arns: [DEPLOY_ROLE] }, "role_arns"],
    ["V4", { credential_type: "assumed_role" }, "role_arns"],
    ["V5", { credential_type: "iam_user" }, "policy_arns"],
    ["V6", { ...USER, policy_document: "{" }, "policy_document"],
    ["V7", { ...USER, default_sts_ttl: 1 }, "default_sts_ttl"],
    ["V8", { ...ASSUMED, default_sts_ttl: 2, max_sts_ttl: 1 }, "default_sts_ttl"],
    ["V9", { ...ASSUMED, user_path: "/a/" }, "user_path"],
    ["V10", { ...USER, user_path: "/a" }, "user_path"],
    ["V11", { ...ASSUMED, permissions_boundary_arn: READ_ONLY }, "permissions_boundary_arn"],
    ["V12", { ...USER, permissions_boundary_arn: "x" }, "permissions_boundary_arn"],
    ["V13", { ...USER, external_id: "x" }, "external_id"],
    ["V14", { ...USER, arn: READ_ONLY }, "credential_type"],
    ["V15", { ...USER, iam_tags: tags }, "iam_tags"],
  ];
  for (const [row, body, field] of rows) {
    const answer = await server.writeRole("r", body);
    assert.equal(answer.status, 400, `${row}: ${answer.text}`);
    assert.ok(answer.text.includes(field), `${row}: ${answer.text}`);
  }
  const several = { credential_type: "iam_user", role_arns: ["x"], user_path: "a" };
  refused(
    await server.writeRole("r", several),
    400,
    /role_arns is for assumed_role only; at least one of policy_arns .*; user_path is invalid/,
  );
  absent(await server.ask("GET", "clouda/roles/r"));
  assert.deepEqual(server.fake.control.actions(), []);
});

test("C2: what would limit nothing is refused", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const rows = [
    { credential_type: "assumed_role" },
    { credential_type: "iam_user", iam_groups: ["developers"] },
    { credential_type: "federation_token" },
  ];
  for (const body of rows) {
    const answer = await server.writeRole("r", body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /is required/);
  }
});

test("C3, C5, C6: a role is read with every field, in one form, and keeps what is not written", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const role = async (name: string) => dataOf(await server.ask("GET", `clouda/roles/${name}`));
  done(await server.writeRole("a", { ...ASSUMED, role_arns: [DEPLOY_ROLE, `${DEPLOY_ROLE}2`] }));
  done(await server.writeRole("b", { ...ASSUMED, role_arns: `${DEPLOY_ROLE} , ${DEPLOY_ROLE}2` }));
  const written = await role("a");
  assert.deepEqual(await role("b"), written);
  done(await server.writeRole("a", { max_sts_ttl: "1h" }));
  assert.deepEqual(await role("a"), { ...written, max_sts_ttl: 3600 });
  done(await server.writeRole("c", USER));
  assert.deepEqual(await role("c"), {
    credential_type: "iam_user",
    role_arns: [],
    policy_arns: [READ_ONLY],
    policy_document: "",
    iam_groups: [],
    iam_tags: {},
    default_sts_ttl: 0,
    max_sts_ttl: 0,
    user_path: "",
    permissions_boundary_arn: "",
    session_tags: {},
    external_id: "",
  });
});

test("C4: a document is kept as its author wrote it, without white space", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const document = '{ "Big" : 1e400 ,\n "a":1, "a": "x  y" }';
  done(await server.writeRole("r", { credential_type: "iam_user", policy_document: document }));
  const role = dataOf(await server.ask("GET", "clouda/roles/r"));
  assert.equal(role["policy_document"], '{"Big":1e400,"a":1,"a":"x  y"}');
});

test("C7: tags are an object or pairs", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  for (const iam_tags of [{ k: "v=w" }, ["k=v=w"]]) {
    done(await server.writeRole("r", { ...USER, iam_tags }));
    assert.deepEqual(dataOf(await server.ask("GET", "clouda/roles/r"))["iam_tags"], { k: "v=w" });
  }
  refused(await server.writeRole("r", { iam_tags: ["=v"] }), 400, "iam_tags has an empty key");
  for (const [text, tag, several] of [
    ["k=v,w=x", { k: "v,w=x" }, true],
    ["k=v, w", { k: "v, w" }, false],
    ["k=v", { k: "v" }, false],
  ] as const) {
    const answer = await server.must("POST", "clouda/roles/r", { ...USER, iam_tags: text });
    assert.equal(/iam_tags is one tag with commas/.test(answer.text), several, answer.text);
    assert.deepEqual(dataOf(await server.ask("GET", "clouda/roles/r"))["iam_tags"], tag);
  }
});

test("C8: a legacy ARN of a role gives sessions on sts, and nothing on creds", async (t) => {
  const server = await cloudaServer(t);
  assert.match(
    String(warningsOf(await server.writeRole("r", { arn: DEPLOY_ROLE }))[0]),
    /deprecated/,
  );
  const role = dataOf(await server.ask("GET", "clouda/roles/r"));
  assert.deepEqual([role["credential_type"], role["role_arns"]], ["assumed_role", [DEPLOY_ROLE]]);
  refused(
    await server.askCreds("clouda/creds/r"),
    400,
    "legacy role: assumed_role is not available on creds",
  );
  const session = await server.creds("clouda/sts/r");
  assert.match(await server.identity(session), /:assumed-role\/deploy\//);
});

test("C9: a legacy ARN of a policy gives users on creds, and nothing on sts", async (t) => {
  const server = await cloudaServer(t);
  warningsOf(await server.writeRole("r", { arn: READ_ONLY }));
  const role = dataOf(await server.ask("GET", "clouda/roles/r"));
  assert.deepEqual([role["credential_type"], role["policy_arns"]], ["iam_user", [READ_ONLY]]);
  refused(
    await server.askCreds("clouda/sts/r"),
    400,
    "legacy role: iam_user is not available on sts",
  );
  const user = await server.creds("clouda/creds/r");
  assert.deepEqual(server.user(user.username).attached, [READ_ONLY]);
});

test("C10: a legacy policy gives users on creds and federated ones on sts", async (t) => {
  const server = await cloudaServer(t);
  warningsOf(await server.writeRole("r", { policy: DOCUMENT }));
  const role = dataOf(await server.ask("GET", "clouda/roles/r"));
  assert.equal(role["credential_type"], "iam_user,federation_token");
  const user = await server.creds("clouda/creds/r");
  assert.deepEqual(server.user(user.username).inline, { r: DOCUMENT });
  const federated = await server.creds("clouda/sts/r");
  assert.match(await server.identity(federated), /:federated-user\//);
});

test("C11: a legacy parameter goes with no field of the new form", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const fields = {
    credential_type: "iam_user",
    role_arns: [DEPLOY_ROLE],
    policy_arns: [READ_ONLY],
    policy_document: DOCUMENT,
    iam_groups: ["g"],
    iam_tags: { a: "b" },
    default_sts_ttl: 1,
    max_sts_ttl: 1,
    user_path: "/",
    permissions_boundary_arn: READ_ONLY,
    session_tags: { a: "b" },
    external_id: "x",
  };
  for (const [field, value] of Object.entries(fields)) {
    const text = `legacy policy/arn cannot be mixed with ${field}`;
    refused(await server.writeRole("r", { policy: DOCUMENT, [field]: value }), 400, text);
  }
});

test("C12: what an earlier version stored and nobody can read is shown, unused and replaced", async (t) => {
  const seeded = {
    ...cloudaType,
    type: "clouda-of-old",
    open: async (needs: EngineNeeds) => {
      await needs.storage.write((tx) => {
        if (tx.keys("role/", { limit: 1 }).length > 0) return;
        tx.put("policy/old", "not json", oldRoleCodec);
        tx.put("policy/good", DOCUMENT, oldRoleCodec);
      });
      return cloudaType.open(needs);
    },
  };
  const server = await cloudaServer(t, { engineTypes: [anyEngine(seeded)] });
  await server.enable("old", "clouda-of-old");
  await server.configure({}, "old");
  assert.deepEqual(keysOf(await server.ask("LIST", "old/roles")), ["good", "old"]);
  const role = dataOf(await server.ask("GET", "old/roles/old"));
  assert.deepEqual([role["credential_type"], role["invalid_data"]], ["", "not json"]);
  for (const path of ["creds", "sts"]) {
    refused(
      await server.ask("GET", `old/${path}/old`),
      400,
      'role "old" holds invalid data from an earlier version; write it again',
    );
  }
  const [warning] = warningsOf(await server.writeRole("old", USER, "old"));
  assert.equal(warning, 'invalid data from an earlier version were dropped: "not json"');
  const written = dataOf(await server.ask("GET", "old/roles/old"));
  assert.equal("invalid_data" in written, false);
  assert.equal(dataOf(await server.ask("GET", "old/roles/good"))["policy_document"], DOCUMENT);
  assert.match((await server.creds("old/creds/good")).username, /^service-/);
});

test("C39: deleting a role tells of its leases, which live on", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const [one] = [await server.creds("clouda/creds/r"), await server.creds("clouda/creds/r")];
  assert.deepEqual(warningsOf(await server.ask("DELETE", "clouda/roles/r")), [
    "2 leases of the role live on until they end; revoke_leases=true revokes them",
  ]);
  absent(await server.ask("GET", "clouda/roles/r"));
  assert.equal(server.users().length, 2);
  const renewed = await server.renew(one.lease, { increment: 600 });
  assert.equal(renewed.status, 200, renewed.text);
  assert.equal(at(renewed, "lease_duration"), 600);
});

test("C39: with revoke_leases its users go as well", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  await server.makeRole("other");
  await server.creds("clouda/creds/r");
  const other = await server.creds("clouda/creds/other");
  const answer = await server.ask("DELETE", "clouda/roles/r?revoke_leases=true");
  assert.deepEqual(warningsOf(answer), ["1 leases of the role are being revoked"]);
  await server.passUntil(() => server.users().length === 1);
  assert.deepEqual(server.users(), [other.username]);
  assert.match(
    (await server.ask("DELETE", "clouda/roles/other")).text,
    /1 leases of the role live on/,
  );
});

test("what is made by a role that is deleted meanwhile is given to nobody, and goes at the provider", async (t) => {
  for (const [role, action, path] of [
    [USER, "CreateAccessKey", "clouda/creds/r"],
    [ASSUMED, "AssumeRole", "clouda/sts/r"],
  ] as const) {
    const server = await cloudaServer(t);
    done(await server.ask("POST", "clouda/roles/r", role));
    const { control } = server.fake;
    control.fault({ kind: "hold", action, when: "after" });
    const made = server.timed(server.ask("POST", path));
    await server.timed(control.whenHeld());
    done(await server.ask("DELETE", "clouda/roles/r"));
    control.release();
    refused(await made, 400, "the role was deleted while the secret was made: nothing was given");
    assert.deepEqual(server.users(), []);
    absent(await server.ask("LIST", `sys/leases/lookup/${path}`));
  }
});

test("leases of a role in other regions count, and a region that is not reached keeps it, unless that is forced", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  await server.creds("clouda/creds/r");
  let silent = ["c"];
  const questions = regionsAnswer(t, server.test.server, () => ({ count: 2, missing: silent }));
  refused(
    await server.ask("DELETE", "clouda/roles/r"),
    503,
    "a region that shares this mount is not reached, and may have leases of the role; nothing was changed: try again, or give force=true",
  );
  assert.equal((await server.ask("GET", "clouda/roles/r")).status, 200);
  silent = [];
  const [live] = warningsOf(await server.ask("DELETE", "clouda/roles/r"));
  assert.match(live ?? "", /^5 leases of the role live on/); // those of STS have a place of their own
  silent = ["c"];
  await server.makeRole("r");
  questions.length = 0;
  const forced = await server.ask("DELETE", "clouda/roles/r?force=true&revoke_leases=true");
  assert.equal(warningsOf(forced).length, 2, forced.text);
  assert.match(warningsOf(forced)[1] ?? "", /live on there/);
  assert.deepEqual(
    questions.filter(({ revoke }) => revoke).map(({ place }) => place),
    ["creds/r", "sts/r"],
  );
});

test("texts of a role may be numbers, and switches 1 and 0", async (t) => {
  const server = await cloudaServer(t);
  const role = { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE], external_id: 123 };
  await server.must("POST", "clouda/roles/r", { ...role, session_tags: { cost: 1.5 } });
  const answer = dataOf(await server.ask("GET", "clouda/roles/r"));
  assert.deepEqual([answer["external_id"], answer["session_tags"]], ["123", { cost: "1.5" }]);
  await server.configure({ disable_automated_rotation: 1 });
  const root = dataOf(await server.ask("GET", "clouda/config/root"));
  assert.equal(root["disable_automated_rotation"], true);
});
