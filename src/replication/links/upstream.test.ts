import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { readActivation } from "../joining/activation.ts";
import { makeToken } from "../joining/activation-token.ts";
import { putSiblings, putUpstream, readable, storedSiblings, storedUpstream } from "./upstream.ts";

test("who follows another primary knows none of those beside the one before", async () => {
  const stage = await SetStage.start();
  const { random } = stage.made.world;
  const place = { address: ADDRESS, epoch: EPOCH };
  const token = await makeToken(stage.secondaries, { id: "berlin" }, place, random);
  assert.ok(token.form === "wrapped");
  const member = readActivation(token.wrap, "dr", { now: stage.clock.now() });
  const { barrier } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const siblings = [
    { id: "rome", cluster: "", addresses: ["https://10.1.2.3:8201"], serials: ["4a"] },
  ];
  await view.write((tx) => putSiblings(tx, siblings));
  assert.deepEqual(storedSiblings(view), siblings);
  await view.write((tx) => putUpstream(tx, { member, keysKey: makeHpkeKeys(random).privateKey }));
  assert.equal(storedUpstream(view)?.member.id, "berlin");
  assert.deepEqual(storedSiblings(view), []);
});

test("of what a primary says of another member only ids and addresses are kept", () => {
  const cluster = "0b8e2f3e-0000-4000-8000-000000000002";
  const right = { id: "paris", cluster, addresses: ["https://10.0.0.9:8201"], serials: ["4a"] };
  assert.deepEqual(readable(right), right);
  const text = "10.0.0.9:8201\n\u001b[31mrun this";
  const wrong = { id: text, cluster: text, addresses: [text], serials: ["4a"] };
  assert.deepEqual(readable(wrong), { id: "", cluster: "", addresses: [], serials: ["4a"] });
});
