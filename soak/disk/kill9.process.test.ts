// The short form of the kill experiment: the long one is npm run soak -- kill9.

import assert from "node:assert/strict";
import { test } from "node:test";
import { kill9 } from "./kill9.ts";

const seed = 20261115;
const say = () => {};

test("no acknowledged write is lost when the process is killed at random moments", async () => {
  const result = await kill9({ cycles: 6, clients: 16, seed, say });
  assert.ok(result.ok, result.detail ?? result.figure);
});

test("the experiment notices a process that acknowledges before its commit", async () => {
  const result = await kill9({ cycles: 40, clients: 16, seed, plant: "ack-early", say });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /was acknowledged/);
});
