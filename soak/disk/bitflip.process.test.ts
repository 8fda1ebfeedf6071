// The short form of the damage experiment: the long one is npm run soak -- bitflip.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bitflip } from "./bitflip.ts";

const seed = 20261115;
const say = () => {};

test("no damaged file makes the store serve a wrong answer", async () => {
  const result = await bitflip({ images: 40, seed, say });
  assert.ok(result.ok, result.detail ?? result.figure);
});

test("the experiment notices a store that takes a vanished key for an absent one", async () => {
  const result = await bitflip({ images: 120, seed, plant: "no-leaf-check", say });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /silently vanished/);
});
