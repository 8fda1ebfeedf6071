// The configuration of clouda through HTTP: cases A1 to A7 and A9 to A12 of docs/cases/cloud-engines.md.
// A8 is in clouda-chain.process.test.ts, as it needs variables of the process.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  type CloudAServer,
  cloudaServer,
  DEPLOY_ROLE,
} from "../../support/servers/cloud-server.ts";
import { absent, dataOf, done, refused } from "../../support/servers/engine-server.ts";

async function signingRegion(server: CloudAServer, mount = "clouda"): Promise<string> {
  const role = { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE], policy_arns: [] };
  await server.makeRole("session", role, mount);
  await server.makeRole("user", {}, mount);
  server.fake.control.forgetCalls();
  await server.creds(`${mount}/creds/user`);
  await server.creds(`${mount}/sts/session`);
  const regions = new Set(server.fake.control.calls().map(({ region }) => region));
  assert.equal(regions.size, 1);
  return [...regions].join();
}

test("A1: what is configured is read, but for the secret", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  done(await server.ask("POST", "clouda/config/root", server.config()));
  const answer = await server.ask("GET", "clouda/config/root");
  const { accessKeyId, secretAccessKey, url } = server.fake;
  assert.ok(!answer.text.includes(secretAccessKey));
  assert.ok(!answer.text.includes("secret_key"));
  const { username_template: template, ...data } = dataOf(answer);
  assert.partialDeepStrictEqual(data, {
    access_key: accessKeyId,
    region: "",
    iam_endpoint: url,
    sts_endpoint: url,
    max_retries: -1,
    sts_region: "",
    sts_fallback_endpoints: [],
    sts_fallback_regions: [],
    role_arn: "",
    identity_token_audience: "",
    identity_token_ttl: 0,
    sts_leases: "record",
    root_key_created: null,
    credential_source: "config",
  });
  assert.match(String(template), /^\{\{.*service-.*unix_time.*random 20.*truncate 64.*\}\}$/s);
});

test("A2: one key of the pair is refused", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const { accessKeyId, secretAccessKey } = server.fake;
  for (const body of [{ access_key: accessKeyId }, { secret_key: secretAccessKey }]) {
    const refusal = "access_key and secret_key go together";
    const answer = await server.ask("POST", "clouda/config/root", body);
    assert.equal(answer.status, 400, answer.text);
    assert.ok(answer.text.includes(refusal), answer.text);
  }
  absent(await server.ask("GET", "clouda/config/root"));
});

test("A3: a write changes what it names and keeps the rest", async (t) => {
  const server = await cloudaServer(t);
  done(await server.ask("POST", "clouda/config/root", { region: "eu-west-1" }));
  const data = dataOf(await server.ask("GET", "clouda/config/root"));
  assert.equal(data["access_key"], server.fake.accessKeyId);
  assert.equal(data["region"], "eu-west-1");
  assert.equal(await signingRegion(server), "eu-west-1", "and the secret is still there");
});

test("A4: a write without a template goes back to the built-in one", async (t) => {
  const server = await cloudaServer(t);
  const template = async () =>
    dataOf(await server.ask("GET", "clouda/config/root"))["username_template"];
  const builtIn = await template();
  const own = "own-{{ random 8 }}";
  done(await server.ask("POST", "clouda/config/root", { username_template: own }));
  assert.equal(await template(), own);
  await server.makeRole("r");
  const { username } = await server.creds("clouda/creds/r");
  assert.match(username, /^own-[0-9A-Za-z]{8}$/);
  done(await server.ask("POST", "clouda/config/root", { region: "eu-west-1" }));
  assert.equal(await template(), builtIn);
});

test("A5: a broken template is refused with its place, and nothing is changed", async (t) => {
  const server = await cloudaServer(t);
  const before = dataOf(await server.ask("GET", "clouda/config/root"));
  const body = { username_template: "a\n{{ if }}", region: "eu-west-1" };
  refused(
    await server.ask("POST", "clouda/config/root", body),
    400,
    /username_template.*line 2.*column/,
  );
  assert.deepEqual(dataOf(await server.ask("GET", "clouda/config/root")), before);
});

test("A6: the region is the stored one, then that of the environment, then us-east-1", async (t) => {
  const environments = [
    [{ CLOUDA_REGION: "eu-west-3", CLOUDA_DEFAULT_REGION: "eu-north-1" }, "eu-west-3"],
    [{ CLOUDA_DEFAULT_REGION: "eu-north-1" }, "eu-north-1"],
    [{}, "us-east-1"],
  ] as const;
  for (const [variables, region] of environments) {
    const server = await cloudaServer(t, { environment: () => variables });
    assert.equal(await signingRegion(server), region);
    const data = dataOf(await server.ask("GET", "clouda/config/root"));
    assert.equal(data["region"], "", "what is stored, not what is in use");
    await server.configure({ region: "ap-south-1" });
    assert.equal(await signingRegion(server), "ap-south-1");
  }
});

test("A7: keys of the environment are used where none are stored, and only there", async (t) => {
  const environment = (fake: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  }) => ({ CLOUDA_ACCESS_KEY: fake.accessKeyId, CLOUDA_SECRET_KEY: fake.secretAccessKey });
  const server = await cloudaServer(t, { configured: false, environment });
  const { control, url, accessKeyId } = server.fake;
  const endpoints = { iam_endpoint: url, sts_endpoint: url };
  done(await server.ask("POST", "clouda/config/root", endpoints));
  const source = async () =>
    dataOf(await server.ask("GET", "clouda/config/root"))["credential_source"];
  assert.equal(await source(), "environment");
  await server.makeRole("r");
  await server.creds("clouda/creds/r");
  assert.ok(control.calls().every((call) => call.accessKeyId === accessKeyId));
  const other = control.makeUser("other", { allow: ["*"], keys: 1 });
  const keys = { access_key: other.accessKeyId, secret_key: other.secretAccessKey };
  done(await server.ask("POST", "clouda/config/root", keys));
  assert.equal(await source(), "config");
  control.forgetCalls();
  await server.creds("clouda/creds/r");
  assert.ok(control.calls().length > 0);
  assert.ok(control.calls().every((call) => call.accessKeyId === other.accessKeyId));
});

test("A9: without retries a throttled call is made once", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({ max_retries: 0 });
  await server.makeRole("r");
  server.fake.control.fault({ kind: "throttle", action: "CreateUser", times: null });
  const answer = await server.askCreds("clouda/creds/r");
  assert.equal(answer.status, 502, answer.text);
  assert.ok(answer.headers["retry-after"] !== undefined);
  assert.equal(server.fake.control.calls("CreateUser").length, 1);
  await server.configure({ max_retries: 1 });
  server.fake.control.forgetCalls();
  assert.equal((await server.askCreds("clouda/creds/r")).status, 502);
  assert.equal(server.fake.control.calls("CreateUser").length, 2);
});

test("A10: what was never written: no root configuration, and the mount's lengths of leases", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  absent(await server.ask("GET", "clouda/config/root"));
  assert.deepEqual(dataOf(await server.ask("GET", "clouda/config/lease")), {
    lease: "768h0m0s",
    lease_max: "768h0m0s",
  });
});

test("A11: lengths of leases are checked, and read in their long form", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const write = (body: object) => server.ask("POST", "clouda/config/lease", body);
  refused(await write({ lease: "30m" }), 400, "lease_max is required");
  refused(await write({ lease_max: "30m" }), 400, "lease is required");
  refused(await write({ lease: "1d", lease_max: "2d" }), 400, /^lease/);
  refused(await write({ lease: "2h", lease_max: "1h" }), 400, /lease exceeds lease_max/);
  refused(
    await write({ lease: "500ms", lease_max: "1h" }),
    400,
    /^lease must be .* in whole seconds/,
  );
  refused(await write({ lease: "0", lease_max: "999ms" }), 400, /^lease_max must be .* in whole/);
  done(await write({ lease: "30m", lease_max: "12h" }));
  const read = async () => dataOf(await server.ask("GET", "clouda/config/lease"));
  assert.deepEqual(await read(), { lease: "30m0s", lease_max: "12h0m0s" });
  done(await write({ lease: "90", lease_max: "0" }));
  assert.deepEqual(await read(), { lease: "1m30s", lease_max: "768h0m0s" });
  done(await write({ lease: "0", lease_max: "0" }));
  assert.deepEqual(await read(), { lease: "768h0m0s", lease_max: "768h0m0s" });
});

test("A12: credentials are stored without being tried", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const wrong = { access_key: "AKIAAAAAAAAAAAAAAAAA", secret_key: "wrong" };
  done(await server.ask("POST", "clouda/config/root", server.config(wrong)));
  assert.deepEqual(server.fake.control.calls(), []);
  await server.makeRole("r");
  assert.deepEqual(server.fake.control.calls(), []);
  refused(await server.askCreds("clouda/creds/r"), 400, /InvalidClientTokenId/);
});

test("A9: a call may be tried again as often as one likes", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({ max_retries: 1000 });
  assert.equal(dataOf(await server.ask("GET", "clouda/config/root"))["max_retries"], 1000);
});

test("half of a stored pair can be changed, and whoever does is told what it goes with", async (t) => {
  const server = await cloudaServer(t);
  const wrote = async (body: object) =>
    at(await server.must("POST", "clouda/config/root", body), "warnings") ?? null;
  const key = "AKIABBBBBBBBBBBBBBBB";
  assert.deepEqual(await wrote({ access_key: key }), [
    "access_key was changed alone: the stored secret_key is kept, and must belong to it",
  ]);
  assert.equal(await wrote({ access_key: key, region: "eu-central-1" }), null, "as it was");
  assert.deepEqual(await wrote({ secret_key: "another" }), [
    "secret_key was changed alone: the stored access_key is kept, and must belong to it",
  ]);
  assert.equal(await wrote({ access_key: "AKIACCCCCCCCCCCCCCCC", secret_key: "third" }), null);
  assert.equal(await wrote({ access_key: "", secret_key: "" }), null);
});

test("A7: one half of a pair in the environment is passed over, and told of", async (t) => {
  const environment = () => ({ CLOUDA_ACCESS_KEY: "AKIAAAAAAAAAAAAAAAAA" });
  const server = await cloudaServer(t, { configured: false, environment });
  const warning =
    "CLOUDA_ACCESS_KEY is set in the environment of the server and CLOUDA_SECRET_KEY is not: it is not used";
  const written = await server.ask("POST", "clouda/config/root", { region: "eu-central-1" });
  assert.deepEqual(at(written, "warnings"), [warning]);
  const read = await server.ask("GET", "clouda/config/root");
  assert.deepEqual(at(read, "warnings"), [warning]);
  assert.equal(dataOf(read)["credential_source"], "chain");
});
