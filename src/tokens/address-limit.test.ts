import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { AddressLimit } from "./address-limit.ts";

const TENTH = 100_000_000n;

function retryOf(call: () => void): number | null {
  try {
    call();
    return null;
  } catch (error) {
    assert.ok(error instanceof Failure && error.kind === "rate-limited");
    return error.retryAfter;
  }
}

test("fifty at once, then ten a second, each address by itself", () => {
  const clock = new FakeClock();
  const limit = new AddressLimit({ clock });
  for (let i = 0; i < 50; i += 1) limit.take("10.0.0.1");
  assert.equal(
    retryOf(() => limit.take("10.0.0.1")),
    1,
  );
  limit.take("10.0.0.2");
  clock.pass(TENTH - 1n);
  assert.equal(
    retryOf(() => limit.take("10.0.0.1")),
    1,
  );
  clock.pass(1n);
  limit.take("10.0.0.1");
  assert.equal(
    retryOf(() => limit.take("10.0.0.1")),
    1,
  );
  clock.pass(100n * TENTH);
  for (let i = 0; i < 50; i += 1) limit.take("10.0.0.1");
  assert.notEqual(
    retryOf(() => limit.take("10.0.0.1")),
    null,
  );
});

test("what failed is counted afterwards, and looking costs nothing", () => {
  const clock = new FakeClock();
  const limit = new AddressLimit({ clock, perSecond: 1, burst: 2 });
  for (let i = 0; i < 10; i += 1) limit.check("a");
  for (let i = 0; i < 5; i += 1) limit.count("a");
  assert.equal(
    retryOf(() => limit.check("a")),
    1,
  );
  clock.pass(10n * TENTH);
  limit.check("a"); // those beyond the burst are not held against it
});

test("time that is set back by somebody changes nothing", () => {
  const clock = new FakeClock();
  const limit = new AddressLimit({ clock, perSecond: 1, burst: 1 });
  limit.take("a");
  clock.jump(0n);
  clock.pass(10n * TENTH);
  limit.take("a");
});

test("T-B25: a bounded number of addresses is remembered, whoever came last", () => {
  const clock = new FakeClock();
  const limit = new AddressLimit({ clock, burst: 1, maxAddresses: 100 });
  limit.take("hot");
  for (let i = 0; i < 10_000; i += 1) {
    limit.take(String(i));
    limit.count("hot");
  }
  assert.equal(limit.size, 100);
  assert.notEqual(
    retryOf(() => limit.check("hot")),
    null,
  );
});
