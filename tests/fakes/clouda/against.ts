// The flows of the engine clouda against an emulator that is not ours, through a whole server and the
// unmodified iam_endpoint and sts_endpoint: `node tests/fakes/clouda/against.ts http://127.0.0.1:5000`.
// Says of each flow whether it went through; ends with 1 if one did not.

import assert from "node:assert/strict";
import { type Answer, at } from "../../support/http-client.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { keysIn, RawClient, textOf, textsOf } from "./raw-client.ts";
import { POLICY, succeeded } from "./started.ts";

const READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const [url = ""] = process.argv.slice(2);
assert.match(url, /^https?:/, "give the address of the emulator");

const stamp = Date.now();
const keys = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "x".repeat(40) };
const outside = new RawClient(url, keys);
const root = { UserName: `root-${stamp}` };
const group = { GroupName: `group-${stamp}` };

class Flows {
  readonly #server: TestServer;
  readonly #token: string;
  failed = 0;

  constructor(server: TestServer, token: string) {
    this.#server = server;
    this.#token = token;
  }

  async must(method: string, path: string, body?: object): Promise<Answer> {
    const options = body === undefined ? {} : { body };
    const answer = await this.#server.call(method, `/v1/${path}`, {
      token: this.#token,
      ...options,
    });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  async run(name: string, flow: () => Promise<void>): Promise<void> {
    try {
      await flow();
      process.stdout.write(`ok      ${name}\n`);
    } catch (error) {
      this.failed++;
      process.stdout.write(`FAILED  ${name}: ${error instanceof Error ? error.message : ""}\n`);
    }
  }
}

async function send(action: string, fields: Record<string, string>) {
  return succeeded(await outside.send(action, fields));
}

await send("CreateUser", root);
await send("CreateGroup", group);
await send("PutGroupPolicy", { ...group, PolicyName: "p", PolicyDocument: POLICY });
const rootKeys = keysIn(await send("CreateAccessKey", root));
const trust = { Effect: "Allow", Principal: { AWS: "*" }, Action: "sts:AssumeRole" };
const roleArn = textOf(
  await send("CreateRole", {
    RoleName: `role-${stamp}`,
    AssumeRolePolicyDocument: JSON.stringify({ Version: "2012-10-17", Statement: [trust] }),
  }),
  "Arn",
);

const server = await startServer({ settings: { outbound_allow: ["127.0.0.1"] } });
try {
  const flows = new Flows(server, (await server.open()).token);
  await flows.must("POST", "clouda/config/root", {
    access_key: rootKeys.accessKeyId,
    secret_key: rootKeys.secretAccessKey,
    iam_endpoint: url,
    sts_endpoint: url,
  });

  await flows.run("a user with policies, document, group, tags, boundary and path", async () => {
    await flows.must("POST", "clouda/roles/user", {
      credential_type: "iam_user",
      policy_arns: [READ_ONLY],
      policy_document: POLICY,
      iam_groups: [group.GroupName],
      iam_tags: { team: "a b" },
      permissions_boundary_arn: READ_ONLY,
      user_path: "/team/",
    });
    const issued = await flows.must("GET", "clouda/creds/user");
    const user = { UserName: String(at(issued, "data", "username")) };
    assert.match(textOf(await send("GetUser", user), "Arn"), /user\/team\/service-/);
    assert.deepEqual(textsOf(await send("ListAccessKeys", user), "AccessKeyId"), [
      at(issued, "data", "access_key"),
    ]);
    assert.deepEqual(textsOf(await send("ListUserPolicies", user), "member"), ["user"]);
    assert.deepEqual(textsOf(await send("ListUserTags", user), "Key"), ["team"]);
    const lease = String(at(issued, "lease_id"));
    await flows.must("POST", "sys/leases/renew", { lease_id: lease });
    await flows.must("POST", "sys/leases/revoke", { lease_id: lease, sync: true });
    assert.equal((await outside.send("GetUser", user)).code, "NoSuchEntity");
  });

  await flows.run("an assumed role with session policies of a group", async () => {
    await flows.must("POST", "clouda/roles/session", {
      credential_type: "assumed_role",
      role_arns: [roleArn],
      iam_groups: [group.GroupName],
    });
    const issued = await flows.must("POST", "clouda/sts/session", { ttl: "15m" });
    assert.match(String(at(issued, "data", "arn")), /assumed-role\/role-/);
    const seconds = Number(at(issued, "lease_duration"));
    assert.ok(seconds > 880 && seconds <= 900, `lease_duration ${seconds}`);
  });

  await flows.run("a federation token", async () => {
    const role = { credential_type: "federation_token", policy_document: POLICY };
    await flows.must("POST", "clouda/roles/federated", role);
    const issued = await flows.must("POST", "clouda/sts/federated", { ttl: "1h" });
    assert.match(String(at(issued, "data", "arn")), /federated-user\/service-/);
  });

  await flows.run("a static role, its rotation and its end", async () => {
    const user = { UserName: `static-${stamp}` };
    await send("CreateUser", user);
    const listed = async () => textsOf(await send("ListAccessKeys", user), "AccessKeyId");
    const role = { username: user.UserName, rotation_period: "1h" };
    await flows.must("POST", "clouda/static-roles/s", role);
    const creds = await flows.must("GET", "clouda/static-creds/s");
    assert.deepEqual(await listed(), [at(creds, "data", "access_key")]);
    await flows.must("POST", "clouda/static-roles/s/rotate", {});
    assert.equal((await listed()).length, 2);
    await flows.must("POST", "clouda/static-roles/s/rotate", {});
    assert.equal((await listed()).length, 2);
    const id = textOf(await send("GetUser", user), "UserId");
    await flows.must("DELETE", "clouda/static-roles/s");
    assert.deepEqual(await listed(), []);
    assert.equal(textOf(await send("GetUser", user), "UserId"), id);
  });

  await flows.run("what the root key may do", async () => {
    await flows.must("POST", "clouda/config/check", {});
  });

  await flows.run("rotate-root", async () => {
    const rotated = await flows.must("POST", "clouda/config/rotate-root", {});
    assert.equal(at(rotated, "warnings"), null);
    assert.deepEqual(textsOf(await send("ListAccessKeys", root), "AccessKeyId"), [
      at(rotated, "data", "access_key"),
    ]);
    await flows.must("GET", "clouda/creds/user");
  });

  await flows.run("unmounting, with what is left", async () => {
    await flows.must("DELETE", "sys/mounts/clouda");
    const names = textsOf(await send("ListUsers", {}), "UserName");
    assert.ok(!names.some((name) => name.startsWith("service-")), names.join(" "));
  });
  process.exitCode = flows.failed === 0 ? 0 : 1;
} finally {
  await server.stop();
}
