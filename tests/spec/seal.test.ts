// Initialise, unseal, seal, health, leader, ceremonies; over HTTP.

import assert from "node:assert/strict";
import test from "node:test";
import { at, errorsOf } from "../support/http-client.ts";
import { MemoryDisk } from "../../src/storage/engines/memory.ts";
import { startServer, type TestServer } from "../support/servers/test-server.ts";

async function fresh(t: { after(call: () => Promise<void>): void }): Promise<TestServer> {
  const server = await startServer();
  t.after(() => server.stop());
  return server;
}

test("init with an empty body gives 5 shares, 3 needed, and a root token", async (t) => {
  const server = await fresh(t);
  assert.deepEqual((await server.call("GET", "/v1/sys/init")).json, { initialized: false });
  const made = await server.call("POST", "/v1/sys/init");
  assert.equal(made.status, 200);
  const keys = at(made, "keys") as string[];
  assert.equal(keys.length, 5);
  assert.ok(keys.every((key) => /^[0-9a-f]{66}$/.test(key)));
  const base64 = (at(made, "keys_base64") as string[]).map((key) =>
    Buffer.from(key, "base64").toString("hex"),
  );
  assert.deepEqual(base64, keys);
  assert.match(String(at(made, "root_token")), /^[0-9a-f-]{36}$/);
  assert.deepEqual((await server.call("GET", "/v1/sys/init")).json, { initialized: true });
  const again = await server.call("PUT", "/v1/sys/init", { body: {} });
  assert.equal(again.status, 400);
  assert.deepEqual(errorsOf(again), ["service is already initialized"]);
});

const REFUSED_INITS: readonly [string, object, RegExp][] = [
  ["no shares", { secret_shares: 0, secret_threshold: 0 }, /secret_shares must be/],
  ["256 shares", { secret_shares: 256, secret_threshold: 3 }, /secret_shares must be/],
  [
    "a threshold of 1 with several shares",
    { secret_shares: 2, secret_threshold: 1 },
    /secret_threshold/,
  ],
  ["a threshold above the shares", { secret_shares: 3, secret_threshold: 4 }, /secret_threshold/],
  ["shares that are no number", { secret_shares: "many" }, /secret_shares must be a whole number/],
  ["too few PGP keys", { secret_shares: 2, secret_threshold: 2, pgp_keys: ["x"] }, /pgp_keys/],
  ["fields of the other seal", { recovery_shares: 3, recovery_threshold: 2 }, /recovery_shares/],
  ["another word for the bootstrap", { acl_bootstrap: "ajar" }, /one of open, closed/],
];

test("init refuses what does not add up, says what would do, and changes nothing", async (t) => {
  const server = await fresh(t);
  for (const [what, body, says] of REFUSED_INITS) {
    const answer = await server.call("POST", "/v1/sys/init", { body });
    assert.equal(answer.status, 400, what);
    assert.match(String(at(answer, "errors", 0)), says, what);
  }
  assert.deepEqual((await server.call("GET", "/v1/sys/init")).json, { initialized: false });
});

test("two inits at the same time: one 200, one 400", async (t) => {
  const server = await fresh(t);
  const both = await Promise.all([1, 2].map(() => server.call("POST", "/v1/sys/init")));
  assert.deepEqual(
    both.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 400],
  );
});

test("acl_bootstrap open makes no root token, and health says that the door is open", async (t) => {
  const server = await fresh(t);
  const made = await server.call("POST", "/v1/sys/init", {
    body: { secret_shares: 1, secret_threshold: 1, acl_bootstrap: "open" },
  });
  assert.equal(at(made, "root_token"), undefined);
  await server.call("POST", "/v1/sys/unseal", { body: { key: at(made, "keys", 0) } });
  assert.equal(at(await server.call("GET", "/v1/sys/health"), "acl_bootstrap_open"), true);
});

test("unseal: two shares, the same again, then a third in any order; a wrong third undoes nothing", async (t) => {
  const server = await fresh(t);
  const { shares } = await server.init(5, 3);
  const give = (key: unknown, more = {}) =>
    server.call("POST", "/v1/sys/unseal", { body: { key, ...more } });
  const status = (await server.call("GET", "/v1/sys/seal-status")).json;
  const expected = {
    type: "shamir",
    initialized: true,
    sealed: true,
    t: 3,
    n: 5,
    progress: 0,
    nonce: "",
  };
  for (const [name, value] of Object.entries(expected)) {
    assert.equal((status as Record<string, unknown>)[name], value, name);
  }
  assert.equal("cluster_name" in (status as object), false);

  assert.equal(at(await give(shares[4]), "progress"), 1);
  const second = await give(shares[1]);
  assert.equal(at(second, "progress"), 2);
  const nonce = at(second, "nonce");
  assert.match(String(nonce), /^[0-9a-f-]{36}$/);
  const same = await give(shares[1]);
  assert.deepEqual([same.status, at(same, "progress"), at(same, "nonce")], [200, 2, nonce]);

  const wrong = await give(`${"00".repeat(32)}07`);
  assert.deepEqual([wrong.status, at(wrong, "errors", 0)], [400, "invalid key"]);
  assert.match(String(at(wrong, "errors", 1)), /they are kept: give another share/);
  assert.equal(at(await server.call("GET", "/v1/sys/seal-status"), "progress"), 2);

  assert.equal(at(await give(undefined, { reset: true }), "progress"), 0);
  await give(shares[3]);
  await give(Buffer.from(shares[0] ?? "", "hex").toString("base64"));
  const open = await give(shares[2]);
  assert.deepEqual([open.status, at(open, "sealed")], [200, false]);
  assert.match(String(at(open, "cluster_name")), /^holdfast-/);
  assert.equal((await give(undefined, { reset: true })).status, 400);
});

test("T-F05 unreadable shares are refused without a word about them", async (t) => {
  const server = await fresh(t);
  await server.init(5, 3);
  for (const key of ["zz", "00", "ab".repeat(40), "a".repeat(1025), 17, "", ["x"]]) {
    const answer = await server.call("POST", "/v1/sys/unseal", { body: { key } });
    assert.equal(answer.status, 400, String(key));
    const text = String(key);
    if (text.length > 2) assert.equal(answer.text.includes(text), false);
  }
});

test("2 and 4.4 sealed: everything but the open endpoints is 503, and it comes back", async (t) => {
  const server = await fresh(t);
  const before = await server.call("GET", "/v1/sys/namespaces/team");
  assert.deepEqual([before.status, errorsOf(before)], [503, ["service is not initialized"]]);
  const { shares, token } = await server.open(5, 3);
  const body = { custom_metadata: { owner: "platform" } };
  assert.equal((await server.call("POST", "/v1/sys/namespaces/team", { token, body })).status, 200);

  const sealed = await server.call("POST", "/v1/sys/seal", { token });
  assert.deepEqual([sealed.status, sealed.text], [204, ""]);
  for (const path of [
    "namespaces/team",
    "audit",
    "rotate/config",
    "nothing",
    "generate-root/attempt",
  ]) {
    const answer = await server.call("GET", `/v1/sys/${path}`, { token });
    assert.deepEqual([answer.status, errorsOf(answer)], [503, ["service is sealed"]], path);
  }
  assert.equal((await server.call("GET", "/v1/secret/x", { token })).status, 503);
  for (const path of ["init", "seal-status", "leader"]) {
    assert.equal((await server.call("GET", `/v1/sys/${path}`)).status, 200, path);
  }
  assert.equal((await server.call("GET", "/v1/sys/health")).status, 503);

  await server.unseal(shares.slice(2, 5));
  const read = await server.call("GET", "/v1/sys/namespaces/team", { token });
  assert.deepEqual(at(read, "data", "custom_metadata"), body.custom_metadata);
});

test("2 what was acknowledged is there after a restart on the same disk", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk });
  const { shares, token } = await first.open(3, 2);
  const body = { custom_metadata: { owner: "platform" } };
  await first.call("POST", "/v1/sys/namespaces/team", { token, body });
  await first.crash();
  const second = await startServer({ disk });
  t.after(() => second.stop());
  assert.equal((await second.call("GET", "/v1/sys/namespaces/team", { token })).status, 503);
  await second.unseal(shares.slice(1));
  const read = await second.call("GET", "/v1/sys/namespaces/team", { token });
  assert.deepEqual(at(read, "data", "custom_metadata"), body.custom_metadata);
});

test("health: 501, 503, 200, each with its parameter; HEAD has no body", async (t) => {
  const server = await fresh(t);
  const status = async (query = "") => (await server.call("GET", `/v1/sys/health${query}`)).status;
  assert.deepEqual([await status(), await status("?uninitcode=299")], [501, 299]);
  const { shares } = await server.init(1, 1);
  assert.deepEqual([await status(), await status("?sealedcode=298")], [503, 298]);
  await server.unseal(shares);
  assert.deepEqual([await status(), await status("?activecode=204")], [200, 204]);
  for (const query of ["?standbyok", "?standbyok=true&perfstandbyok=true", "?standbycode=500"]) {
    assert.equal(await status(query), 200);
  }
  for (const query of ["?activecode=99", "?activecode=600", "?activecode=x", "?standbycode="]) {
    const answer = await server.call("GET", `/v1/sys/health${query}`);
    assert.equal(answer.status, 400, query);
    assert.match(String(at(answer, "errors", 0)), /whole number from 100 to 599/);
  }
  const head = await server.call("HEAD", "/v1/sys/health");
  assert.deepEqual([head.status, head.text], [200, ""]);
  const body = (await server.call("GET", "/v1/sys/health")).json as Record<string, unknown>;
  assert.deepEqual(
    [
      body.initialized,
      body.sealed,
      body.standby,
      body.replication_dr_mode,
      body.acl_bootstrap_open,
    ],
    [true, false, false, "disabled", false],
  );
});

test("without a cluster the node leads, and stepping down does nothing", async (t) => {
  const server = await fresh(t);
  const { token } = await server.open();
  const leader = await server.call("GET", "/v1/sys/leader");
  assert.deepEqual(leader.json, { ha_enabled: false, is_self: true });
  assert.equal((await server.call("POST", "/v1/sys/step-down")).status, 403);
  assert.equal((await server.call("POST", "/v1/sys/step-down", { token })).status, 204);
});

test("generate-root: an OTP shown once, shares with the nonce, a token that works", async (t) => {
  const server = await fresh(t);
  const { shares } = await server.open(3, 2);
  const path = "/v1/sys/generate-root";
  const idle = await server.call("GET", `${path}/attempt`);
  assert.deepEqual([at(idle, "started"), at(idle, "otp_length")], [false, 36]);
  const started = await server.call("POST", `${path}/attempt`);
  const otp = String(at(started, "otp"));
  const nonce = at(started, "nonce");
  assert.equal(otp.length, 36);
  assert.equal(at(await server.call("GET", `${path}/attempt`), "otp"), "");
  assert.equal((await server.call("POST", `${path}/attempt`)).status, 400);

  const give = (key: unknown, withNonce: unknown = nonce) =>
    server.call("POST", `${path}/update`, { body: { key, nonce: withNonce } });
  assert.equal((await give(shares[0], "another")).status, 400);
  assert.equal(at(await give(shares[0]), "progress"), 1);
  assert.equal((await give(shares[0])).status, 400);
  const done = await give(shares[1]);
  assert.equal(at(done, "complete"), true);
  assert.equal(at(done, "encoded_root_token"), at(done, "encoded_token"));
  const covered = Buffer.from(String(at(done, "encoded_token")), "base64");
  const token = Buffer.from(covered.map((byte, i) => byte ^ otp.charCodeAt(i))).toString();
  assert.match(token, /^[0-9a-f-]{36}$/);
  assert.equal((await server.call("GET", "/v1/sys/key-status", { token })).status, 200);
});

test("T-F01 cancelling needs the cancel nonce of the attempt, or a token with update and sudo", async (t) => {
  const server = await fresh(t);
  const { token } = await server.open(3, 2);
  const attempt = "/v1/sys/generate-root/attempt";
  const started = await server.call("POST", attempt);
  const [nonce, cancel] = [at(started, "nonce"), at(started, "cancel_nonce")];
  assert.equal((await server.call("DELETE", attempt)).status, 403);
  assert.equal((await server.call("DELETE", attempt, { body: { nonce } })).status, 403);
  assert.equal((await server.call("DELETE", attempt, { body: { nonce: "wrong" } })).status, 400);
  assert.equal(
    (await server.call("DELETE", attempt, { token, body: { nonce: "wrong" } })).status,
    400,
  );
  assert.equal(at(await server.call("GET", attempt), "started"), true);
  assert.equal(at(await server.call("GET", attempt), "cancel_nonce"), undefined);
  const mine = await server.call("DELETE", `${attempt}?cancel_nonce=${String(cancel)}`);
  assert.equal(mine.status, 204);
  assert.equal(at(await server.call("GET", attempt), "started"), false);
  await server.call("POST", attempt);
  assert.equal((await server.call("DELETE", attempt, { token })).status, 204);
});

test("T-F02 where ceremonies need a token, nobody else can hold the slot", async (t) => {
  const server = await startServer({ listener: { keyCeremonies: "token" } });
  t.after(() => server.stop());
  const { token } = await server.open(3, 2);
  for (const path of ["generate-root/attempt", "rekey/init"]) {
    assert.equal((await server.call("POST", `/v1/sys/${path}`)).status, 403, path);
    assert.equal((await server.call("POST", `/v1/sys/${path}`, { token })).status, 200, path);
  }
});

test("rekey with verification: nothing changes until the new shares were entered", async (t) => {
  const disk = new MemoryDisk();
  const server = await startServer({ disk });
  const { shares } = await server.open(3, 2);
  const path = "/v1/sys/rekey";
  const started = await server.call("POST", `${path}/init`, {
    body: { secret_shares: 4, secret_threshold: 3, require_verification: true },
  });
  const nonce = at(started, "nonce");
  assert.deepEqual([at(started, "t"), at(started, "n"), at(started, "required")], [3, 4, 2]);
  await server.call("POST", `${path}/update`, { body: { key: shares[0], nonce } });
  const made = await server.call("POST", `${path}/update`, { body: { key: shares[1], nonce } });
  const next = at(made, "keys") as string[];
  assert.equal(next.length, 4);
  const verifying = { nonce: at(made, "verification_nonce") };
  let last = made;
  for (const key of next.slice(0, 3)) {
    last = await server.call("POST", `${path}/verify`, { body: { key, ...verifying } });
    assert.equal(last.status, 200, last.text);
  }
  assert.equal(at(last, "complete"), true);
  await server.crash();

  const again = await startServer({ disk });
  t.after(() => again.stop());
  assert.equal((await again.unseal(shares.slice(0, 2))).at(-1)?.status, 200); // two of what are now three
  assert.equal((await again.call("POST", "/v1/sys/unseal", { body: { reset: true } })).status, 200);
  await again.unseal(next.slice(1));
  assert.equal(at(await again.call("GET", "/v1/sys/seal-status"), "sealed"), false);
});

test("rotate installs a new term; what was written before stays readable", async (t) => {
  const server = await fresh(t);
  const { token } = await server.open();
  const body = { custom_metadata: { a: "b" } };
  await server.call("POST", "/v1/sys/namespaces/old", { token, body });
  assert.equal(at(await server.call("GET", "/v1/sys/key-status", { token }), "data", "term"), 1);
  assert.equal((await server.call("POST", "/v1/sys/rotate", { token })).status, 204);
  const status = await server.call("GET", "/v1/sys/key-status", { token });
  assert.deepEqual([at(status, "data", "term"), at(status, "term")], [2, 2]); // also at the top level
  assert.equal((await server.call("GET", "/v1/sys/namespaces/old", { token })).status, 200);
});

test("rotate/config: within its bounds, partial changes keep the rest", async (t) => {
  const server = await fresh(t);
  const { token } = await server.open();
  const path = "/v1/sys/rotate/config";
  for (const body of [
    { max_operations: 999_999 },
    { max_operations: 3_865_470_567 },
    { interval: "1h" },
  ]) {
    assert.equal((await server.call("POST", path, { token, body })).status, 400);
  }
  assert.equal((await server.call("POST", path, { token, body: { interval: "48h" } })).status, 204);
  const read = await server.call("GET", path, { token });
  assert.deepEqual(at(read, "data"), {
    enabled: true,
    max_operations: 3_865_470_566,
    interval: "48h0m0s",
  });
});
