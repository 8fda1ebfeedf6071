// Global tokens that were made in the first region a moment ago, shown in the second before they have come there.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { STRAIGHT, type Way } from "../../../src/cluster/memory-carrier.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type TwoRegions, twoRegions } from "../../support/replication/regions/two-regions.ts";
import { until } from "../../support/until.ts";

const SELF = "/v1/acl/token/self";
const GUESS = "7d7e1d4c-6f8a-4f7e-9b7f-3f6d6a1b2c3d";

async function newToken({ a, root }: TwoRegions, fields: object = {}): Promise<string> {
  const body = { Type: "client", Policies: ["p"], Global: true, ...fields };
  const made = await a.call("POST", "/v1/acl/token", { token: root, body });
  assert.equal(made.status, 200, made.text);
  return String(at(made, "SecretID"));
}

/** What goes to the first region. */
function watched(): { readonly way: Way; readonly sent: Uint8Array[] } {
  const sent: Uint8Array[] = [];
  const way: Way = {
    ...STRAIGHT,
    pass: async (to, message) => {
      if (to === "server") sent.push(Buffer.from(message));
    },
  };
  return { way, sent };
}

test("a token that has not come yet is waited for, and only its salted hash was sent", async (t) => {
  const { way, sent } = watched();
  const regions = await twoRegions(t, { way });
  regions.hold();
  const token = await newToken(regions);
  sent.length = 0;
  const reading = regions.b.call("GET", SELF, { token });
  await until(() => sent.length === 1);
  await regions.release();
  const read: Answer = await reading;
  assert.equal(read.status, 200, read.text);
  assert.equal(at(read, "Global"), true);
  for (const message of sent) {
    const text = Buffer.from(message).toString("latin1");
    assert.ok(!text.includes(token) && !text.includes(token.replaceAll("-", "")));
  }
});

test("it is waited for as long as for what is written, and then refused", async (t) => {
  const regions = await twoRegions(t);
  const { b, primary } = regions;
  regions.hold();
  primary.hurries = true;
  const token = await newToken(regions);
  assert.equal((await b.call("GET", SELF, { token })).status, 403);
  assert.equal(primary.waited, 2n * SECOND);
});

test("a guess is 403 and is asked for once; so is a token of the first region alone (T-B02)", async (t) => {
  const { way, sent } = watched();
  const regions = await twoRegions(t, { way });
  const { b } = regions;
  const own = await newToken(regions, { Global: false });
  sent.length = 0;
  for (const [n, token] of [GUESS, own].entries()) {
    assert.equal((await b.call("GET", SELF, { token })).status, 403);
    assert.equal(sent.length, n + 1);
  }
  await regions.cut();
  for (const token of [own, GUESS.replace("7", "8")]) {
    assert.equal((await b.call("GET", SELF, { token })).status, 403);
  }
});

test("nobody is asked about a token that is known, nor where none is needed", async (t) => {
  const { way, sent } = watched();
  const regions = await twoRegions(t, { way });
  const { b, root } = regions;
  sent.length = 0;
  assert.equal((await b.call("GET", SELF, { token: root })).status, 200);
  assert.equal((await b.call("GET", "/v1/sys/health", { token: GUESS })).status, 200);
  assert.equal((await b.call("GET", "/v1/acl/replication", { token: GUESS })).status, 200);
  assert.deepEqual(sent, []);
});

test("what is asked is a hash, and a cluster that leaves tokens to another one answers nobody", async (t) => {
  const regions = await twoRegions(t);
  const { primary, a, b } = regions;
  const { signal } = new AbortController();
  const refused = (error: { readonly code?: string }) => error.code === "primary-unreachable";
  for (const hash of ["", "x".repeat(64), "A".repeat(64), "0".repeat(63)]) {
    await assert.rejects(primary.knows(hash, "192.0.2.7", signal), refused);
  }
  assert.equal(await primary.knows("0".repeat(64), "192.0.2.7", signal), null);
  const hashOf = async (fields: object) =>
    a.server.tokens.salt.hashOf(await newToken(regions, fields));
  const { knows } = a.server.forwarded;
  assert.equal(await knows("0".repeat(64), "b"), false);
  assert.equal(await knows(await hashOf({}), "b"), true);
  assert.equal(await knows(await hashOf({ Global: false }), "b"), false);
  assert.equal(await b.server.forwarded.knows("0".repeat(64), "b"), null);
});
