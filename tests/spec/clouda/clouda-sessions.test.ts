// Sessions that clouda gives: cases C27 to C35 and C37 of docs/cases/cloud-engines.md, through HTTP and before the fake
// provider.

import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine, type EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { emptyRole, type Role } from "../../../engines/clouda/roles/role.ts";
import { roleCodec } from "../../../engines/clouda/roles/stored-role.ts";
import { RawClient } from "../../fakes/clouda/raw-client.ts";
import {
  type CloudAServer,
  cloudaServer,
  DEPLOY_ROLE,
  READ_ONLY,
} from "../../support/servers/cloud-server.ts";
import { dataOf, refused } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const STS = "clouda/sts/r";
const ASSUMED = { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE], policy_arns: [] };
const FEDERATED = { credential_type: "federation_token", policy_arns: [READ_ONLY] };

const statement = (sid: string) => ({ Sid: sid, Effect: "Allow", Action: "s3:*", Resource: "*" });
const document = (...sids: readonly string[]) =>
  JSON.stringify({ Version: "2012-10-17", Statement: sids.map(statement) });

/** The parameters of the last call of this action. */
function sent(server: CloudAServer, action = "AssumeRole"): Readonly<Record<string, string>> {
  const last = server.fake.control.calls(action).at(-1);
  assert.ok(last !== undefined, `no ${action}`);
  return last.params;
}

function arnsIn(params: Readonly<Record<string, string>>): string[] {
  return Object.entries(params)
    .filter(([name]) => name.startsWith("PolicyArns.member."))
    .toSorted(([a], [b]) => Number(a.split(".")[2]) - Number(b.split(".")[2]))
    .map(([, arn]) => arn);
}

test("C27: the only role of a role is assumed, and the answer says until when", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", ASSUMED);
  const answer = await server.askCreds(STS);
  const data = dataOf(answer);
  assert.equal(sent(server)["RoleArn"], DEPLOY_ROLE);
  assert.equal(data["session_token"], data["security_token"]);
  assert.match(String(data["arn"]), /^arn:aws:sts::123456789012:assumed-role\/deploy\/service-/);
  assert.equal(data["ttl"], 3600);
  assert.deepEqual([at(answer, "lease_duration"), at(answer, "renewable")], [3600, false]);
  assert.match(String(at(answer, "lease_id")), /^clouda\/sts\/r\/[A-Za-z0-9]{24}$/);
});

test("C28: of several roles one must be named, and it must be allowed", async (t) => {
  const server = await cloudaServer(t);
  const other = server.fake.control.makeRole("other");
  await server.makeRole("r", { ...ASSUMED, role_arns: [DEPLOY_ROLE, other] });
  refused(await server.askCreds(STS), 400, "role_arn is required: the role allows 2 ARNs");
  const wrong = `${STS}?role_arn=${encodeURIComponent(`${other}x`)}`;
  refused(await server.askCreds(wrong), 400, /^role_arn .* is not allowed by role r$/);
  assert.deepEqual(server.fake.control.actions(), []);
  await server.creds(`${STS}?role_arn=${encodeURIComponent(other)}`);
  assert.equal(sent(server)["RoleArn"], other);
});

test("C29: the name of a session is cut to what the provider takes", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", ASSUMED);
  const name = `ann of ${"x".repeat(73)}`;
  await server.creds(`${STS}?role_session_name=${encodeURIComponent(name)}`);
  assert.equal(sent(server)["RoleSessionName"], `ann_of_${"x".repeat(57)}`);
});

test("C30: a session is as long as asked, as the role says, or an hour; and no longer than allowed", async (t) => {
  const server = await cloudaServer(t);
  const lasting = async (place: string) => {
    const { seconds, warnings } = await server.creds(place);
    assert.equal(sent(server)["DurationSeconds"], String(seconds));
    return { seconds, warnings };
  };
  await server.makeRole("r", ASSUMED);
  assert.deepEqual(await lasting(STS), { seconds: 3600, warnings: [] });
  await server.makeRole("r", { ...ASSUMED, default_sts_ttl: "15m" });
  assert.deepEqual(await lasting(STS), { seconds: 900, warnings: [] });
  assert.deepEqual(await lasting(`${STS}?ttl=20m`), { seconds: 1200, warnings: [] });
  await server.makeRole("r", { ...ASSUMED, max_sts_ttl: 1000 });
  assert.deepEqual(await lasting(`${STS}?ttl=20m`), {
    seconds: 1000,
    warnings: ["ttl of 1200 s was cut to 1000 s by max_sts_ttl of the role"],
  });
});

test("C30, T-I08: a part of a second is no way around what is allowed", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", { ...ASSUMED, max_sts_ttl: 1000 });
  const calls = () => server.fake.control.calls("AssumeRole").length;
  const before = calls();
  for (const ttl of ["500ms", "999500ms"]) {
    refused(await server.askCreds(`${STS}?ttl=${ttl}`), 400, /^ttl must be .* in whole seconds/);
  }
  assert.equal(calls(), before, "nothing was asked of the provider");
});

test("C30, T-I08: a session is no longer than the mount allows, whatever its role says", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", { ...ASSUMED, max_sts_ttl: "2h" });
  await server.must("POST", "sys/mounts/clouda/tune", { max_lease_ttl: "30m" });
  const { seconds, warnings } = await server.creds(`${STS}?ttl=1h`);
  assert.equal(seconds, 1800);
  assert.deepEqual(warnings, ["ttl of 3600 s was cut to 1800 s by max_lease_ttl of the mount"]);
  assert.equal(sent(server)["DurationSeconds"], "1800");
});

test("C31: what the provider says of too short a session is told", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", ASSUMED);
  refused(await server.askCreds(`${STS}?ttl=60`), 400, /^sts:AssumeRole: ValidationError: .*900/);
});

test("C32: policies of groups are read to their last page and sent once, in order", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  const audit = "arn:aws:iam::aws:policy/SecurityAudit";
  const view = "arn:aws:iam::aws:policy/ViewOnlyAccess";
  control.makeGroup("one", {
    attached: [READ_ONLY, audit],
    inline: { a: document("a1", "a2"), b: JSON.stringify({ Statement: statement("b+/ %") }) },
  });
  control.makeGroup("two", { attached: [audit, view], inline: { c: document("c") } });
  control.pageSize(1);
  for (const [role, action] of [
    [{ ...ASSUMED, policy_arns: [view] }, "AssumeRole"],
    [{ ...FEDERATED, policy_arns: [view] }, "GetFederationToken"],
  ] as const) {
    const more = { iam_groups: ["one", "two"], policy_document: document("own") };
    await server.makeRole(action, { ...role, ...more });
    await server.creds(`clouda/sts/${action}`);
    const params = sent(server, action);
    assert.deepEqual(arnsIn(params), [view, READ_ONLY, audit]);
    assert.equal(params["Policy"], document("a1", "a2", "b+/ %", "c", "own"));
  }
});

test("C33: a federated user without any policy would have ours, and is refused", async (t) => {
  const role: Role = { ...emptyRole("r"), credentialTypes: ["federation_token"] };
  const seeded = {
    ...cloudaType,
    type: "clouda-edited",
    open: async (needs: EngineNeeds) => {
      await needs.storage.write((tx) => tx.put("role/r", role, roleCodec));
      return cloudaType.open(needs);
    },
  };
  const server = await cloudaServer(t, { engineTypes: [anyEngine(seeded)] });
  await server.enable("edited", "clouda-edited");
  await server.configure({}, "edited");
  refused(await server.askCreds("edited/sts/r"), 400, /^federation_token needs policy_arns/);
  assert.deepEqual(server.fake.control.calls("GetFederationToken"), []);
});

test("C34: with temporary credentials there is no federated user, and the answer says why", async (t) => {
  const environment: Record<string, string> = {};
  const server = await cloudaServer(t, { configured: false, environment: () => environment });
  const { url, accessKeyId, secretAccessKey } = server.fake;
  const root = new RawClient(url, { accessKeyId, secretAccessKey });
  const session = await root.send("AssumeRole", {
    RoleArn: DEPLOY_ROLE,
    RoleSessionName: "machine",
  });
  const member = (name: string) =>
    new RegExp(`<${name}>([^<]*)<`).exec(session.text)?.[1]?.replaceAll("&#43;", "+") ?? "";
  environment["CLOUDA_ACCESS_KEY"] = member("AccessKeyId");
  environment["CLOUDA_SECRET_KEY"] = member("SecretAccessKey");
  environment["CLOUDA_SESSION_TOKEN"] = member("SessionToken");
  await server.must("POST", "clouda/config/root", { iam_endpoint: url, sts_endpoint: url });
  await server.makeRole("r", FEDERATED);
  refused(await server.askCreds(STS), 400, /^federation_token needs the keys of an IAM user/);
  assert.deepEqual(server.fake.control.calls("GetFederationToken"), []);
});

test("C35: more than the provider takes is refused before it is asked", async (t) => {
  const server = await cloudaServer(t);
  const eleven = Array.from({ length: 11 }, (_, i) => `${READ_ONLY}${i}`);
  await server.makeRole("r", { ...ASSUMED, policy_arns: eleven });
  refused(await server.askCreds(STS), 400, /11 policy ARNs for a session.* at most 10$/);
  await server.makeRole("r", { ...ASSUMED, policy_document: `{"a":"${"b".repeat(2092)}"}` });
  refused(await server.askCreds(STS), 400, /document of 2100 characters.* at most 2048 together$/);
  assert.deepEqual(server.fake.control.actions(), []);
});

test("C37: a query of GET and a body of POST are the same request", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", ASSUMED);
  const fields = { ttl: "20m", role_arn: DEPLOY_ROLE, role_session_name: "one" };
  await server.creds(`clouda/creds/r?${new URLSearchParams(fields).toString()}`);
  const request = sent(server);
  const posted = await server.timed(server.ask("POST", STS, fields));
  assert.equal(posted.status, 200, posted.text);
  assert.deepEqual(sent(server), request);
  assert.equal(request["DurationSeconds"], "1200");
});

test("session tags and an external id are sent when a role is assumed", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", { ...ASSUMED, session_tags: { team: "a&b" }, external_id: "x=1" });
  await server.creds(STS);
  const params = sent(server);
  assert.equal(params["ExternalId"], "x=1");
  assert.deepEqual([params["Tags.member.1.Key"], params["Tags.member.1.Value"]], ["team", "a&b"]);
});
