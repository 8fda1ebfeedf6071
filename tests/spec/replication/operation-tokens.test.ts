// Operation tokens of a disaster-recovery secondary: the ceremony, and what one opens.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DAY, HOUR, MINUTE } from "@holdfast/shared/text/duration";
import { uncovered } from "../../support/covered-token.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { startSecondary } from "../../support/replication/secondary-server.ts";
import { makeOperator, PassingClock } from "../../support/servers/sealed-node.ts";
import { startServer } from "../../support/servers/test-server.ts";

const FIELDS = [
  "complete",
  "encoded_root_token",
  "encoded_token",
  "nonce",
  "otp",
  "otp_length",
  "pgp_fingerprint",
  "progress",
  "required",
  "started",
];
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function refused(answer: Answer, status: number, text: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, text);
}

/** A share that has the length of one and fits none. */
function junk(share: string): string {
  const bytes = Buffer.from(share, "hex").map((byte, i, all) =>
    i < all.length - 1 ? byte ^ 85 : byte,
  );
  return Buffer.from(bytes).toString("hex");
}

test("R-30: an attempt without a body has a nonce, a pad as long as the token and the threshold of the set", async (t) => {
  const dr = await startSecondary(t, { shares: 5, threshold: 3 });
  const begun = await dr.start();
  assert.equal(begun.status, 200, begun.text);
  assert.deepEqual(Object.keys(begun.json as object).toSorted(), FIELDS);
  const { nonce, otp, ...rest } = begun.json as Record<string, unknown>;
  assert.match(String(nonce), UUID);
  assert.match(String(otp), /^[0-9A-Za-z]{36}$/);
  assert.deepEqual(rest, {
    started: true,
    progress: 0,
    required: 3,
    complete: false,
    encoded_token: "",
    encoded_root_token: "",
    pgp_fingerprint: "",
    otp_length: 36,
  });
});

test("R-31: a second start is refused, and the first goes on", async (t) => {
  const dr = await startSecondary(t);
  const { json } = await dr.start();
  refused(await dr.start(), 400, /running already/);
  assert.equal(at(await dr.get(), "nonce"), (json as { nonce: string }).nonce);
});

test("R-32: who looks at an attempt sees its nonce and not its pad", async (t) => {
  const dr = await startSecondary(t);
  const none = await dr.get();
  assert.deepEqual(Object.keys(none.json as object).toSorted(), FIELDS);
  assert.deepEqual([at(none, "started"), at(none, "nonce")], [false, ""]);
  const begun = await dr.start();
  const seen = await dr.get();
  assert.equal(at(seen, "otp"), "");
  assert.equal(at(seen, "nonce"), at(begun, "nonce"));
  assert.equal(at(seen, "otp_length"), 36);
});

test("R-33: a share with a wrong nonce or none does not count, and the right one is not told", async (t) => {
  const dr = await startSecondary(t);
  const nonce = String(at(await dr.start(), "nonce"));
  for (const wrong of [undefined, "", "wrong", "11111111-2222-4333-8444-555555555555"]) {
    const answer = await dr.give(dr.shares[0], wrong);
    assert.equal(answer.status, 400, answer.text);
    assert.ok(!answer.text.includes(nonce));
  }
  assert.equal(at(await dr.get(), "progress"), 0);
  for (const wrong of [undefined, "", "xyz", "ab", "a".repeat(1000)]) {
    assert.equal((await dr.give(wrong, nonce)).status, 400, wrong ?? "none");
  }
});

test("R-34: shares are taken in hex and in base64", async (t) => {
  const dr = await startSecondary(t);
  const nonce = String(at(await dr.start(), "nonce"));
  const first = await dr.give(dr.shares[0], nonce);
  assert.equal(at(first, "progress"), 1);
  assert.deepEqual([at(first, "otp_length"), at(first, "nonce")], [0, nonce]);
  const base64 = Buffer.from(dr.shares[1] ?? "", "hex").toString("base64");
  const last = await dr.give(base64, nonce);
  assert.equal(at(last, "complete"), true);
  assert.equal(at(last, "progress"), 2);
});

test("R-35: a share that was given already is refused, and the progress stays", async (t) => {
  const dr = await startSecondary(t, { shares: 3, threshold: 3 });
  const nonce = String(at(await dr.start(), "nonce"));
  await dr.give(dr.shares[0], nonce);
  const base64 = Buffer.from(dr.shares[0] ?? "", "hex").toString("base64");
  for (const again of [dr.shares[0], base64])
    assert.equal((await dr.give(again, nonce)).status, 400);
  assert.equal(at(await dr.get(), "progress"), 1);
});

test("R-36: a wrong share does not undo the others; three sets that do not fit end the attempt", async (t) => {
  const dr = await startSecondary(t);
  const [first = "", second = "", third = ""] = dr.shares;
  const nonce = String(at(await dr.start(), "nonce"));
  await dr.give(first, nonce);
  refused(await dr.give(junk(second), nonce), 400, /invalid key/);
  assert.equal(at(await dr.get(), "nonce"), nonce);
  assert.equal(at(await dr.give(third, nonce), "complete"), true);

  const next = String(at(await dr.start(), "nonce"));
  for (let i = 0; i < 6; i++) {
    assert.equal(at(await dr.get(), "started"), true, `${i}`);
    await dr.give(junk(first).replace(/^../, `0${i}`), next);
  }
  assert.equal(at(await dr.get(), "started"), false);
});

test("R-37: under a pad the token comes in base64 without padding, and works", async (t) => {
  const dr = await startSecondary(t);
  const otp = "0123456789abcdefghijklmnopqrstuvwxyz";
  const begun = await dr.start({ otp });
  assert.equal(at(begun, "otp"), "", "it is the caller's own");
  const nonce = String(at(begun, "nonce"));
  await dr.give(dr.shares[0], nonce);
  const done = await dr.give(dr.shares[1], nonce);
  assert.equal(at(done, "encoded_root_token"), "");
  const token = uncovered(String(at(done, "encoded_token")), otp);
  assert.match(token, UUID);
  assert.equal(at(await dr.operate("promote", token), "data", "by"), "operation token");
  const inBody = await dr.operate("promote", undefined, { dr_operation_token: token });
  assert.equal(inBody.status, 200, inBody.text);
  const upper = await dr.operate("promote", token.toUpperCase());
  assert.equal(upper.status, 200, upper.text);
  assert.equal(at(await dr.get(), "started"), false);
});

test("R-38: under a PGP key the token comes as a message to it, and works", async (t) => {
  const dr = await startSecondary(t);
  const operator = await makeOperator();
  const lines = operator.publicKey.split(/\r?\n/);
  const body = lines.slice(lines.indexOf("") + 1).filter((line) => /^[A-Za-z0-9+/]+=*$/.test(line));
  const begun = await dr.start({ pgp_key: body.join("") });
  assert.equal(begun.status, 200, begun.text);
  assert.equal(at(begun, "pgp_fingerprint"), operator.fingerprint);
  assert.equal(at(begun, "otp"), "");
  const nonce = String(at(begun, "nonce"));
  await dr.give(dr.shares[0], nonce);
  const done = await dr.give(dr.shares[1], nonce);
  const message = Buffer.from(String(at(done, "encoded_token")), "base64");
  assert.equal(message.toString("base64"), at(done, "encoded_token"), "with its padding");
  const token = await operator.read(message);
  assert.equal((await dr.operate("promote", token)).status, 200);
});

test("R-39: a pad of another length, both a pad and a key, and armored keys are refused", async (t) => {
  const dr = await startSecondary(t);
  const { publicKey } = await makeOperator();
  for (const body of [
    { otp: "short" },
    { otp: "x".repeat(37) },
    { otp: "x".repeat(36), pgp_key: "AAAA" },
    { pgp_key: publicKey },
    { pgp_key: Buffer.from(publicKey).toString("base64") },
    { pgp_key: "AAAA" },
  ]) {
    assert.equal((await dr.start(body)).status, 400, JSON.stringify(body).slice(0, 60));
  }
  assert.equal(at(await dr.get(), "started"), false);
});

test("R-40: cancelling needs nothing, and is answered alike when none runs; a nonce must match", async (t) => {
  const dr = await startSecondary(t);
  const nonce = String(at(await dr.start(), "nonce"));
  refused(await dr.cancel("?nonce=wrong"), 400, /nonce/);
  assert.equal(at(await dr.get(), "started"), true);
  assert.equal((await dr.cancel(`?nonce=${nonce}`)).status, 204);
  await dr.start();
  for (let i = 0; i < 2; i++) assert.equal((await dr.cancel()).status, 204);
  assert.equal(at(await dr.get(), "started"), false);
});

test("R-42: there is place for one attempt, whatever token it makes", async (t) => {
  const dr = await startSecondary(t);
  dr.role.mode = null;
  const root = await dr.server.call("POST", "/v1/sys/generate-root/attempt", { token: dr.root });
  assert.equal(root.status, 200, root.text);
  dr.role.mode = "secondary";
  refused(await dr.give(dr.shares[0], String(at(root, "nonce"))), 400, /another kind/);
  refused(await dr.start(), 400, /running already/);
  assert.equal(at(await dr.get(), "started"), false);
});

test("R-43: a token that was deleted opens nothing, and the others go on", async (t) => {
  const dr = await startSecondary(t);
  const [one, other] = [await dr.token(), await dr.token()];
  refused(await dr.operate("operation-token/delete", "unknown"), 403, /invalid operation token/);
  refused(await dr.operate("operation-token/delete"), 403, /missing operation token/);
  const gone = await dr.operate("operation-token/delete", undefined, { dr_operation_token: one });
  assert.equal(gone.status, 204, gone.text);
  refused(await dr.operate("promote", one), 403, /invalid operation token/);
  assert.equal((await dr.operate("promote", other)).status, 200);
});

test("R-44: shares of another quorum make no token", async (t) => {
  const dr = await startSecondary(t);
  const other = await startServer();
  t.after(() => other.stop());
  const { shares } = await other.init(3, 2);
  const nonce = String(at(await dr.start(), "nonce"));
  await dr.give(shares[0], nonce);
  refused(await dr.give(shares[1], nonce), 400, /invalid key/);
});

test("R-30: elsewhere there is no such ceremony", async (t) => {
  const dr = await startSecondary(t);
  const token = await dr.token();
  dr.role.mode = null;
  const answers = [await dr.get(), await dr.start(), await dr.give("x", "y"), await dr.cancel()];
  for (const answer of answers) refused(answer, 400, /not a disaster-recovery secondary/);
  refused(await dr.operate("promote", token), 400, /not a disaster-recovery secondary/);
});

test("R-43: operation tokens open the seal, a snapshot and evidence, and nothing that is ordinary", async (t) => {
  const dr = await startSecondary(t);
  const token = await dr.token();
  const { server } = dr;
  const evidence = await server.call("LIST", "/v1/sys/evidence", { token });
  assert.equal(evidence.status, 200, evidence.text);
  const snapshot = await server.call("GET", "/v1/sys/storage/raft/snapshot", { token });
  assert.equal(snapshot.status, 200);
  assert.equal(snapshot.headers["content-type"], "application/gzip");
  assert.equal((await server.call("GET", "/v1/sys/metrics", { token })).status, 200);
  assert.equal((await server.call("GET", "/v1/sys/attention", { token })).status, 200);
  assert.equal((await server.call("GET", "/v1/sys/mounts", { token })).status, 503);
  const wrapped = await server.call("LIST", "/v1/sys/evidence", {
    token,
    headers: { "X-Service-Wrap-TTL": "60" },
  });
  assert.equal(wrapped.status, 400, wrapped.text);
  const sealed = await server.call("POST", "/v1/sys/seal", { body: { dr_operation_token: token } });
  assert.equal(sealed.status, 204, sealed.text);
  assert.equal(server.server.keeper.sealed, true);
  await server.unseal(dr.shares.slice(0, 2));
  assert.equal((await dr.operate("promote", token)).status, 200, "they outlive a seal");
});

test("R-37: at most five are good at a time, and all of them end together", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { shares: 1, threshold: 1, clock });
  const tokens: string[] = [];
  for (let i = 0; i < 7; i++) {
    tokens.push(await dr.token());
    clock.ahead += MINUTE;
  }
  const good = async () => {
    const answers = await Promise.all(tokens.map((token) => dr.operate("promote", token)));
    return answers.map(({ status }) => status);
  };
  assert.deepEqual(await good(), [403, 403, 200, 200, 200, 200, 200]);
  assert.equal((await dr.operate("disable", tokens[6])).status, 200);
  assert.deepEqual(await good(), [403, 403, 403, 403, 403, 403, 403]);
});

test("R-37: one that is older than a day is told so", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { clock });
  const token = await dr.token();
  clock.ahead += DAY - HOUR;
  assert.equal(at(await dr.operate("promote", token), "warnings"), null);
  clock.ahead += 2n * HOUR;
  const old = await dr.operate("promote", token);
  assert.equal(old.status, 200, "it does not end");
  assert.match(String(at(old, "warnings", 0)), /25 hours old/);
});

test("R-30, T-F02: an address starts ten attempts and gives thirty shares in a minute", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { clock });
  for (let i = 0; i < 10; i++) {
    assert.equal((await dr.start()).status, 200);
    assert.equal((await dr.cancel()).status, 204);
  }
  const over = await dr.start();
  refused(over, 429, /too many attempts/);
  assert.ok(Number(over.headers["retry-after"]) > 0);
  clock.ahead += MINUTE;
  const nonce = String(at(await dr.start(), "nonce"));
  for (let i = 0; i < 30; i++) assert.equal((await dr.give("00", nonce)).status, 400);
  refused(await dr.give(dr.shares[0], nonce), 429, /too many attempts/);
  clock.ahead += MINUTE;
  await dr.give(dr.shares[0], nonce);
  assert.equal(at(await dr.give(dr.shares[1], nonce), "complete"), true);
});

test("R-36: ten minutes without a share end an attempt, also one that has some", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { clock });
  const nonce = String(at(await dr.start(), "nonce"));
  clock.ahead += 9n * MINUTE;
  await dr.give(dr.shares[0], nonce);
  clock.ahead += 9n * MINUTE;
  assert.equal(at(await dr.get(), "started"), true);
  clock.ahead += MINUTE;
  assert.equal(at(await dr.get(), "started"), false);
  refused(await dr.give(dr.shares[1], nonce), 400, /no attempt is running/);
});

test("R-37: neither token nor pad nor share is stored, logged or recorded in clear", async (t) => {
  const dr = await startSecondary(t);
  const { server } = dr;
  dr.role.mode = null;
  const file = join(server.auditDirectory, "file.log");
  const device = { type: "file", options: { file_path: file } };
  const body = { ...device };
  await server.call("POST", "/v1/sys/audit/file", { token: dr.root, body });
  dr.role.mode = "secondary";
  const begun = await dr.start();
  const otp = String(at(begun, "otp"));
  const nonce = String(at(begun, "nonce"));
  await dr.give(dr.shares[0], nonce);
  const encoded = String(at(await dr.give(dr.shares[1], nonce), "encoded_token"));
  const token = uncovered(encoded, otp);
  await dr.operate("promote", token);
  await dr.operate("promote", undefined, { dr_operation_token: token });
  await dr.operate("promote", undefined, { dr_operation_token: token.replace(/.$/, "x") });
  const records = readFileSync(file, "utf8");
  assert.match(records, /secondary\/generate-operation-token\/update/);
  assert.match(records, /sys\/test\/promote/);
  const kept = records + server.lines.join("\n");
  for (const secret of [token, token.slice(0, -1), otp, encoded, ...dr.shares]) {
    assert.ok(!kept.includes(secret));
  }
});

test("with operation_token_auth each step of the ceremony needs a ticket for it or an operation token", async (t) => {
  const settings = { replication: { operation_token_auth: "required" } };
  const dr = await startSecondary(t, { settings, shares: 1, threshold: 1 });
  const base = "/v1/sys/replication/dr/secondary/generate-operation-token";
  const [key] = dr.shares;
  const steps = [
    ["GET", "attempt", undefined],
    ["POST", "attempt", {}],
    ["POST", "update", { key, nonce: "11111111-2222-4333-8444-555555555555" }],
    ["DELETE", "attempt", undefined],
  ] as const;
  const other = await dr.ticket(["promote", "read"]);
  for (const [method, path, body] of steps) {
    const step = (token: string | undefined, sent: object | undefined = body) =>
      dr.server.call(method, `${base}/${path}`, { token, body: sent });
    refused(await step(undefined), 403, /operation token/);
    for (const token of ["nobody's", dr.root, other]) {
      refused(await step(token), 403, /operation token/);
    }
    // it stands in the header, where no record keeps it
    const ticket = await dr.ticket(["operation-token"]);
    if (body !== undefined) {
      refused(
        await step(undefined, { ...body, dr_operation_token: ticket }),
        403,
        /operation token/,
      );
    }
  }
  const made = async (token: string) => {
    const begun = await dr.server.call("POST", `${base}/attempt`, { token, body: {} });
    assert.equal(begun.status, 200, begun.text);
    const seen = await dr.server.call("GET", `${base}/attempt`, { token });
    assert.equal(at(seen, "started"), true);
    const body = { key, nonce: at(begun, "nonce") };
    const done = await dr.server.call("POST", `${base}/update`, { token, body });
    assert.equal(at(done, "complete"), true, done.text);
    return uncovered(String(at(done, "encoded_token")), String(at(begun, "otp")));
  };
  const first = await made(await dr.ticket(["operation-token"]));
  const second = await made(first);
  assert.equal((await dr.operate("promote", second)).status, 200);
});
