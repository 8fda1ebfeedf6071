// Which facts keep a secondary from being promoted, what force goes on without, and in which words.

import assert from "node:assert/strict";
import test from "node:test";
import {
  type PromotionFacts,
  promotionChecks,
  promotionRefusal,
  skipped,
  unreachedWarnings,
} from "./checks.ts";

const NOBODY = { later: null, candidates: [], unreached: [], demoted: null };
const READY: PromotionFacts = {
  opens: true,
  copied: true,
  between: null,
  equal: true,
  applied: 90n,
  announced: 90n,
  final: 90n,
  silentFor: null,
  unheardFor: null,
  isHeard: true,
  refusal: null,
  hasPrimary: true,
  superseded: false,
  leader: { number: 3, cluster: "cluster-a" },
  nameOf: (cluster) => (cluster === "cluster-d" ? "site-d" : ""),
  hasPort: true,
  audits: true,
  changing: false,
  siblings: NOBODY,
};

const CASES: readonly (readonly [
  name: string,
  facts: Partial<PromotionFacts>,
  kind: string,
  forced: boolean,
])[] = [
  ["keys", { opens: false }, "invalid", false],
  ["copied", { copied: false }, "invalid", true],
  ["whole", { between: "indexes" }, "invalid", true],
  ["whole", { between: "states" }, "invalid", false],
  ["whole", { between: "indexes", needsWhole: true }, "invalid", false],
  ["copied", { copied: false, needsWhole: true }, "invalid", false],
  ["equal", { equal: false }, "invalid", true],
  ["complete", { announced: 95n }, "unavailable", true],
  ["primary-gone", { final: null }, "invalid", true],
  ["siblings", { siblings: { ...NOBODY, later: { number: 4, cluster: "c" } } }, "invalid", true],
  ["siblings", { siblings: { ...NOBODY, candidates: ["cluster-c"] } }, "invalid", true],
  ["cluster-port", { hasPort: false }, "invalid", false],
  ["audit", { audits: false }, "invalid", false],
  ["alone", { changing: true }, "invalid", false],
];

test("whoever is ready is promoted", () => {
  assert.equal(promotionRefusal(promotionChecks(READY), false), null);
  assert.deepEqual(skipped(promotionChecks(READY)), []);
});

for (const [name, facts, kind, forced] of CASES) {
  test(`check "${name}": ${JSON.stringify(Object.values(facts)[0], (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))}`, () => {
    const checks = promotionChecks({ ...READY, ...facts });
    const failed = checks.filter(({ ok }) => !ok);
    assert.deepEqual(
      failed.map((check) => check.name),
      [name],
    );
    const refusal = promotionRefusal(checks, false);
    const code = kind === "invalid" ? "refused" : "early";
    assert.deepEqual([refusal?.kind, refusal?.code], [kind, `replication-promotion-${code}`]);
    assert.match(refusal?.message ?? "", new RegExp(`^check "${name}": `));
    assert.equal(promotionRefusal(checks, true) === null, forced);
    assert.equal(skipped(checks).length, forced ? 1 : 0);
  });
}

test("a primary is gone when it was demoted and all of it is here, or was silent on all addresses for 15 seconds; one that is not followed is not known to be", () => {
  const gone = (facts: Partial<PromotionFacts>) =>
    promotionRefusal(promotionChecks({ ...READY, final: null, ...facts }), false) === null;
  assert.equal(gone({ silentFor: 15 }), true);
  assert.equal(gone({ silentFor: 14 }), false);
  assert.equal(gone({ silentFor: 15, refusal: "revoked" }), false, "who refuses is there");
  assert.equal(gone({ final: 90n }), true);
  assert.equal(gone({ final: 91n }), false, "its last entries are not here");
  assert.equal(gone({ hasPrimary: false, silentFor: 100 }), false);
  assert.equal(gone({ hasPrimary: false, final: 90n }), true);
  assert.equal(gone({ superseded: true, final: 90n }), false, "another one leads by now");
  assert.equal(gone({ superseded: true, silentFor: 100 }), false);
  const [sign] = skipped(promotionChecks({ ...READY, final: null, hasPrimary: false }));
  assert.match(sign ?? "", /cluster cluster-a leads the set in epoch 3/);
});

test("who does not answer keeps nobody from being promoted, and is named", () => {
  const siblings = { ...NOBODY, unreached: ["https://c.example:8201", ""] };
  const facts = { ...READY, siblings };
  assert.equal(promotionRefusal(promotionChecks(facts), false), null);
  const [first, second] = unreachedWarnings(facts);
  assert.match(first ?? "", /at https:\/\/c\.example:8201, did not answer/);
  assert.match(second ?? "", /whose address is not known, did not answer/);
  assert.deepEqual(unreachedWarnings({ siblings: null }), []);
  const named = (count: number) =>
    unreachedWarnings({
      siblings: {
        ...NOBODY,
        unreachedNamed: Array.from({ length: count }, (_, i) => `https://10.0.0.${i}:8201`),
      },
    });
  assert.equal(named(64).length, 1, "one line, whoever has invented them");
  assert.match(
    named(64)[0]!,
    /^64 other secondaries .* only other members name, at .* and 56 more/,
  );
  assert.match(named(1)[0]!, /^1 other secondary .*, at https:\/\/10\.0\.0\.0:8201, did not/);
  const [primary] = unreachedWarnings({
    siblings: { ...siblings, demoted: "https://a.example:8201" },
  });
  assert.match(primary ?? "", /was demoted, at https:\/\/a\.example:8201, did not answer/);
  const sealed = ["https://a.example:8201", "https://c.example:8201"];
  const both = { ...siblings, demoted: "https://a.example:8201", sealed };
  const [of, other, unknown] = unreachedWarnings({ siblings: both });
  assert.match(of ?? "", /was demoted, at https:\/\/a\.example:8201, is sealed/);
  assert.match(other ?? "", /at https:\/\/c\.example:8201, is sealed/);
  assert.match(unknown ?? "", /whose address is not known, did not answer/);
});

test("one that was not heard of since the start is not said to have been", () => {
  const sign = (facts: Partial<PromotionFacts>) =>
    skipped(promotionChecks({ ...READY, final: null, silentFor: 0, ...facts })).join();
  assert.match(sign({ isHeard: true }), /was heard of 0 seconds ago/);
  assert.match(sign({ isHeard: false }), /not heard of since this server began 0 seconds ago: /);
  const before = sign({ isHeard: false, unheardFor: 3600 });
  assert.match(before, /not heard of since this server began.*for 3600 seconds in all/);
});

test("what would be lost is named by its indexes", () => {
  const checks = promotionChecks({ ...READY, announced: 95n });
  assert.match(skipped(checks).join(), /entries 91 to 95 of the primary are missing/);
});

test("a cluster is told by the name that it has here, where it has one", () => {
  const text = (facts: Partial<PromotionFacts>, of: string) =>
    promotionChecks({ ...READY, ...facts }).find(({ name }) => name === of)?.text;
  const candidates = ["cluster-c", "cluster-d"];
  const later = { number: 4, cluster: "cluster-d" };
  assert.match(
    text({ siblings: { ...NOBODY, candidates } }, "siblings") ?? "",
    /^cluster cluster-c and site-d \(cluster cluster-d\) is about to be promoted/,
  );
  assert.match(
    text({ siblings: { ...NOBODY, later } }, "siblings") ?? "",
    /^site-d \(cluster cluster-d\) leads the set in epoch 4/,
  );
  assert.match(
    text({ superseded: true, leader: later }, "primary-gone") ?? "",
    /^site-d \(cluster cluster-d\) leads/,
  );
});
