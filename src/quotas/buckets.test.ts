import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Meters } from "./buckets.ts";

const SECOND = 1e9;

test("an interval's worth passes at once, then one more as often as the rate says", () => {
  const meter = new Meters().meter({ rate: 4, interval: SECOND, block: 0 });
  const passed = [0, 0, 0, 0, 0].map((now) => meter.take("a", now).admitted);
  assert.deepEqual(passed, [true, true, true, true, false]);
  assert.equal(meter.take("a", 0).retry, SECOND / 4);
  assert.equal(meter.take("a", SECOND / 4 - 1).admitted, false);
  assert.equal(meter.take("a", SECOND / 4).admitted, true);
  assert.equal(meter.take("a", SECOND / 4).admitted, false);
});

test("each client has an allowance of its own, and each quota counts for itself", () => {
  const meters = new Meters();
  const one = meters.meter({ rate: 1, interval: SECOND, block: 0 });
  const other = meters.meter({ rate: 1, interval: SECOND, block: 0 });
  assert.equal(one.take("a", 0).admitted, true);
  assert.equal(one.take("a", 0).admitted, false);
  assert.equal(one.take("b", 0).admitted, true);
  assert.equal(other.take("a", 0).admitted, true);
});

test("a rate below one lets a request through now and then", () => {
  const meter = new Meters().meter({ rate: 0.5, interval: SECOND, block: 0 });
  assert.equal(meter.take("a", 0).admitted, true);
  assert.equal(meter.take("a", 1.9 * SECOND).admitted, false);
  assert.equal(meter.take("a", 2 * SECOND).admitted, true);
});

test("with a block whoever exceeds the rate waits it out, however the bucket stands", () => {
  const meter = new Meters().meter({ rate: 1, interval: SECOND, block: 60 * SECOND });
  meter.take("a", 0);
  assert.deepEqual(meter.take("a", 0), {
    admitted: false,
    limit: 1,
    remaining: 0,
    reset: 60 * SECOND,
    retry: 60 * SECOND,
  });
  assert.equal(meter.take("a", 59 * SECOND).admitted, false);
  assert.equal(meter.take("a", 59 * SECOND).retry, SECOND); // asking does not make it longer
  assert.equal(meter.take("a", 60 * SECOND).admitted, true);
});

test("the verdict says what is left and when all of it is back", () => {
  const meter = new Meters().meter({ rate: 10, interval: 10 * SECOND, block: 0 });
  assert.deepEqual(meter.take("a", 0), {
    admitted: true,
    limit: 10,
    remaining: 9,
    reset: SECOND,
    retry: 0,
  });
});

test("10⁶ addresses do not grow the memory beyond its bound", () => {
  const meters = new Meters();
  const quotas = [1, 2, 3].map((rate) => meters.meter({ rate, interval: SECOND, block: 0 }));
  let max = 0;
  for (let i = 0; i < 1_000_000; i++) {
    quotas[i % 3]!.take(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, i);
    if (i % 10_000 === 0) max = Math.max(max, meters.size);
  }
  assert.ok(max > 65_536 && max <= 131_072, String(max));
});

test("a client that keeps asking is not forgotten among many others", () => {
  const meters = new Meters(100);
  const meter = meters.meter({ rate: 1, interval: 1e15, block: 0 });
  assert.equal(meter.take("constant", 0).admitted, true);
  for (let i = 0; i < 10_000; i++) {
    meter.take(`other-${i}`, i);
    if (i % 50 === 0) assert.equal(meter.take("constant", i).admitted, false);
  }
  assert.ok(meters.size <= 200);
});

test("over any stretch of time no more passes than one burst and the rate times the stretch", () => {
  const waits = fc.array(fc.integer({ min: 0, max: 3e8 }), { minLength: 1, maxLength: 200 });
  const rates = fc.double({ min: 0.1, max: 20, noNaN: true });
  fc.assert(
    fc.property(rates, waits, (rate, steps) => {
      const meter = new Meters().meter({ rate, interval: SECOND, block: 0 });
      let now = 0;
      let passed = 0;
      for (const step of steps) {
        now += step;
        if (meter.take("a", now).admitted) passed++;
        assert.ok(passed <= Math.max(1, rate) + (rate * now) / SECOND + 1e-6);
      }
    }),
  );
});

test("whoever waits as long as told is let in", () => {
  const rates = fc.double({ min: 0.001, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(rates, fc.integer({ min: 1, max: 3600 }), (rate, seconds) => {
      const meter = new Meters().meter({ rate, interval: seconds * SECOND, block: 0 });
      let now = 0;
      let verdict = meter.take("a", now);
      for (let i = 0; verdict.admitted && i < 50; i++) verdict = meter.take("a", now);
      for (let i = 0; !verdict.admitted && i < 3; i++) {
        now += verdict.retry;
        assert.equal(meter.take("a", now).admitted, true);
        verdict = meter.take("a", now);
      }
    }),
  );
});
