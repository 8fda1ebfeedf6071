// The engine on its own before a fake provider: where its credentials come from, what its configuration
// takes, and what the three kinds of credentials are like. Through a server: tests/spec/clouda/.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import { type CloudAStage, cloudaStage, rootOf } from "../../tests/support/servers/clouda-stage.ts";

const READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const DEPLOY = "arn:aws:iam::123456789012:role/deploy";
const never = new AbortController().signal;

function fields({ data }: Reply): JsonObject {
  assert.ok(data !== undefined && !Array.isArray(data) && !("contentType" in data));
  return data as JsonObject;
}

async function withRoles(t: Parameters<typeof cloudaStage>[0], root: JsonObject = {}) {
  const stage = await cloudaStage(t, { root });
  await stage.write("roles/user", { credential_type: "iam_user", policy_arns: [READ_ONLY] });
  await stage.write("roles/role", { credential_type: "assumed_role", role_arns: [DEPLOY] });
  await stage.write("roles/fed", { credential_type: "federation_token", policy_arns: [READ_ONLY] });
  stage.fake.control.forgetCalls();
  return stage;
}

const lastKey = ({ fake }: CloudAStage) => fake.control.calls().at(-1)?.accessKeyId;

test("T-I09: the secret key is in no answer, and rotate-root tells an id only", async (t) => {
  const stage = await cloudaStage(t);
  const secret = stage.fake.secretAccessKey;
  const config = fields(await stage.read("config/root"));
  assert.ok(!JSON.stringify(config).includes(secret));
  assert.ok(!("secret_key" in config));
  assert.equal(config["credential_source"], "config");
  assert.equal(config["root_key_created"], null);
  assert.deepEqual(Object.keys(fields(await stage.write("config/rotate-root"))), ["access_key"]);
  assert.notEqual(fields(await stage.read("config/root"))["root_key_created"], null);
});

test("T-I01: endpoints, regions and keys that would steer a request are refused by name", async (t) => {
  const stage = await cloudaStage(t);
  const refused: readonly (readonly [JsonObject, RegExp])[] = [
    [{ region: "evil.com/x" }, /^region /],
    [{ sts_region: "us-east-1.evil.com#" }, /^sts_region /],
    [{ iam_endpoint: "https://user:pw@evil.com" }, /^iam_endpoint/],
    [{ sts_endpoint: "https://x/?a=b" }, /^sts_endpoint/],
    [{ iam_endpoint: "ftp://x" }, /^iam_endpoint/],
    [{ iam_endpoint: "not a url" }, /^iam_endpoint/],
    [{ access_key: "AKIA\r\nX: y" }, /^access_key /],
    [{ access_key: "" }, /^access_key and secret_key go together/],
    [{ max_retries: -2 }, /^max_retries /],
    [{ sts_fallback_endpoints: ["https://a"] }, /must have equally many/],
    [{ identity_token_audience: "a" }, /exclude each other/],
    [{ username_template: "{{ if }}" }, /line 1, column/],
    [{ sts_leases: "maybe" }, /^sts_leases /],
  ];
  const before = fields(await stage.read("config/root"));
  for (const [body, text] of refused) {
    await assert.rejects(stage.write("config/root", body), (error: Error) => {
      assert.match(error.message, text);
      return true;
    });
  }
  assert.deepEqual(fields(await stage.read("config/root")), before);
});

test("what is left out of a write stays, but for the template", async (t) => {
  const stage = await cloudaStage(t);
  const template = '{{ if (eq .Type "STS") }}a{{ else }}b{{ end }}';
  await stage.write("config/root", { username_template: template, region: "eu-west-1" });
  assert.equal(fields(await stage.read("config/root"))["username_template"], template);
  await stage.write("config/root", { max_retries: 1 });
  const config = fields(await stage.read("config/root"));
  assert.equal(config["region"], "eu-west-1");
  assert.equal(config["access_key"], stage.fake.accessKeyId);
  assert.match(JSON.stringify(config["username_template"]), /service-/);
  await stage.write("config/root", { region: "" });
  assert.equal(fields(await stage.read("config/root"))["region"], "");
});

test("leases are told as the mount has them until they are written, and days are refused", async (t) => {
  const stage = await cloudaStage(t);
  const month = { lease: "768h0m0s", lease_max: "768h0m0s" };
  assert.deepEqual(fields(await stage.read("config/lease")), month);
  const refused: readonly (readonly [JsonObject, RegExp])[] = [
    [{ lease: "1h" }, /^lease_max is required/],
    [{ lease_max: "1h" }, /^lease is required/],
    [{ lease: "1d", lease_max: "48h" }, /^lease must be/],
    [{ lease: "2h", lease_max: "1h" }, /^lease exceeds lease_max/],
    [{ lease: true, lease_max: "1h" }, /^lease must be/],
  ];
  for (const [body, text] of refused) {
    await assert.rejects(stage.write("config/lease", body), (error: Error) => {
      assert.match(error.message, text);
      return true;
    });
  }
  await stage.write("config/lease", { lease: "30m", lease_max: 43_200 });
  const written = { lease: "30m0s", lease_max: "12h0m0s" };
  assert.deepEqual(fields(await stage.read("config/lease")), written);
});

test("keys come from the configuration, then from the environment", async (t) => {
  const variables = new Map<string, string>();
  const around = { environment: (name: string) => variables.get(name) ?? null };
  const stage = await cloudaStage(t, { around, root: null });
  const { url, accessKeyId, secretAccessKey } = stage.fake;
  await stage.write("config/root", { iam_endpoint: url, sts_endpoint: url });
  const own = stage.fake.control.makeUser("own", { keys: 1 });
  variables.set("AWS_ACCESS_KEY_ID", own.accessKeyId);
  variables.set("AWS_SECRET_ACCESS_KEY", own.secretAccessKey);
  const call = async () => {
    await (await stage.engine.clients.provider(never)).callerIdentity();
    return lastKey(stage);
  };
  assert.equal(await call(), own.accessKeyId);
  variables.set("CLOUDA_ACCESS_KEY", accessKeyId).set("CLOUDA_SECRET_KEY", secretAccessKey);
  assert.equal(await call(), accessKeyId);
  assert.equal(fields(await stage.read("config/root"))["credential_source"], "environment");
  const stored = stage.fake.control.makeUser("stored", { keys: 1 });
  const { accessKeyId: access_key, secretAccessKey: secret_key } = stored;
  await stage.write("config/root", { access_key, secret_key });
  assert.equal(await call(), access_key);
});

test("T-I02: two mounts with the same names never call with each other's keys", async (t) => {
  const [one, other] = [await cloudaStage(t), await cloudaStage(t)];
  const calls = async (stage: CloudAStage) => {
    await (await stage.engine.clients.provider(never)).callerIdentity();
    return lastKey(stage);
  };
  for (let round = 0; round < 3; round++) {
    const keys = await Promise.all([calls(one), calls(other), calls(one)]);
    const expected = [one, other, one].map(({ fake }) => fake.accessKeyId);
    assert.deepEqual(keys, expected);
  }
  await one.write("config/root", rootOf(other.fake));
  await calls(one);
  assert.equal(lastKey(other), other.fake.accessKeyId);
});

test("T-I06: a provider that echoes our keys is not quoted", async (t) => {
  const stage = await withRoles(t);
  const { control, secretAccessKey } = stage.fake;
  const refusal = { code: "ValidationError", message: "", status: 400, echo: true };
  for (const action of ["CreateUser", "AssumeRole", "GetFederationToken"]) {
    control.fault({ kind: "error", action, ...refusal });
  }
  for (const role of ["user", "role", "fed"]) {
    await assert.rejects(stage.read(`creds/${role}`), (error: Error) => {
      assert.match(error.message, /ValidationError/);
      assert.ok(!error.message.includes(secretAccessKey));
      return true;
    });
  }
  assert.ok(!stage.lines.join("\n").includes(secretAccessKey));
});

test("sessions end with the provider's time, and their lease is no longer", async (t) => {
  const stage = await withRoles(t);
  for (const role of ["role", "fed"]) {
    const answer = await stage.read(`creds/${role}`, { ttl: "20m" });
    const { ttl, session_token, security_token } = fields(answer);
    assert.ok(typeof ttl === "number" && ttl > 1100 && ttl <= 1200);
    assert.equal(session_token, security_token);
    assert.deepEqual(answer.lease?.ttl, BigInt(ttl) * 1_000_000_000n);
    assert.equal(answer.lease?.renewable, false);
  }
});

test("a time over what the role allows is cut, and the answer says so", async (t) => {
  const stage = await withRoles(t);
  await stage.write("roles/role", { default_sts_ttl: 900, max_sts_ttl: 1000 });
  const seconds = async (query: Readonly<Record<string, string>>) => {
    const { warnings } = await stage.read("sts/role", query);
    const [call] = stage.fake.control.calls("AssumeRole").slice(-1);
    return [call?.params["DurationSeconds"], warnings.length];
  };
  assert.deepEqual(await seconds({}), ["900", 0]);
  assert.deepEqual(await seconds({ ttl: "1200" }), ["1000", 1]);
  assert.deepEqual((await stage.read("creds/user", { ttl: "1h" })).warnings.length, 1);
});

test("virtual leases tell their length and are not kept", async (t) => {
  const stage = await withRoles(t, { sts_leases: "virtual" });
  const { lease, leased } = await stage.read("creds/role");
  assert.equal(lease, null);
  assert.equal(leased?.id, "");
  assert.ok((leased?.seconds ?? 0) > 3500);
});

test("a new key is verified where that is asked, and not where it never works", async (t) => {
  const stage = await withRoles(t);
  assert.equal("verified" in fields(await stage.read("creds/user")), false);
  stage.fake.control.visibility({ authentication: 3 });
  assert.equal(fields(await stage.read("creds/user", { verify: "true" }))["verified"], true);
  stage.fake.control.visibility({ authentication: 3600 });
  assert.equal(fields(await stage.read("creds/user", { verify: "true" }))["verified"], false);
});

test("temporary credentials of our own give no federation token, and are told so before any call", async (t) => {
  const variables = new Map<string, string>();
  const around = { environment: (name: string) => variables.get(name) ?? null };
  const stage = await cloudaStage(t, { around, root: null });
  const { url, accessKeyId, secretAccessKey } = stage.fake;
  variables.set("CLOUDA_ACCESS_KEY", accessKeyId).set("CLOUDA_SECRET_KEY", secretAccessKey);
  variables.set("CLOUDA_SESSION_TOKEN", "session");
  await stage.write("config/root", { iam_endpoint: url, sts_endpoint: url });
  await stage.write("roles/fed", { credential_type: "federation_token", policy_arns: [READ_ONLY] });
  await assert.rejects(stage.read("sts/fed"), /no federation token to temporary credentials/);
  assert.deepEqual(stage.fake.control.actions(), []);
});

test("another endpoint of STS is tried only where the one before cannot be reached", async (t) => {
  const stage = await withRoles(t);
  const { url } = stage.fake;
  const { accessKeyId: access_key, secretAccessKey: secret_key } = stage.fake;
  await stage.write("config/root", {
    access_key,
    secret_key, // again, for another endpoint
    sts_endpoint: "http://127.0.0.1:1",
    sts_fallback_endpoints: [url],
    sts_fallback_regions: ["eu-west-1"],
    max_retries: 0,
  });
  await stage.read("sts/role");
  const [call] = stage.fake.control.calls("AssumeRole");
  assert.equal(call?.region, "eu-west-1");
  const refusal = { code: "AccessDenied", message: "", status: 403 };
  await stage.write("config/root", {
    sts_endpoint: url,
    sts_fallback_endpoints: [url],
    sts_fallback_regions: ["eu-west-1"],
  });
  stage.fake.control.forgetCalls();
  stage.fake.control.fault({ kind: "error", action: "AssumeRole", ...refusal });
  await assert.rejects(stage.read("sts/role"), /AccessDenied/);
  assert.equal(stage.fake.control.calls("AssumeRole").length, 1);
});

test("what our keys may do is found out without changing anything", async (t) => {
  const stage = await cloudaStage(t);
  stage.fake.control.permissions("holdfast", { deny: ["iam:ListGroupsForUser"] });
  const before = stage.fake.control.state();
  const { actions } = fields(await stage.write("config/check"));
  const found = actions as Readonly<Record<string, string>>;
  assert.equal(found["iam:GetUser"], "allowed");
  assert.equal(found["iam:ListGroupsForUser"], "denied");
  assert.equal(found["iam:CreateUser"], "unknown");
  assert.deepEqual(stage.fake.control.state(), before);
});

test("a name that no route has is no role", async (t) => {
  const stage = await cloudaStage(t);
  for (const name of ["-x", "x.", "a b", "ä"]) {
    await assert.rejects(stage.read(`creds/${name}`), {
      kind: "not-found",
      message: "unsupported path",
    });
  }
  await assert.rejects(stage.read("creds/none"), {
    kind: "invalid",
    message: 'role "none" not found',
  });
});

test("a write of the configuration has leases tried again that could not be revoked", async (t) => {
  let retried = 0;
  const leases = {
    count: async () => 0,
    revoke: async () => {},
    retryStuck: async () => void retried++,
    elsewhere: async () => ({ count: 0, silent: 0 }),
  };
  const stage = await cloudaStage(t, { around: { leases } });
  assert.equal(retried, 1);
  await stage.write("config/root", { region: "eu-west-1" });
  assert.equal(retried, 2);
});

test("a mount without keys proves who it is, and keeps what it gets for it until shortly before its end", async (t) => {
  const requests: string[] = [];
  const token = (claims: object) =>
    `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.signature-of-the-token`;
  const issuer = "holdfast.example/v1/identity/oidc/plugins";
  const stage = await cloudaStage(t, {
    root: null,
    around: {
      identity: {
        token: async (audience, ttl) => {
          requests.push(`${audience} ${ttl / 1_000_000_000n}`);
          return token({ iss: `https://${issuer}`, sub: "mount", exp: 4_000_000_000 });
        },
      },
    },
  });
  const trust = {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { Federated: `arn:aws:iam::123456789012:oidc-provider/${issuer}` },
        Action: "sts:AssumeRoleWithWebIdentity",
      },
    ],
  };
  const { url, control } = stage.fake;
  const role_arn = control.makeRole("server", { trust, allow: ["*"] });
  await assert.rejects(
    stage.write("config/root", { identity_token_audience: "sts" }),
    /identity_token_audience needs role_arn/,
  );
  await stage.write("config/root", {
    iam_endpoint: url,
    sts_endpoint: url,
    role_arn,
    identity_token_audience: "sts",
    identity_token_ttl: 600,
  });
  assert.deepEqual(requests.splice(0), ["sts 600"]); // to see that it can be made
  const config = fields(await stage.read("config/root"));
  assert.equal(config["credential_source"], "identity_token");
  await stage.write("roles/user", { credential_type: "iam_user", policy_arns: [READ_ONLY] });
  await Promise.all([stage.read("creds/user"), stage.read("creds/user")]);
  const [exchange, ...more] = control.calls("AssumeRoleWithWebIdentity");
  assert.deepEqual(more, []);
  const session = `service-clouda_00000001-${stage.clock.now() / 1_000_000_000n}`;
  assert.equal(exchange?.params["RoleSessionName"], session);
  assert.deepEqual(requests, ["sts 600"]);
  stage.clock.pass(56n * 60n * 1_000_000_000n);
  await stage.read("creds/user");
  assert.equal(control.calls("AssumeRoleWithWebIdentity").length, 2);
  await assert.rejects(stage.write("config/rotate-root"), /needs access_key and secret_key/);
  const refusal = { code: "InvalidIdentityToken", message: "", status: 400, echo: true };
  control.fault({ kind: "error", action: "AssumeRoleWithWebIdentity", ...refusal });
  stage.clock.pass(56n * 60n * 1_000_000_000n);
  await assert.rejects(stage.read("creds/user"), (error: Error) => {
    assert.match(error.message, /sts:AssumeRoleWithWebIdentity: InvalidIdentityToken/);
    assert.ok(!error.message.includes("signature-of-the-token"));
    return true;
  });
  await stage.read("creds/user");
  await stage.write("config/root", {
    sts_endpoint: "http://127.0.0.1:1",
    sts_fallback_endpoints: [url],
    sts_fallback_regions: ["eu-west-1"],
  });
  await stage.read("creds/user");
  await assert.rejects(
    stage.write("config/root", { identity_token_ttl: "25h" }),
    /identity_token_ttl must be at most 24 hours/,
  );
});

test("an audience for which no token can be made is refused when it is written", async (t) => {
  const stage = await cloudaStage(t, { root: null });
  await assert.rejects(
    stage.write("config/root", { role_arn: DEPLOY, identity_token_audience: "sts" }),
    { kind: "invalid", message: /^identity_token_audience: no identity token can be made/ },
  );
  assert.equal(await stage.engine.rootConfig.read(), null);
});

test("T-I12: ending one credential leaves those that share its group and policies as they were", async (t) => {
  const stage = await cloudaStage(t);
  const role = {
    credential_type: "iam_user",
    policy_arns: [READ_ONLY],
    iam_groups: ["developers"],
  };
  await stage.write("roles/a", role);
  await stage.write("roles/b", role);
  const [one, other] = [await stage.read("creds/a"), await stage.read("creds/b")];
  const state = () => stage.fake.control.state();
  const shared = { groups: state().groups, policies: state().policies };
  const kept = state().users.find(({ name }) => name === fields(other)["username"]);
  assert.ok(one.lease !== null && kept !== undefined);
  const lease = { leaseId: "l", internal: one.lease.internal, issued: 0n, expires: 0n };
  await stage.tested.type.secrets?.["iam_user"]?.revoke(stage.engine, lease, never);
  assert.deepEqual({ groups: state().groups, policies: state().policies }, shared);
  assert.deepEqual(
    state().users.filter(({ name }) => name !== "holdfast"),
    [kept],
  );
});
