// Threat T-I03 through HTTP: the fields of an engine that say what the server calls, on a server that is
// not in dev mode. The rules themselves: i-outbound.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { SystemNet } from "../../src/base/net.ts";
import type { Address } from "../../src/base/world.ts";
import { cloudaServer } from "../support/cloud-server.ts";
import {
  dataOf,
  done,
  type EngineServer,
  engineServer,
  refused,
} from "../support/engine-server.ts";

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

/** Mints with endpoints that lead inside; gives what was connected to. */
async function minted(server: EngineServer, endpoint: string) {
  const config = { ...KEYS, iam_endpoint: endpoint, sts_endpoint: endpoint, max_retries: 0 };
  assert.ok((await server.ask("POST", "clouda/config/root", config)).status < 300);
  return server.ask("GET", "clouda/creds/r");
}

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

test("T-I03: an endpoint at an inner address is never called, and the refusal says what would help", async (t) => {
  const { net, connected } = recorded();
  const server = await engineServer(t, { world: { net } });
  done(await server.ask("POST", "clouda/roles/r", ROLE));
  for (const endpoint of INNER) {
    const answer = await minted(server, endpoint);
    refused(answer, 502, /may not be called: it is a .* address, which outbound_allow/);
    assert.ok(!answer.text.includes(KEYS.secret_key));
  }
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
