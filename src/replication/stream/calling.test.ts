// What was seen of a primary that is called at several addresses, and answers at none.

import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { peerOther, peerSealed } from "../../cluster/failures.ts";
import { PrimaryCalls } from "./calling.ts";
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
