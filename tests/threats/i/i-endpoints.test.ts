// Threat T-I03 through HTTP: the fields of an engine that say what the server calls, on a server that is
// not in dev mode. The rules themselves: i-outbound.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { SystemNet } from "../../../src/system/net.ts";
import type { Address } from "@holdfast/shared/world";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { dataOf, done, engineServer, refused } from "../../support/servers/engine-server.ts";

const KEYS = { access_key: "AKIAIOSFODNN7EXAMPLE", secret_key: "a/secret+key" };
const ODD = [
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://127.1/",
  "http://[::ffff:127.0.0.1]/",
  "http://１２７.0.0.1/",
  "http://user@169.254.169.254/",
  "http://169.254.169.254/?Action=x",
  "http://169.254.169.254#x",
  "ftp://127.0.0.1/",
  "http://127.0.0.1\u0000.example/",
];
const INNER = ["http://127.0.0.1:9", "http://[::1]:9", "http://10.0.0.1", "http://169.254.169.254"];

function recorded() {
  const connected: string[] = [];
  const net = new SystemNet();
  const connect = net.connect.bind(net);
  net.connect = (to: Address, signal?: AbortSignal) => {
    connected.push(to.host);
    return connect(to, signal);
  };
  return { net, connected };
}

const ROLE = {
  credential_type: "iam_user",
  policy_arns: ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
};

test("T-I03: an endpoint in an odd spelling is 400 by its field, and nothing is kept", async (t) => {
  const server = await engineServer(t);
  for (const field of ["iam_endpoint", "sts_endpoint"]) {
    for (const text of ODD) {
      const answer = await server.ask("POST", "clouda/config/root", { ...KEYS, [field]: text });
      refused(answer, 400, new RegExp(`^${field}: `));
      assert.equal((await server.ask("GET", "clouda/config/root")).status, 404, text);
    }
  }
});

test("T-I03: an endpoint at an inner address is refused when it is written, and says what would help", async (t) => {
  const { net, connected } = recorded();
  const server = await engineServer(t, { world: { net } });
  for (const endpoint of INNER) {
    for (const field of ["iam_endpoint", "sts_endpoint"]) {
      const answer = await server.ask("POST", "clouda/config/root", { ...KEYS, [field]: endpoint });
      refused(answer, 400, /may not be called: it is a .* address, which outbound_allow/);
      assert.ok(answer.text.includes(field) && !answer.text.includes(KEYS.secret_key));
    }
  }
  const fallback = {
    sts_fallback_endpoints: INNER,
    sts_fallback_regions: INNER.map(() => "us-east-1"),
  };
  const answer = await server.ask("POST", "clouda/config/root", { ...KEYS, ...fallback });
  refused(answer, 400, /^sts_fallback_endpoints: .* may not be called/);
  assert.equal((await server.ask("GET", "clouda/config/root")).status, 404);
  assert.deepEqual(connected, []);
});

test("T-I03: a name that stands for an inner address is never called, and is a setting to mend, not to wait for", async (t) => {
  const { net, connected } = recorded();
  const server = await engineServer(t, { world: { net } });
  done(await server.ask("POST", "clouda/roles/r", ROLE));
  const endpoint = "http://localhost:9";
  const config = { ...KEYS, iam_endpoint: endpoint, sts_endpoint: endpoint };
  done(await server.ask("POST", "clouda/config/root", config));
  const answer = await server.ask("GET", "clouda/creds/r");
  refused(answer, 400, /may not be called: its name stands for a .* address, which outbound_allow/);
  assert.ok(!answer.text.includes(KEYS.secret_key));
  assert.deepEqual(connected, []);
});

test("T-I03: what outbound_allow lists is called", async (t) => {
  const { net, connected } = recorded();
  const settings = { outbound_allow: ["127.0.0.1"] };
  const server = await cloudaServer(t, { settings, world: { net } });
  await server.makeRole("r");
  const { accessKey } = await server.creds("clouda/creds/r");
  assert.ok(accessKey !== "");
  assert.deepEqual([...new Set(connected)], ["127.0.0.1"]);
  assert.equal(
    dataOf(await server.ask("GET", "clouda/config/root"))["iam_endpoint"],
    server.fake.url,
  );
});

const ROLE_ARN = "arn:aws:iam::123456789012:role/holdfast";
const IDENTITY = { role_arn: ROLE_ARN, identity_token_audience: "sts.example.com" };

test("T-I01: an identity token goes nowhere in the clear", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const write = (more: object) =>
    server.ask("POST", "clouda/config/root", { ...IDENTITY, ...more });
  for (const endpoint of ["http://sts.example.com", "http://93.184.216.34", "http://localhost:1"]) {
    refused(await write({ sts_endpoint: endpoint }), 400, /^sts_endpoint: must begin with https:/);
    const fallback = { sts_fallback_endpoints: [endpoint], sts_fallback_regions: ["us-east-1"] };
    refused(await write(fallback), 400, /^sts_fallback_endpoints: must begin with https:/);
  }
  done(await write({ sts_endpoint: "https://sts.example.com" }));
  done(await write({ sts_endpoint: server.fake.url })); // on this machine, and listed
  // Neither is it brought there by the order in which the fields are written.
  const cleared = { role_arn: "", identity_token_audience: "" };
  done(
    await server.ask("POST", "clouda/config/root", {
      ...cleared,
      sts_endpoint: "http://sts.example.com",
    }),
  );
  refused(await write({}), 400, /^sts_endpoint: must begin with https:/);
});

test("T-I01: stored keys are not used at another endpoint by who does not know them", async (t) => {
  const server = await cloudaServer(t);
  const write = (body: object) => server.ask("POST", "clouda/config/root", body);
  const other = "https://iam.attacker.example";
  const moves = [
    { iam_endpoint: other },
    { sts_endpoint: other },
    { sts_fallback_endpoints: [other], sts_fallback_regions: ["us-east-1"] },
    { iam_endpoint: other, access_key: server.fake.accessKeyId },
  ];
  for (const move of moves) {
    const answer = await write(move);
    refused(answer, 400, /the stored keys were not given for this endpoint; give access_key and/);
  }
  assert.equal(
    dataOf(await server.ask("GET", "clouda/config/root"))["iam_endpoint"],
    server.fake.url,
  );
  done(await write({ region: "eu-central-1", iam_endpoint: server.fake.url }));
  done(await write({ iam_endpoint: "" })); // the provider's own
  done(await write(server.config({ iam_endpoint: other })));
  done(await write({ iam_endpoint: "https://third.example", access_key: "", secret_key: "" }));
});

test("T-I01: what no ARN of a role holds is refused in role_arn", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const odd = [
    "arn:aws:iam::123456789012:role/x\r\nHost: evil.example",
    "arn:aws:iam::123456789012:role/x\n",
    "arn:aws:iam::1@evil.example:role/x",
    "arn:aws:iam::123456789012:role/x@evil.example",
    "arn:aws:iam::123456789012:role\\x",
    "arn:aws:iam::123456789012:role/a b",
    "arn:aws:iam::123456789012:user/x",
    "role/x",
  ];
  for (const role_arn of odd) {
    const body = { ...IDENTITY, role_arn };
    refused(await server.ask("POST", "clouda/config/root", body), 400, /^role_arn must be the ARN/);
  }
  for (const region of ["evil.com/x", "us-east-1.evil.com#", "us-east-1@evil.com", "a\r\nb"]) {
    refused(await server.ask("POST", "clouda/config/root", { region }), 400, /^region /);
  }
});
