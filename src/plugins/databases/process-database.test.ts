import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseError } from "@holdfast/plugin-sdk/database";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { type HeldProcess, UnsentCall } from "../ports.ts";
import { ProcessDatabase } from "./process-database.ts";

const NEVER = new AbortController().signal;

async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  await Promise.reject(error);
  yield new Uint8Array();
}

test("what came of a call is told exactly: what the plugin said, that nothing was sent, or that nobody knows", async () => {
  const fateOf = async (error: Error): Promise<string> => {
    const held = {
      channel: { exchange: () => failing(error) },
      end: null,
    } as unknown as HeldProcess;
    const instance = new ProcessDatabase({ name: "p", version: "" }, held);
    const caught: unknown = await instance
      .deleteUser({ username: "u", statements: [] }, NEVER)
      .catch((cause: unknown) => cause);
    assert.ok(caught instanceof DatabaseError, String(caught));
    return `${caught.fate} ${caught.reason}`;
  };
  const said = { isSaid: true };
  assert.equal(await fateOf(new StatusError(Status.notFound, "x", said)), "answered missing");
  assert.equal(
    await fateOf(new StatusError(Status.unavailable, "x", said)),
    "answered unreachable",
  );
  assert.equal(await fateOf(new StatusError(Status.internal, "x", said)), "answered unknown");
  // A call that we gave up: the user may be gone by now, or not.
  for (const status of [Status.unavailable, Status.deadlineExceeded, Status.notFound]) {
    assert.equal(await fateOf(new StatusError(status, "x")), "lost unreachable");
  }
  assert.equal(await fateOf(new UnsentCall(Status.unavailable, "x")), "unsent unreachable");
});
