// That the damage experiment catches what it is for; the experiment itself is npm run soak -- bitflip.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bitflip } from "./bitflip.ts";

test("the experiment notices a store that takes a vanished key for an absent one", async () => {
  const options = { images: 120, seed: 20261115, say: () => {} };
  const result = await bitflip({ ...options, plant: "no-leaf-check" });
  assert.equal(result.ok, false);
  assert.match(result.detail ?? "", /silently vanished/);
});
