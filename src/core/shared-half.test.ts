// Requests that wait, in a region where what is shared is here in part for a while: whatever a request has waited for, it is not answered
// from that.

import assert from "node:assert/strict";
import test from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import type { PrimaryCluster } from "./seams.ts";
import { madeHouse } from "../../tests/support/made/made-house.ts";
import { SmallHouse } from "../../tests/support/small-house.ts";

/** What is shared here, by the word of a test. */
class Primary implements PrimaryCluster {
  readonly region = "a";
  isTorn = false;
  /** What becomes of each that waits until it is whole. */
  waited: () => boolean = () => false;

  async whole(): Promise<boolean> {
    return this.waited();
  }

  send(): Promise<never> {
    return Promise.reject(new Error("nothing is sent on here"));
  }
}

function torn() {
  const small = madeHouse();
  const primary = new Primary();
  small.primary = primary;
  return { small, primary };
}

test("at the door: what has become whole may be behind, and what was reached may be here in part by then", async () => {
  const { small, primary } = torn();
  const steps: string[] = [];
  let isReached = false;
  primary.isTorn = true;
  primary.waited = () => {
    steps.push("whole");
    primary.isTorn = false;
    return true;
  };
  small.consistency = {
    mark: () => null,
    judge: () => (isReached ? "reached" : "behind"),
    reaches: async () => {
      steps.push("reached");
      isReached = true;
      primary.isTorn = true;
      return true;
    },
  };
  const options = { token: "root", states: ["seen"] };
  assert.equal(await small.answer("GET", "/sys/things/x", options), "ok");
  assert.deepEqual(steps, ["whole", "reached", "whole"]);
});

test("at the door: it is the node as of afterwards that answers, and one where it never comes to rest answers nobody", async () => {
  const { small, primary } = torn();
  primary.isTorn = true;
  primary.waited = () => {
    small.node = { ...small.node, sealed: true };
    return true;
  };
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "sealed sealed");
  small.node = { ...small.node, sealed: false };
  let times = 0;
  primary.waited = () => ++times < 100;
  assert.equal(
    await small.answer("GET", "/sys/things/x", { token: "root" }),
    "unavailable shared-half",
  );
  assert.equal(times, 4);
});

test("a body that came while it was in part is not taken by rights that are here in part", async () => {
  const endpoint = endpointsOf<null>();
  const write = endpoint({
    name: "writeShared",
    method: "POST",
    path: "/sys/shared",
    summary: "is the primary's to write",
    access: access.capability,
    belongs: "shared",
    input: {},
    output: out.anyObject("anything"),
    handler: () => ({}),
  });
  const small = new SmallHouse(serve(null, [write]));
  small.add("root", "management");
  const primary = new Primary();
  small.primary = primary;
  const { promise, resolve } = Promise.withResolvers<void>();
  small.bodies = promise;
  const looks = small.answer("POST", "/sys/shared", { token: "root", body: {} });
  primary.isTorn = true;
  resolve();
  assert.equal(await looks, "unavailable shared-half");
});

test("who has waited for something else is answered when it is whole again, and refused where it is not", async () => {
  const { small, primary } = torn();
  for (const isMended of [true, false]) {
    const { promise, resolve } = Promise.withResolvers<void>();
    small.room.turn = promise;
    const looks = small.answer("GET", "/sys/look", { token: "root" });
    while (small.trace.at(-1) !== "run look") await Promise.resolve();
    primary.isTorn = true;
    primary.waited = () => {
      primary.isTorn = !isMended;
      return isMended;
    };
    resolve();
    assert.equal(await looks, isMended ? "ok" : "unavailable shared-half");
    small.trace.push("next");
  }
});
