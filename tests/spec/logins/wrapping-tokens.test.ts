// Wrapping tokens as tokens: what those see of them who manage tokens, how they end, what existing clients
// send, and that what is refused before it runs has not used one up.

import assert from "node:assert/strict";
import test from "node:test";
import {
  dataOf,
  done,
  engineServer,
  type EngineServer,
  grants,
  HOUR,
  MINUTE,
  refused,
} from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const INVALID = "wrapping token is not valid or does not exist";

interface WrapInfo {
  readonly token: string;
  readonly accessor: string;
}

async function wrapped(
  server: EngineServer,
  more: Record<string, string> = {},
  namespace?: string,
) {
  const headers = { "X-Service-Wrap-TTL": "5m", ...more };
  const options = { headers, namespace };
  const made = await server.must("POST", "sys/wrapping/wrap", { a: "b" }, options);
  return at(made, "wrap_info") as WrapInfo;
}

function unwrap(server: EngineServer, token: string, namespace?: string) {
  return server.test.call("POST", "/v1/sys/wrapping/unwrap", { token, namespace });
}

test("whoever manages tokens sees it without its secret, cannot change it, and can end it", async (t) => {
  const server = await engineServer(t);
  for (const format of ["token", "jwt"]) {
    const { token, accessor } = await wrapped(server, { "X-Service-Wrap-Format": format });
    const read = await server.test.call("GET", `/v1/acl/token/${accessor}`, { token: server.root });
    assert.equal(read.status, 200, read.text);
    assert.deepEqual(
      [at(read, "SecretID"), at(read, "Name"), at(read, "Policies"), at(read, "ExpirationTTL")],
      ["", "response-wrapping", ["response-wrapping"], "5m0s"],
    );
    const facts = dataOf(await server.ask("POST", "auth/token/lookup-accessor", { accessor }));
    assert.deepEqual(
      [facts["id"], facts["path"], facts["num_uses"], facts["renewable"], facts["policies"]],
      ["", "sys/wrapping/wrap", 1, false, ["response-wrapping"]],
    );
    const change = { AccessorID: accessor, Type: "management" };
    const changed = await server.test.call("POST", `/v1/acl/token/${accessor}`, {
      token: server.root,
      body: change,
    });
    refused(changed, 400, "a wrapping token cannot be changed, only deleted");
    done(await server.ask("POST", "auth/token/revoke-accessor", { accessor }));
    refused(await unwrap(server, token), 400, INVALID);
  }
});

test("it outlives the token that made it, and ends with its namespace", async (t) => {
  const server = await engineServer(t);
  const client = await server.clientToken(grants("none/such", "read"));
  const headers = { "X-Service-Wrap-TTL": "5m" };
  const options = { token: client.secret, headers };
  const made = await server.must("POST", "sys/wrapping/wrap", { a: "b" }, options);
  await server.must("POST", "auth/token/revoke-accessor", { accessor: client.accessor });
  const { token } = at(made, "wrap_info") as WrapInfo;
  assert.deepEqual(dataOf(await unwrap(server, token)), { a: "b" });
  await server.namespaces("team");
  const inTeam = await wrapped(server, {}, "team");
  refused(await unwrap(server, inTeam.token), 400, INVALID);
  await server.must("DELETE", "sys/namespaces/team");
  refused(await unwrap(server, inTeam.token, "team"), 400, INVALID);
});

test("existing clients: their headers, PUT, the word null for no body, and the token in either place", async (t) => {
  const server = await engineServer(t);
  const wrap = async () => {
    const made = await server.test.call("PUT", "/v1/sys/wrapping/wrap", {
      body: { foo: "bar" },
      headers: { "X-Vault-Token": server.root, "X-Vault-Wrap-TTL": "300" },
    });
    assert.equal(made.status, 200, made.text);
    return (at(made, "wrap_info") as WrapInfo).token;
  };
  const put = (token: string, body: unknown) =>
    server.test.call("PUT", "/v1/sys/wrapping/unwrap", {
      body,
      headers: { "X-Vault-Token": token, "X-Vault-Request": "true" },
    });
  assert.deepEqual(dataOf(await put(await wrap(), "null")), { foo: "bar" });
  assert.deepEqual(dataOf(await put(server.root, { token: await wrap() })), { foo: "bar" });
  const token = await wrap();
  assert.deepEqual(dataOf(await put(token, { token })), { foo: "bar" });
});

test("a caller needs the right to unwrap for others, and an unwrap that is refused uses nothing up", async (t) => {
  const server = await engineServer(t);
  const { token } = await wrapped(server);
  const denied = await server.client('path "sys/wrapping/unwrap" { capabilities = ["deny"] }');
  const byDenied = { token: denied };
  refused(
    await server.ask("POST", "sys/wrapping/unwrap", { token }, byDenied),
    403,
    "permission denied",
  );
  refused(
    await server.test.call("POST", "/v1/sys/wrapping/unwrap", { body: { token } }),
    403,
    "missing client token",
  );
  const paths = ["sys/wrapping/unwrap"];
  const egp = { policy: "false", paths, enforcement_level: "hard-mandatory" };
  await server.must("POST", "sys/policies/egp/never", egp);
  assert.equal((await unwrap(server, token)).status, 403);
  await server.must("DELETE", "sys/policies/egp/never");
  assert.deepEqual(dataOf(await unwrap(server, token)), { a: "b" });
});

test("in a child namespace nobody learns what is there", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  const { token } = await wrapped(server, {}, "team");
  for (const path of ["unwrap", "rewrap", "lookup"]) {
    const ask = (namespace: string, credential?: string) =>
      server.test.call("POST", `/v1/sys/wrapping/${path}`, {
        namespace,
        token: credential,
        body: {},
      });
    for (const credential of [undefined, "unknown"]) {
      const [there, nowhere] = [await ask("team", credential), await ask("none", credential)];
      assert.deepEqual([there.status, there.text], [nowhere.status, nowhere.text]);
    }
    refused(await ask("none", token), 400, INVALID);
  }
  const lookup = await server.test.call("POST", "/v1/sys/wrapping/lookup", {
    namespace: "team",
    token,
  });
  assert.equal(dataOf(lookup)["creation_path"], "team/sys/wrapping/wrap");
  assert.deepEqual(dataOf(await unwrap(server, token, "team")), { a: "b" });
});

test("the sweep takes what nobody unwrapped, and a clock set back brings nothing back", async (t) => {
  const server = await engineServer(t);
  const { token, accessor } = await wrapped(server);
  const kept = () =>
    server.storedKeys(accessor).filter((key) => key.includes("/cubbyhole/")).length;
  assert.equal(kept(), 1);
  await server.time.passSlowly(7n * MINUTE, MINUTE / 2n);
  while (kept() > 0) await new Promise((resolve) => setImmediate(resolve));
  server.time.clock.jump(server.time.clock.now() - HOUR);
  refused(await unwrap(server, token), 400, INVALID);
});

test("the public key is told in three notations of one point", async (t) => {
  const server = await engineServer(t);
  const key = dataOf(await server.test.call("GET", "/v1/sys/wrapping/pubkey"));
  const jwk = key["jwk"] as Record<string, string>;
  const halves = [jwk["x"] ?? "", jwk["y"] ?? ""].map((half) => Buffer.from(half, "base64url"));
  assert.deepEqual(
    halves.map((half) => BigInt(`0x${half.toString("hex")}`).toString()),
    [key["jwt_x"], key["jwt_y"]],
  );
  assert.deepEqual([key["jwt_curve"], jwk["crv"], jwk["alg"]], ["p521", "P-521", "ES512"]);
  const der = Buffer.from(String(key["public_key"]).split("\n").slice(1, -2).join(""), "base64");
  assert.equal(der.subarray(-132).toString("hex"), Buffer.concat(halves).toString("hex"));
});
