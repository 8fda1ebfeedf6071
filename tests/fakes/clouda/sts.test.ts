import assert from "node:assert/strict";
import { test } from "node:test";
import { keysIn, textOf } from "./raw-client.ts";
import { POLICY, refused, started, succeeded } from "./started.ts";

const DEPLOY = "arn:aws:iam::123456789012:role/deploy";
const SESSION = { RoleArn: DEPLOY, RoleSessionName: "anna" };

test("an assumed role is a session that works and expires", async (t) => {
  let now = Date.now();
  const { must, root } = await started(t, { now: () => now });
  const answer = await must("AssumeRole", { ...SESSION, DurationSeconds: "900" });
  assert.equal(textOf(answer, "Arn"), "arn:aws:sts::123456789012:assumed-role/deploy/anna");
  const session = root.as(keysIn(answer));
  const who = succeeded(await session.send("GetCallerIdentity"));
  assert.equal(textOf(who, "Arn"), "arn:aws:sts::123456789012:assumed-role/deploy/anna");
  refused(await session.send("GetUser", { UserName: "holdfast" }), 403, "AccessDenied");
  const { sessionToken: _, ...bare } = keysIn(answer);
  refused(await root.as(bare).send("GetCallerIdentity"), 403, "InvalidClientTokenId");
  now += 899_000;
  succeeded(await session.send("GetCallerIdentity"));
  now += 2000;
  refused(await session.send("GetCallerIdentity"), 403, "ExpiredToken");
});

test("a role is assumed only where it exists and trusts the caller", async (t) => {
  const { root, fake, must } = await started(t);
  const other = "arn:aws:iam::123456789012:role/none";
  refused(await root.send("AssumeRole", { ...SESSION, RoleArn: other }), 403, "AccessDenied");
  const statement = {
    Effect: "Allow",
    Principal: { AWS: "arn:aws:iam::123456789012:user/holdfast" },
    Action: "sts:AssumeRole",
    Condition: { StringEquals: { "sts:ExternalId": "x1" } },
  };
  const RoleArn = fake.control.makeRole("picky", { trust: { Statement: [statement] } });
  const picky = { ...SESSION, RoleArn };
  refused(await root.send("AssumeRole", picky), 403, "AccessDenied");
  refused(await root.send("AssumeRole", { ...picky, ExternalId: "x2" }), 403, "AccessDenied");
  await must("AssumeRole", { ...picky, ExternalId: "x1" });
  const tags = { "Tags.member.1.Key": "team", "Tags.member.1.Value": "a" };
  const tagged = await root.send("AssumeRole", { ...picky, ExternalId: "x1", ...tags });
  refused(tagged, 403, "AccessDenied");
  assert.match(tagged.text, /sts:TagSession/);
  await must("AssumeRole", { ...SESSION, ...tags });
  assert.deepEqual(fake.control.state().sessions.at(-1)?.tags, { team: "a" });
});

test("the length of a session has limits: the service's, the role's, and an hour in a chain", async (t) => {
  const { root, fake, must } = await started(t);
  const ask = (RoleArn: string, seconds: number, client = root) =>
    client.send("AssumeRole", { ...SESSION, RoleArn, DurationSeconds: String(seconds) });
  refused(await ask(DEPLOY, 899), 400, "ValidationError");
  refused(await ask(DEPLOY, 43_201), 400, "ValidationError");
  refused(await ask(DEPLOY, 3601), 400, "ValidationError");
  const long = fake.control.makeRole("long", { maxSession: 43_200, allow: ["sts:*"] });
  succeeded(await ask(long, 43_200));
  const chained = root.as(keysIn(await must("AssumeRole", { ...SESSION, RoleArn: long })));
  refused(await ask(long, 3601, chained), 400, "ValidationError");
  succeeded(await ask(long, 3600, chained));
});

test("session names and session policies are checked", async (t) => {
  const { root, must } = await started(t);
  for (const RoleSessionName of ["a", "a".repeat(65), "a b"]) {
    refused(await root.send("AssumeRole", { ...SESSION, RoleSessionName }), 400, "ValidationError");
  }
  const arns = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `PolicyArns.member.${i + 1}.arn`,
        `arn:aws:iam::123456789012:policy/p${i}`,
      ]),
    );
  await must("AssumeRole", { ...SESSION, ...arns(10) });
  refused(await root.send("AssumeRole", { ...SESSION, ...arns(11) }), 400, "ValidationError");
  const Policy = POLICY.replace("*", "x".repeat(2048));
  refused(await root.send("AssumeRole", { ...SESSION, Policy }), 400, "ValidationError");
  refused(
    await root.send("AssumeRole", { ...SESSION, Policy: "{" }),
    400,
    "MalformedPolicyDocument",
  );
  const packed = { Policy: POLICY.replace("*", "x".repeat(1945)), ...arns(10) };
  refused(await root.send("AssumeRole", { ...SESSION, ...packed }), 400, "PackedPolicyTooLarge");
});

test("a federated user may do what its policies and the caller's leave, and temporary keys make none", async (t) => {
  const { root, must } = await started(t);
  const Policy = POLICY.replace("s3:GetObject", "iam:GetUser");
  const answer = await must("GetFederationToken", { Name: "anna", Policy });
  assert.equal(textOf(answer, "Arn"), "arn:aws:sts::123456789012:federated-user/anna");
  const federated = root.as(keysIn(answer));
  succeeded(await federated.send("GetUser", { UserName: "holdfast" }));
  refused(await federated.send("ListUsers"), 403, "AccessDenied");
  refused(await root.send("GetFederationToken", { Name: "a".repeat(33) }), 400, "ValidationError");
  refused(
    await root.send("GetFederationToken", { Name: "anna", DurationSeconds: "129601" }),
    400,
    "ValidationError",
  );
  const own = root.as(keysIn(await must("GetSessionToken")));
  succeeded(await own.send("GetUser"));
  refused(await own.send("GetFederationToken", { Name: "anna", Policy }), 403, "AccessDenied");
});

test("a web identity is exchanged without a signature where the role trusts its issuer", async (t) => {
  const { root, fake, keys } = await started(t);
  const statement = {
    Effect: "Allow",
    Principal: { Federated: "arn:aws:iam::123456789012:oidc-provider/issuer.example/v1" },
    Action: "sts:AssumeRoleWithWebIdentity",
  };
  const RoleArn = fake.control.makeRole("web", { trust: { Statement: [statement] } });
  const token = (iss: string, exp: number) =>
    ["", JSON.stringify({ iss, exp, sub: "me" }), ""]
      .map((part) => Buffer.from(part).toString("base64url"))
      .join(".");
  const later = Date.now() / 1000 + 60;
  const ask = (WebIdentityToken: string) =>
    root
      .as({ ...keys, secretAccessKey: "unused" })
      .send("AssumeRoleWithWebIdentity", { RoleArn, RoleSessionName: "me", WebIdentityToken });
  const made = succeeded(await ask(token("https://issuer.example/v1", later)));
  succeeded(await root.as(keysIn(made)).send("GetCallerIdentity"));
  refused(await ask(token("https://other.example", later)), 403, "AccessDenied");
  refused(await ask(token("https://issuer.example/v1", 1)), 400, "ExpiredTokenException");
  refused(await ask("x"), 400, "InvalidIdentityToken");
  assert.equal(fake.control.calls()[0]?.params["WebIdentityToken"], "(hidden)");
});
