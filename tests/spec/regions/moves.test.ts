// How a move of a mount stands, asked in a region that has only sent it on.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { ask } from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

const STATUS = ["data", "migration_info", "status"] as const;

test("the move of a shared mount is told of where it was asked for, and that of a local one where the mount is", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  const own = { type: "kv", local: true };
  assert.equal((await ask(b, root, "POST", "sys/mounts/own", own)).status, 204);
  for (const [from, other] of [
    ["secret", 200],
    ["own", 404],
  ] as const) {
    const moved = await ask(b, root, "POST", "sys/remount", { from, to: `${from}-moved` });
    assert.equal(moved.status, 200, moved.text);
    const path = `sys/remount/status/${String(at(moved, "data", "migration_id"))}`;
    await until(async () => {
      const read = await ask(b, root, "GET", path);
      assert.equal(read.status, 200, read.text);
      return at(read, ...STATUS) === "success";
    });
    assert.equal((await ask(a, root, "GET", path)).status, other);
  }
  const unknown = "sys/remount/status/5f3d2c10-0000-4000-8000-0000000000aa";
  assert.equal((await ask(b, root, "GET", unknown)).status, 404);
});
