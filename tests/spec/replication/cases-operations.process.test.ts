// Cases of docs/cases/replication.md on processes: the ceremony of operation tokens on a secondary that follows its primary, and
// what one opens. Each test begins where the one before it has ended; attempts and shares in a minute are counted over all of them.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { uncovered } from "../../support/covered-token.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { is, suiteEnds } from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { makeOperator } from "../../support/servers/sealed-node.ts";

const CEREMONY = "/v1/sys/replication/dr/secondary/generate-operation-token";
const ATTEMPT = `${CEREMONY}/attempt`;
const QUORUM = { shares: 3, threshold: 2 };
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("operation tokens of a secondary as a process", () => {
  const ends = suiteEnds();
  let a: ClusterProcess;
  let b: ClusterProcess;
  /** Those of the secondary of before. */
  let own: readonly string[];
  let nonce = "";
  let otp = "";
  /** The tokens that were made. */
  let first = "";
  let second = "";

  before(async () => {
    [a, b] = await Promise.all([
      startPrimaryProcess(ends, undefined, undefined, QUORUM),
      ClusterProcess.start(ends, undefined, undefined, QUORUM),
    ]);
    own = b.shares;
    await joinProcess(a, b);
    await equalProcesses(a, b);
  });

  const start = (body?: object) => b.call("POST", ATTEMPT, { body });
  const look = () => b.call("GET", ATTEMPT);
  const cancel = () => b.call("DELETE", ATTEMPT);
  const give = (key: unknown, to: string | undefined) =>
    b.call("POST", `${CEREMONY}/update`, { body: { key, nonce: to } });
  const share = (i: number) => a.allShares[i] ?? "";
  /** What a rehearsal says to who shows this. */
  const rehearse = (dr_operation_token: string): Promise<Answer> =>
    b.operate("promote", { dry_run: true }, dr_operation_token);

  test("R-30: an attempt without a body has a nonce, a pad, no progress and the threshold of the set", async () => {
    const begun = await start();
    is(begun, 200);
    nonce = String(at(begun, "nonce"));
    otp = String(at(begun, "otp"));
    assert.match(nonce, UUID);
    assert.equal(otp.length, at(begun, "otp_length"));
    assert.deepEqual([at(begun, "progress"), at(begun, "required")], [0, QUORUM.threshold]);
    is(await a.call("POST", ATTEMPT), 400); // elsewhere there is none
  });

  test("R-31: a second start is refused", async () => {
    is(await start(), 400);
    assert.equal(at(await look(), "nonce"), nonce);
  });

  test("R-32: who looks at it sees the nonce and not the pad", async () => {
    const seen = await look();
    assert.deepEqual([at(seen, "nonce"), at(seen, "otp")], [nonce, ""]);
  });

  test("R-33: a share with a wrong nonce or none does not count, and the right one is not told", async () => {
    for (const wrong of [undefined, "", "wrong", "11111111-2222-4333-8444-555555555555"]) {
      const refused = await give(share(0), wrong);
      is(refused, 400);
      assert.ok(!refused.text.includes(nonce));
    }
    assert.equal(at(await look(), "progress"), 0);
  });

  test("R-35: a share that was given already does not count", async () => {
    is(await give(share(0), nonce), 200);
    is(await give(share(0), nonce), 400);
    assert.equal(at(await look(), "progress"), 1);
  });

  test("R-34, R-37: shares are taken in hex and in base64; the token comes under the pad, without padding, and works", async () => {
    const done = await give(Buffer.from(share(1), "hex").toString("base64"), nonce);
    is(done, 200);
    assert.equal(at(done, "complete"), true);
    first = uncovered(String(at(done, "encoded_token")), otp);
    is(await rehearse(first), 200);
    assert.equal(at(await look(), "started"), false);
  });

  test("R-44: shares of its own quorum of before make no token", async () => {
    const its = String(at(await start(), "nonce"));
    is(await give(own[0], its), 200);
    is(await give(own[1], its), 400);
    assert.equal(at(await look(), "complete"), false);
    is(await cancel(), 204);
  });

  test("R-36: a wrong share undoes nothing, and three sets that do not fit end the attempt", async () => {
    const next = String(at(await start(), "nonce"));
    const junk = (i: number) => share(0).replace(/^../, `0${i}`);
    is(await give(share(0), next), 200);
    is(await give(junk(9), next), 400);
    assert.equal(at(await look(), "nonce"), next, "it goes on");
    is(await cancel(), 204);
    const last = String(at(await start(), "nonce"));
    for (let i = 0; i < 6; i++) {
      assert.equal(at(await look(), "started"), true, `${i}`);
      await give(junk(i), last);
    }
    assert.equal(at(await look(), "started"), false);
  });

  test("R-38: under a PGP key the token comes as a message to it, and works", async () => {
    const operator = await makeOperator();
    const lines = operator.publicKey.split(/\r?\n/);
    const base64 = lines
      .slice(lines.indexOf("") + 1)
      .filter((line) => /^[A-Za-z0-9+/]+=*$/.test(line));
    const begun = await start({ pgp_key: base64.join("") });
    assert.equal(at(begun, "pgp_fingerprint"), operator.fingerprint);
    const its = String(at(begun, "nonce"));
    await give(share(1), its);
    const done = await give(share(2), its);
    second = await operator.read(Buffer.from(String(at(done, "encoded_token")), "base64"));
    is(await rehearse(second), 200);
  });

  test("R-43: one that was deleted opens nothing", async () => {
    is(await rehearse(first), 200);
    is(await b.operate("operation-token/delete", {}, first), 204);
    is(await rehearse(first), 403);
    is(await rehearse(second), 200);
  });

  test("R-40: cancelling is 204, twice", async () => {
    is(await start(), 200);
    for (let i = 0; i < 2; i++) is(await cancel(), 204);
    assert.equal(at(await look(), "started"), false);
  });

  test("R-39: a pad of another length, both a pad and a key, and an armored key are refused", async () => {
    const { publicKey } = await makeOperator();
    const wrong = [
      { otp: "short" },
      { otp: "x".repeat(36), pgp_key: "AAAA" },
      { pgp_key: publicKey },
    ];
    for (const body of wrong) is(await start(body), 400);
    assert.equal(at(await look(), "started"), false);
  });

  test("R-42: while a root generation runs, a share for an operation token is refused", async () => {
    const begun = await a.call("POST", "/v1/sys/generate-root/attempt", { token: a.token });
    is(begun, 200);
    const body = { key: share(0), nonce: at(begun, "nonce") };
    const give = () => a.call("POST", `${CEREMONY}/update`, { body });
    is(await give(), 400);
    const seen = await a.call("GET", "/v1/sys/generate-root/attempt", { token: a.token });
    assert.equal(at(seen, "progress"), 0);
    is(await a.dr("primary/demote"), 200);
    is(await give(), 400); // where there are such tokens, it is no attempt at one
    assert.equal(at(await a.call("GET", ATTEMPT), "started"), false);
  });
});
