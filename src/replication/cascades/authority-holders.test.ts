// Who is heard of who leads without being a member: whoever proves that it has the authority of the set, and nobody else.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { Hello } from "../../cluster/hello.ts";
import type { Peer } from "../../cluster/verify.ts";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { AuthorityHolders } from "./authority-holders.ts";

const OWN = "0b8e2f3e-0000-4000-8000-00000000000a";
const OTHER = "0b8e2f3e-0000-4000-8000-00000000000b";
const THIRD = "0b8e2f3e-0000-4000-8000-00000000000c";
const FORMERS = [{}] as unknown as Hello["formers"];

function stage() {
  const clock = new FakeClock(0n);
  const proofs = { tried: 0, holds: true };
  const members = new Set<string>();
  const holders = new AuthorityHolders({
    clock,
    version: "0.1.0",
    clusterId: () => OWN,
    secondaries: {
      isMember: ({ serial }) => members.has(serial),
      hasAuthority: () => {
        proofs.tried++;
        return proofs.holds;
      },
      assertKnown: ({ serial }) => {
        if (!members.has(serial)) throw new Error("nobody knows it");
      },
      clusterOf: ({ serial }) => `of ${serial}`,
    },
  });
  const peer = (serial: string) => ({ id: OTHER, serial }) as Peer;
  const greet = (serial: string, clusterId = OTHER, formers = FORMERS) =>
    holders.greet({ clusterId, formers } as Hello, peer(serial));
  const isHeard = (serial: string) => {
    try {
      holders.assertKnown(peer(serial));
      return true;
    } catch {
      return false;
    }
  };
  return { clock, proofs, members, holders, peer, greet, isHeard };
}

test("whoever proves that it has the authority is heard, as the cluster that it is", () => {
  const { holders, peer, greet, isHeard } = stage();
  assert.equal(isHeard("1"), false);
  assert.equal(greet("1")?.clusterId, OWN);
  assert.equal(isHeard("1"), true);
  assert.equal(holders.clusterOf(peer("1")), OTHER);
});

test("who does not prove it is nobody, and so is who proves nothing, comes as this cluster or is a member", () => {
  const { proofs, members, holders, peer, greet, isHeard } = stage();
  assert.equal(greet("1", OTHER, []), null);
  assert.equal(greet("1", OWN), null);
  members.add("2");
  assert.equal(greet("2"), null);
  assert.equal(holders.clusterOf(peer("2")), "of 2");
  assert.equal(proofs.tried, 0);
  proofs.holds = false;
  assert.equal(greet("1"), null);
  assert.equal(isHeard("1"), false);
  assert.equal(proofs.tried, 1);
});

test("it is proved once, and again by who comes as another cluster; what fails is tried six times a minute", () => {
  const { clock, proofs, greet } = stage();
  for (let i = 0; i < 20; i++) assert.notEqual(greet("1"), null);
  assert.equal(proofs.tried, 1);
  proofs.holds = false;
  assert.equal(greet("1", THIRD), null);
  assert.equal(proofs.tried, 2);
  for (let i = 0; i < 20; i++) assert.equal(greet("2"), null);
  assert.equal(proofs.tried, 8);
  clock.pass(MINUTE);
  greet("2");
  assert.equal(proofs.tried, 9);
});

test("sixteen are known, and one of them that comes again puts nobody out", () => {
  const { greet, isHeard } = stage();
  const serials = Array.from({ length: 16 }, (_, i) => String(i));
  for (const serial of serials) greet(serial);
  for (let i = 0; i < 5; i++) greet("9");
  assert.ok(serials.every(isHeard));
  greet("16");
  assert.deepEqual([isHeard("0"), isHeard("1"), isHeard("16")], [false, true, true]);
});
