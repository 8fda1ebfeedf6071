// What a current command line of the kind sends for its operator commands: paths, verbs and bodies as its
// client library makes them, and what it looks for in the answers. Newer names for rotate, generate-root
// and rekey; their answers are in an envelope.

import assert from "node:assert/strict";
import { test } from "node:test";
import { uncovered } from "../support/covered-token.ts";
import { type Answer, at } from "../support/http-client.ts";
import { startServer } from "../support/servers/test-server.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

async function opened(t: After, settings: object = {}) {
  const server = await startServer({ settings });
  t.after(() => server.stop());
  const { token, shares } = await server.open(3, 2);
  const send = (verb: string, path: string, body?: object): Promise<Answer> =>
    server.call(verb, `/v1/${path}`, { token, body, headers: { "X-Vault-Request": "true" } });
  return { server, send, shares, token };
}

/** Under `data`, where that library looks. */
const data = (answer: Answer, ...path: (string | number)[]) => at(answer, "data", ...path);

test("operator rotate: a new data key, then the state of the key", async (t) => {
  const { send } = await opened(t);
  assert.equal((await send("POST", "sys/rotate/keyring")).status, 204);
  assert.equal(data(await send("GET", "sys/key-status"), "term"), 2);
  assert.equal(data(await send("GET", "sys/rotate/keyring/config"), "enabled"), true);
  const config = { enabled: true, max_operations: 2_000_000_000, interval: "48h" };
  assert.equal((await send("PUT", "sys/rotate/keyring/config", config)).status, 204);
  const read = await send("GET", "sys/rotate/config");
  assert.equal(data(read, "max_operations"), 2_000_000_000, "one setting under both names");
});

test("operator generate-root: status, start, shares, the token under the one-time password, cancel", async (t) => {
  const { send, shares, server } = await opened(t);
  const attempt = "sys/generate-root-token/attempt";
  const none = await send("GET", attempt);
  assert.deepEqual([data(none, "started"), data(none, "otp_length")], [false, 36]);
  const started = await send("PUT", attempt, { otp: "", pgp_key: "" });
  const [nonce, otp] = [data(started, "nonce"), String(data(started, "otp"))];
  assert.equal(at(await send("GET", "sys/generate-root/attempt"), "nonce"), nonce, "one attempt");
  const update = "sys/generate-root-token/update";
  const first = await send("PUT", update, { key: shares[0], nonce });
  assert.deepEqual([data(first, "progress"), data(first, "required")], [1, 2]);
  const last = await send("PUT", update, { key: shares[1], nonce });
  assert.equal(data(last, "complete"), true);
  const made = uncovered(String(data(last, "encoded_token")), otp);
  assert.equal((await server.call("GET", "/v1/sys/key-status", { token: made })).status, 200);
  await send("PUT", attempt, { otp: "", pgp_key: "" });
  assert.equal((await send("DELETE", attempt)).status, 204, "with sudo");
  assert.equal(data(await send("GET", attempt), "started"), false);
});

const wanted = { secret_shares: 4, secret_threshold: 2, pgp_keys: null, backup: false };

test("operator rotate-keys: status, start, shares, new shares verified, cancel", async (t) => {
  const { send, shares, server } = await opened(t);
  const [init, update, verify] = ["init", "update", "verify"].map((it) => `sys/rotate/root/${it}`);
  assert.ok(init !== undefined && update !== undefined && verify !== undefined);
  assert.equal(data(await send("GET", init), "started"), false);
  const started = await send("POST", init, { ...wanted, require_verification: true });
  assert.deepEqual([data(started, "t"), data(started, "n"), data(started, "required")], [2, 4, 2]);
  const nonce = data(started, "nonce");
  assert.equal(at(await send("GET", "sys/rekey/init"), "nonce"), nonce, "one rekey");
  const first = await send("PUT", update, { key: shares[0], nonce });
  assert.deepEqual([data(first, "progress"), data(first, "started")], [1, true]);
  const last = await send("PUT", update, { key: shares[2], nonce });
  assert.equal(data(last, "complete"), true);
  const fresh = data(last, "keys_base64") as string[];
  assert.equal(fresh.length, 4);
  const verifying = data(last, "verification_nonce");
  assert.deepEqual([data(await send("GET", verify), "nonce")], [verifying]);
  await send("PUT", verify, { key: fresh[0], nonce: verifying });
  const again = await send("DELETE", verify);
  assert.equal(data(again, "progress"), 0);
  const next = data(again, "nonce");
  await send("PUT", verify, { key: fresh[0], nonce: next });
  assert.equal(data(await send("PUT", verify, { key: fresh[3], nonce: next }), "complete"), true);
  await server.server.keeper.seal();
  await server.unseal(fresh.slice(1, 3));
  await send("POST", init, { ...wanted, require_verification: false });
  assert.equal((await send("DELETE", init)).status, 204);
  assert.equal((await send("GET", "sys/rotate/root/backup")).status, 404);
  assert.equal((await send("DELETE", "sys/rotate/root/backup")).status, 204);
});

test("operator rotate-keys -target=recovery: refused where there are no recovery shares, with the reason", async (t) => {
  const { send } = await opened(t);
  const refused = await send("POST", "sys/rotate/recovery/init", {
    ...wanted,
    require_verification: false,
  });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /no recovery shares/);
});

test("the newer names are guarded as the older ones are", async (t) => {
  const server = await startServer({ listener: { keyCeremonies: "token" } });
  t.after(() => server.stop());
  const { token } = await server.open(3, 2);
  for (const path of ["generate-root-token/attempt", "rotate/root/init"]) {
    const started = (as?: string) => server.call("POST", `/v1/sys/${path}`, { token: as });
    assert.equal((await started()).status, 403);
    const { status, text } = await started(token);
    assert.equal(status, 200, text);
    assert.equal((await server.call("DELETE", `/v1/sys/${path}`)).status, 403);
  }
  for (const verb of ["GET", "POST"]) {
    const headers = { "X-Service-Wrap-TTL": "60" };
    const wrapped = await server.call(verb, "/v1/sys/rotate/root/init", { token, headers });
    assert.equal(wrapped.status, 400, "shares of keys are kept nowhere, in a wrapping neither");
  }
});
