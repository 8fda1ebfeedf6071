import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { SetMember } from "../stream/messages.ts";
import { standInReport } from "./stand-in-report.ts";

const ONE: SetMember = {
  cluster: "",
  name: "",
  kind: "",
  follows: "",
  region: "",
  state: "stream-wals",
  isConnected: true,
  lag: 0n,
  isLagKnown: true,
  behindFor: 0n,
  heardAgo: 0n,
  isHeard: true,
  withheld: 0,
  apiAddress: "",
  hasTold: false,
  leadsDr: false,
  leadsPerformance: false,
};
const A = { ...ONE, cluster: "a", leadsPerformance: true, hasTold: true };
const B = { ...ONE, cluster: "b", name: "site-b", kind: "dr", follows: "a" };
const C = {
  ...ONE,
  cluster: "c",
  name: "region-c",
  kind: "performance",
  follows: "a",
  hasTold: true,
};
const D = { ...ONE, cluster: "d", name: "site-d", kind: "dr", follows: "c" };

test("a primary of regions knows for each who could take its place now, and what keeps who could not", () => {
  const said = (d: object) => standInReport([A, B, C, { ...D, ...d }]).standIns;
  assert.deepEqual(
    said({}).map(({ region, name, isReady }) => [region, name, isReady]),
    [
      ["", "site-b", true],
      ["region-c", "site-d", true],
    ],
  );
  for (const [d, text] of [
    [{ isConnected: false }, /not connected/],
    [{ state: "merkle-sync" }, /does not stream/],
    [{ behindFor: 2n * MINUTE }, /more than a minute ago/],
    [{ heardAgo: 2n * MINUTE }, /not told of for a while/],
  ] as const) {
    const [, found] = said(d);
    assert.equal(found?.isReady, false);
    assert.match(found?.text ?? "", text);
  }
  assert.equal(said({ behindFor: MINUTE })[1]?.isReady, true);
});

test("a region without one is told of only where another has one, and where it has said so", () => {
  assert.deepEqual(standInReport([A, B, C]).bare, ["region-c"]);
  assert.deepEqual(standInReport([A, C, D]).bare, [""]);
  assert.deepEqual(standInReport([A, C]).bare, []);
  assert.deepEqual(standInReport([A, B, { ...C, hasTold: false }]).bare, []);
  assert.deepEqual(standInReport([A, B, C, D]).bare, []);
});

test("who is no primary of regions tells of nobody", () => {
  const nothing = { standIns: [], bare: [] };
  assert.deepEqual(standInReport([]), nothing);
  assert.deepEqual(standInReport([{ ...A, leadsPerformance: false }, B]), nothing);
  assert.deepEqual(standInReport([C, A, B, D]), nothing);
});
