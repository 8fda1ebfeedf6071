// What the log says of two clusters that come as one secondary.

import assert from "node:assert/strict";
import test from "node:test";
import { quietEcho } from "../../../tests/support/replication/quiet-echo.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { echo } from "./messages.ts";

test("where nobody knows where the two come from, no empty address is logged", async (t) => {
  const pair = await ReplicatedPair.make();
  t.after(() => pair.close());
  const link = pair.link("primary");
  await link.open({ clusterId: "b", version: "0.1.0", epoch: 1 });
  for (const instance of ["one", "two", "one"]) {
    await link.call(echo, quietEcho(instance));
  }
  await link.close();
  const lines = pair.world.lines.filter((line) => line.includes("secondary-duplicated"));
  assert.equal(lines.length, 1);
  assert.doesNotMatch(lines[0] ?? "", /from=/);
});
