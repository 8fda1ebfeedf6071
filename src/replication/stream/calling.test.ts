// What was seen of a primary that is called at several addresses, and answers at none.

import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { peerOther, peerSealed } from "../../cluster/failures.ts";
import { PrimaryCalls } from "./calling.ts";
import type { HelloAnswer } from "../../cluster/hello.ts";
import type { CallOutcome, LinkParts } from "./receiving.ts";

const AT: Readonly<Record<string, () => Error>> = {
  other: () => peerOther("it does not speak HTTP/2"),
  sealed: () => peerSealed(),
  nobody: () => new Error("connection refused"),
};

async function seen(addresses: readonly string[], how: "look" | "dial"): Promise<CallOutcome> {
  const outcomes: CallOutcome[] = [];
  const link = (address: string) => ({
    hasMet: false,
    came: 0,
    ping: () => {},
    isReached: true,
    open: async () => {
      throw AT[address]!();
    },
    close: async () => {},
  });
  const ports = {
    open: link,
    addresses: () => addresses,
    called: (outcome: CallOutcome) => void outcomes.push(outcome),
  };
  const parts = { ...fakeWorld(), ports } as unknown as LinkParts;
  const calls = new PrimaryCalls(parts, () => ({ clusterId: "", version: "" }));
  const { signal } = new AbortController();
  if (how === "look") assert.equal(await calls.look(signal), false);
  else await assert.rejects(calls.dial(signal));
  assert.equal(outcomes.length, 1);
  return outcomes[0]!;
}

for (const how of ["look", "dial"] as const) {
  test(`${how}: a sealed cluster says more than another server, and that more than nobody, wherever they are`, async () => {
    const kindOf = async (...addresses: string[]) => {
      const outcome = await seen(addresses, how);
      assert.equal(outcome.kind, "nobody");
      return outcome.kind === "nobody" ? (outcome.seen?.kind ?? null) : null;
    };
    assert.equal(await kindOf("nobody", "other", "sealed"), "sealed");
    assert.equal(await kindOf("sealed", "other", "nobody"), "sealed");
    assert.equal(await kindOf("nobody", "other"), "other");
    assert.equal(await kindOf("nobody"), null);
  });
}

/** Links by their addresses, and those that were not closed. */
function stage(addresses: readonly string[]) {
  const left = new Set<string>();
  const open = (address: string) => ({
    hasMet: true,
    came: 0,
    ping: () => {},
    isReached: true,
    open: async () => {
      left.add(address);
      const failure = AT[address];
      if (failure !== undefined) throw failure();
      const isRefused = address.startsWith("refuses");
      const decision = { kind: "refuse", fork: 0n, chain: new Uint8Array(0), reason: "no" };
      return { decision: isRefused ? decision : null } as unknown as HelloAnswer;
    },
    close: async () => void left.delete(address),
  });
  const ports = { open, addresses: () => addresses };
  const parts = { ...fakeWorld(), ports } as unknown as LinkParts;
  const calls = new PrimaryCalls(parts, () => ({ clusterId: "", version: "" }));
  return { calls, left, signal: new AbortController().signal };
}

test("nothing stays open to whom was called, but to the one that is gone on with", async () => {
  const some = ["nobody", "refuses 1", "refuses 2", "other"];
  const looking = stage([...some, "takes"]);
  assert.equal(await looking.calls.look(looking.signal), true);
  assert.deepEqual([...looking.left], []);
  const dialling = stage([...some, "takes"]);
  assert.equal((await dialling.calls.dial(dialling.signal)).address, "takes");
  assert.deepEqual([...dialling.left], ["takes"]);
  const refused = stage(some);
  assert.equal((await refused.calls.dial(refused.signal)).address, "refuses 1");
  assert.deepEqual([...refused.left], ["refuses 1"]);
  const missed = stage(["nobody", "other"]);
  await assert.rejects(missed.calls.dial(missed.signal));
  assert.deepEqual([...missed.left], []);
});
