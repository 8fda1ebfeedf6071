// What a rehearsal says to do next, and in which order.

import assert from "node:assert/strict";
import test from "node:test";
import type { PromotionFacts } from "./checks.ts";
import { rehearsed } from "./rehearsal.ts";

const FACTS: PromotionFacts = {
  opens: true,
  copied: true,
  between: null,
  equal: null,
  applied: 90n,
  announced: 90n,
  final: null,
  silentFor: null,
  unheardFor: null,
  isHeard: true,
  refusal: null,
  hasPrimary: true,
  superseded: false,
  leader: { number: 3, cluster: "0b8e2f3e-0000-4000-8000-000000000001" },
  nameOf: () => "",
  hasPort: true,
  audits: true,
  changing: false,
  siblings: null,
};
const API = "https://a.example:8200";

test("a primary that is there is demoted first; one that is silent cannot be, and is waited for", () => {
  const [first] = rehearsed(FACTS, API, "dr").next;
  assert.equal(first, `on the primary (${API}): holdfast replication demote`);
  const silent = rehearsed({ ...FACTS, silentFor: 3, unheardFor: 3 }, API, "dr").next;
  assert.match(
    silent[0] ?? "",
    /^here: wait until the primary was silent for 15 seconds; where it/,
  );
  const gone = rehearsed({ ...FACTS, silentFor: 15, unheardFor: 15 }, API, "dr");
  assert.equal(gone.ready, true);
  assert.equal(gone.next[0], "here: holdfast replication promote -dr-token FILE");
});

test("who is to follow makes its key first, with a ticket of whoever leads then, before a token is made for it", () => {
  const { next } = rehearsed({ ...FACTS, final: 90n }, API, "dr");
  assert.deepEqual(next.slice(1), [
    "here: holdfast replication ticket -field ticket generate-public-key update-primary > FILE",
    "there, on each cluster that is to follow: holdfast replication public-key -dr-token FILE",
    "here: holdfast replication token -public-key KEY ID",
    "there: holdfast replication update-primary -dr-token FILE @TOKEN",
  ]);
  const region = rehearsed({ ...FACTS, final: 90n }, API, "performance").next;
  assert.doesNotMatch(region.join(), /ticket|FILE/);
});

test("one second is a second", () => {
  const text = (silentFor: number) =>
    rehearsed({ ...FACTS, silentFor, unheardFor: silentFor }, API, "dr").checks.find(
      ({ ok }) => !ok,
    )?.text;
  assert.match(text(1) ?? "", /heard of 1 second ago: .* wait 14 seconds more/);
  assert.match(text(14) ?? "", /heard of 14 seconds ago: .* wait 1 second more/);
});

test("a secondary that lacks something of a primary that is there streams before that one is demoted", () => {
  const { next } = rehearsed({ ...FACTS, announced: 95n }, API, "dr");
  assert.deepEqual(next.slice(0, 4), [
    "here: holdfast replication status, until it streams",
    `on the primary (${API}): holdfast replication demote`,
    "here: holdfast replication status, until nothing is missing",
    "here: holdfast replication promote -dr-token FILE",
  ]);
  const first = rehearsed({ ...FACTS, announced: 95n, copied: false }, API, "dr").next;
  assert.equal(first.filter((line) => /until it streams/.test(line)).length, 1);
  const silent = rehearsed({ ...FACTS, announced: 95n, silentFor: 20, unheardFor: 20 }, API, "dr");
  assert.doesNotMatch(silent.next.join(), /until it streams/);
});
