// What is kept of a tail that is given up, until somebody else has it.

import assert from "node:assert/strict";
import test from "node:test";
import { text, utf8 } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { Orphans } from "./orphans.ts";

test("what was kept first stays when it is kept again, and is counted once, also after a start", async () => {
  const { barrier, world } = await madeBarrier();
  const local = barrier.view("local/");
  const view = barrier.view("core/replication/dr/orphans/");
  const outside = { standsFor: (key: string) => key.startsWith("leases/") } as never;
  const begun = () => {
    const orphans = new Orphans({ view, local, outside, ...world });
    orphans.load();
    return orphans;
  };
  const put = (key: string, value: string) =>
    local.write((tx) => tx.put(key, utf8(value), bytesCodec));
  const keys = ["local/leases/a", "local/leases/gone", "local/other", "shared/leases/b"];
  await put("leases/a", "of the tail");
  await put("other", "x");
  const orphans = begun();
  await orphans.keep(keys);
  await put("leases/a", "of the primary"); // half of the rows were given up when the power failed
  const again = begun();
  await again.keep(keys);
  const rows = again.batch();
  assert.deepEqual(
    rows.map(({ key, value }) => [key, text(value)]),
    [["leases/a", "of the tail"]],
  );
  assert.deepEqual([orphans.waiting, again.waiting, begun().waiting], [1, 1, 1]);
  await again.settle(rows);
  assert.deepEqual([again.waiting, again.batch()], [0, []]);
});
