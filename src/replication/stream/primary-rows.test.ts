// What a secondary makes of a primary that does not know what it is asked.

import assert from "node:assert/strict";
import test from "node:test";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { PrimaryRows } from "./primary-rows.ts";
import type { Connection, LinkParts } from "./receiving.ts";

function rowsOf(status: StatusError["status"]): PrimaryRows {
  const call = () => Promise.reject(new StatusError(status, "no such method"));
  const connection = { link: { call }, epoch: 1, signal: new AbortController().signal };
  return new PrimaryRows({} as LinkParts, connection as unknown as Connection);
}

test("a primary of an earlier version withholds nothing, and lifts nothing that is withheld", async () => {
  const earlier = rowsOf(Status.unimplemented);
  const nothing = { version: "", isSame: true, mounts: [], namespaces: [] };
  assert.deepEqual(await earlier.withheld(""), nothing);
  await assert.rejects(earlier.withheld("5f"), /no such method/);
  await assert.rejects(rowsOf(Status.unavailable).withheld(""), /no such method/);
});
