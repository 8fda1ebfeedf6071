// Cases of docs/cases/replication.md: tokens that are unwrapped at the API of the primary, over HTTPS.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { isObject } from "@holdfast/shared/json/json";
import { MINUTE } from "@holdfast/shared/text/duration";
import { CertificateFiles, TestAuthority } from "../../support/certificates.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  ShiftedClock,
  startCluster,
  startPrimary,
} from "../../support/replication/clusters.ts";

/** Addresses of this machine are called where they are listed. */
const LISTED = { settings: { outbound_allow: ["127.0.0.1"] } };

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

/** A primary whose API has a certificate, and how it is reached. */
async function securePrimary(t: TestContext) {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("localhost"));
  const { certFile, keyFile } = files;
  const plain = { address: "127.0.0.1:0", tls_disable: true };
  const secure = { address: "127.0.0.1:0", tls_cert_file: certFile, tls_key_file: keyFile };
  const settings = { listener: [{ tcp: plain }, { tcp: secure }] };
  const primary = await startPrimary(t, { settings });
  const api = primary.server.server.addresses.find((one) => one.startsWith("https:"));
  assert.ok(api !== undefined);
  return { primary, how: { primary_api_addr: `${api}/`, ca_pem: authority.pem } };
}

async function wrappedToken(primary: Cluster, id = "site-b"): Promise<Answer> {
  const made = await primary.dr("primary/secondary-token", { id });
  is(made, 200);
  return made;
}

test("R-9: a primary whose own address is not https makes no token that nobody could unwrap there", async (t) => {
  const api_addr = "http://primary.example:8200";
  const primary = await startPrimary(t, { settings: { api_addr } });
  const wrapped = await primary.dr("primary/secondary-token", { id: "sealed" });
  is(wrapped, 400);
  assert.match(wrapped.text, /by https alone.*give secondary_public_key.*https:/);
  const key = await (await startCluster(t)).dr("secondary/generate-public-key");
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const body = { id: "sealed", secondary_public_key };
  const sealed = await primary.dr("primary/secondary-token", body);
  is(sealed, 200);
  assert.equal(at(sealed, "warnings"), null);
});

test("R-9: a cluster that is no primary says so, whatever token it is to make, and for whom", async (t) => {
  const settings = { api_addr: "http://primary.example:8200" };
  const cluster = await startCluster(t, { settings });
  for (const body of [{ id: "site-b" }, { id: "no/id" }, { id: "b", secondary_public_key: "x" }]) {
    const answer = await cluster.dr("primary/secondary-token", body);
    is(answer, 400);
    assert.equal(answer.headers["x-service-error"], "replication_not_primary", answer.text);
  }
});

test("R-9: a wrapped token is a JWT for half an hour that says where it is unwrapped; its jti is no credential", async (t) => {
  const api_addr = "https://primary.example:8200";
  const primary = await startPrimary(t, { settings: { api_addr } });
  const made = await wrappedToken(primary);
  assert.equal(at(made, "data"), null);
  assert.equal(at(made, "warnings"), null);
  assert.equal(at(made, "wrap_info", "ttl"), 1800);
  const token = String(at(made, "wrap_info", "token"));
  const [, payload = "", ...more] = token.split(".");
  assert.equal(more.length, 1);
  const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
  assert.ok(isObject(claims));
  const names = ["accessor", "addr", "exp", "iat", "jti", "nbf", "ns", "st", "type"];
  assert.deepEqual(Object.keys(claims).toSorted(), names);
  const { exp, iat, nbf, type, addr, jti } = claims;
  assert.deepEqual(
    [Number(exp) - Number(iat), Number(iat) - Number(nbf), type],
    [1800, 5, "wrapping"],
  );
  assert.equal(addr, api_addr);
  assert.ok(typeof jti === "string");
  const { server } = primary;
  const unwrap = "/v1/sys/wrapping/unwrap";
  const tried = await server.call("POST", unwrap, { token: jti });
  assert.ok(tried.status === 400 || tried.status === 403, tried.text);
});

test("R-11: it is unwrapped once, with everything that a secondary needs", async (t) => {
  const primary = await startPrimary(t);
  const made = await wrappedToken(primary);
  assert.match(JSON.stringify(at(made, "warnings")), /primary_api_addr/); // nobody has said where
  const token = String(at(made, "wrap_info", "token"));
  const unwrap = () => primary.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
  const first = await unwrap();
  is(first, 200);
  const data = at(first, "data");
  assert.ok(isObject(data));
  for (const name of ["id", "cluster_id", "primary_cluster_addr", "ca_cert", "client_cert"]) {
    assert.equal(typeof data[name], "string", name);
  }
  assert.equal(data["mode"], "dr");
  assert.deepEqual(Object.keys(data["client_key"] as object).toSorted(), ["d", "type", "x", "y"]);
  is(await unwrap(), 400);
});

test("R-12: a token that has ended changes nothing where it is used", async (t) => {
  const { primary, how } = await securePrimary(t);
  const clock = new ShiftedClock();
  const other = await startCluster(t, { ...LISTED, world: { clock } });
  const token = String(at(await wrappedToken(primary), "wrap_info", "token"));
  clock.ahead = 31n * MINUTE;
  const late = await other.dr("secondary/enable", { token, ...how });
  is(late, 400);
  assert.match(late.text, /ago by the clock of this server.*if it is ahead of the primary's/);
  assert.deepEqual(await other.status(), { mode: "disabled" });
  is(await other.server.call("GET", "/v1/sys/mounts", { token: other.token }), 200);
});

test("R-11, R-12: it joins by the API of the primary over HTTPS; used up, the token is good for nobody", async (t) => {
  const { primary, how } = await securePrimary(t);
  const [other, late] = [await startCluster(t, LISTED), await startCluster(t, LISTED)];
  const token = String(at(await wrappedToken(primary), "wrap_info", "token"));
  const { primary_api_addr } = how;
  is(await other.dr("secondary/enable", { token, primary_api_addr }), 502); // nobody vouches for it
  is(await other.dr("secondary/enable", { token, ...how }), 200);
  await inSync(primary, other);
  is(await late.dr("secondary/enable", { token, ...how }), 400);
  assert.deepEqual(await late.status(), { mode: "disabled" });
  is(await late.server.call("GET", "/v1/sys/mounts", { token: late.token }), 200);
});
