import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { EnforcementLevel } from "../../endpoint/judgement.ts";
import type { Verdict } from "../../program/program.ts";
import { conclude, type Judged } from "./judging.ts";

const ADVISORY = "advisory";
const SOFT = "soft-mandatory";
const HARD = "hard-mandatory";

function judged(level: EnforcementLevel, passed: boolean, change: Partial<Verdict> = {}): Judged {
  const verdict = { passed, error: null, description: "", rules: [], steps: 1, ...change };
  return { policy: { kind: "egp", namespaceId: "root", name: `a-${level}` }, level, verdict };
}

function allowed(override: boolean, ...levels: readonly EnforcementLevel[]): boolean {
  const failing = levels.map((level) => judged(level, false));
  return conclude(failing, { override, trace: true }).allowed;
}

test("what a failure does at each level, with and without the override (99 to 103)", () => {
  assert.deepEqual([allowed(false, ADVISORY), allowed(true, ADVISORY)], [true, true]);
  assert.deepEqual([allowed(false, SOFT), allowed(true, SOFT)], [false, true]);
  assert.deepEqual([allowed(false, HARD), allowed(true, HARD)], [false, false]);
  assert.equal(allowed(true, SOFT, SOFT), true);
  // Elsewhere a soft failure that was overridden took the hard one along (T-C04).
  assert.equal(allowed(true, SOFT, HARD), false);
  assert.equal(allowed(true, HARD, SOFT), false);
  assert.equal(allowed(true, ADVISORY, HARD, SOFT), false);
});

test("a program that errors has failed at its level", () => {
  const broken = (level: EnforcementLevel, override: boolean) =>
    conclude([judged(level, false, { error: "no such key: team" })], { override, trace: true });
  assert.equal(broken(ADVISORY, false).allowed, true);
  assert.equal(broken(SOFT, false).allowed, false);
  assert.equal(broken(SOFT, true).allowed, true);
  assert.equal(broken(HARD, true).allowed, false);
  assert.match(broken(HARD, false).denial, /The specific error was:\nno such key: team\n/);
});

test("nothing fails: nothing is told, and no override was needed", () => {
  const all = [judged(ADVISORY, true), judged(SOFT, true), judged(HARD, true)];
  const {
    allowed: passes,
    denial,
    warnings,
    overrideNeeded,
  } = conclude(all, {
    override: true,
    trace: true,
  });
  assert.deepEqual([passes, denial, warnings, overrideNeeded], [true, "", [], false]);
});

test("a denial lists every mandatory policy that failed, and no advisory one", () => {
  const all = [judged(SOFT, false), judged(ADVISORY, false), judged(HARD, false)];
  const { denial, warnings, overrideNeeded } = conclude(all, { override: true, trace: false });
  assert.equal(
    denial,
    '3 errors occurred:\n\t* egp standard policy "root/a-soft-mandatory" evaluation resulted in denial.\n' +
      '\t* egp standard policy "root/a-hard-mandatory" evaluation resulted in denial.\n' +
      "\t* permission denied\n\n",
  );
  assert.deepEqual(warnings, ['advisory egp policy "root/a-advisory" failed']);
  assert.equal(overrideNeeded, true);
});

test("it is denied exactly if a hard one failed, or a soft one without an override", () => {
  const level = fc.constantFrom<EnforcementLevel>(ADVISORY, SOFT, HARD);
  const verdicts = fc.array(fc.tuple(level, fc.boolean()), { maxLength: 8 });
  fc.assert(
    fc.property(verdicts, fc.boolean(), (rows, override) => {
      const all = rows.map(([one, passed]) => judged(one, passed));
      const failed = (wanted: string) => rows.some(([one, ok]) => one === wanted && !ok);
      const { allowed: passes, results, denial } = conclude(all, { override, trace: true });
      assert.equal(passes, !failed(HARD) && (override || !failed(SOFT)));
      assert.equal(results.length, rows.length);
      assert.equal(denial === "", passes);
    }),
  );
});
