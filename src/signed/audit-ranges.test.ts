import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { processorTime } from "../../tests/support/processor-time.ts";
import { mayBeOne } from "./audit-chains.ts";
import { checkAuditFiles } from "./audit-check.ts";
import { RecordRanges } from "./audit-ranges.ts";

test("records that are there are found: of the device and a chain that may be the same, or where the checkpoint stands", () => {
  const chain = fc.constantFrom(null, "a", "b");
  const range = fc.tuple(fc.constantFrom("d/", "e/"), fc.integer({ min: 1, max: 30 }), fc.nat(4));
  const stretches = fc.array(fc.tuple(chain, fc.array(range, { maxLength: 3 })), { minLength: 1 });
  fc.assert(
    fc.property(stretches, range, fc.nat(), (all, [device, first, more], which) => {
      const ranges = new RecordRanges();
      const seen = new Map<string, { device: string; stretch: number; from: number; to: number }>();
      const made = all.map(([name]) => ({ chain: name, before: null, last: null }));
      for (const [i, [, own]] of all.entries()) {
        for (const [name, from, length] of own) {
          for (const number of [from, from + length]) {
            ranges.seen(name, made[i]!, number);
            const known = seen.get(`${name} ${i}`) ?? { device: name, stretch: i, from, to: from };
            const [low, high] = [Math.min(known.from, number), Math.max(known.to, number)];
            seen.set(`${name} ${i}`, { ...known, from: low, to: high });
          }
        }
      }
      const place = which % made.length;
      const last = first + more;
      const expected = Array.from(seen.values()).some((one) => {
        const isThere = one.from <= last && one.to >= first;
        const isOne = one.device === device && mayBeOne(made[one.stretch], made[place]);
        return isThere && (isOne || one.stretch === place);
      });
      const wanted = { device, stretch: made[place]!, first, last };
      assert.equal(ranges.holdSomeOf(wanted), expected);
    }),
  );
});

test("a file that starts a chain with every line, each of another device, takes as much longer as it is longer", () => {
  const mac = "ab".repeat(32);
  const took = (count: number): number => {
    const all = Array.from({ length: count }, (_, i) =>
      Buffer.from(
        `{"type":"chain","event":"started","device":"d${i}/","previous":{"number":0,"mac":""},"number":1,"mac":"${mac}"}\n`,
      ),
    );
    const began = processorTime();
    const [finding] = checkAuditFiles([{ name: "f", lines: () => all }], {
      keys: new Map(),
      fingerprint: null,
    });
    assert.equal(finding?.text, "no checkpoint covers any of it");
    return processorTime() - began;
  };
  // The best of some counts: four times as much is at most ten times as long, and not sixteen.
  const seen: number[] = [];
  for (let i = 0; i < 5; i++) {
    seen.push(took(40_000) / took(10_000));
    if (seen.at(-1)! < 10) return;
  }
  assert.fail(seen.join());
});
