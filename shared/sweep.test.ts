import assert from "node:assert/strict";
import test from "node:test";
import { fakeWorld } from "../tests/support/fake-world.ts";
import { MILLISECOND, SECOND } from "./text/duration.ts";
import type { Nanos } from "./world.ts";
import { Sweep, type Swept } from "./sweep.ts";

const LIMIT = 10n * SECOND;

/** Connections that are over ten seconds after they began. */
function swept(count: number) {
  const { clock, timers } = fakeWorld();
  const sweep = new Sweep(clock, timers);
  const looks: { readonly i: number; readonly at: Nanos }[] = [];
  const ends: Nanos[] = [];
  const add = (i: number) => {
    const since = clock.elapsed();
    const one: Swept = {
      check(now) {
        looks.push({ i, at: now });
        if (now - since <= LIMIT) return false;
        ends.push(now);
        sweep.remove(one);
        return true;
      },
    };
    sweep.add(one);
    return one;
  };
  const all = Array.from({ length: count }, (_, i) => add(i));
  return { clock, timers, sweep, looks, ends, add, all };
}

function max(times: readonly Nanos[]): number {
  const counts = Map.groupBy(times, (at) => at);
  return Math.max(...counts.values().map((some) => some.length));
}

test("a few connections are looked at twice a second, by one timer, and none without any", async () => {
  const { timers, looks, sweep, all } = swept(10);
  assert.equal(timers.armed, 1);
  await timers.advance(1600n * MILLISECOND);
  assert.equal(looks.length, 30);
  for (const one of all) sweep.remove(one);
  assert.equal(timers.armed, 0);
});

test("of thousands each is looked at once in half a second, a part of them at a time", async () => {
  const { timers, looks } = swept(5000);
  await timers.advance(4010n * MILLISECOND);
  assert.ok(max(looks.map(({ at }) => at)) <= 250);
  const own = looks.filter(({ i }) => i === 777).map(({ at }) => at);
  assert.ok(own.length >= 7 && own.length <= 9, `${own.length} looks in four seconds`);
});

test("T-N03: thousands that are over together end a few at a time, within seconds", async () => {
  for (const [count, seconds, atOnce] of [
    [2500, 1n, 64],
    [12_000, 4n, 150],
  ] as const) {
    const { timers, ends } = swept(count);
    await timers.advance(LIMIT + 500n * MILLISECOND + seconds * SECOND);
    assert.equal(ends.length, count);
    assert.ok(max(ends) <= atOnce, `${max(ends)} at once`);
    assert.ok(ends.every((at) => at > LIMIT));
  }
});

test("those that come and go meanwhile are looked at no less often", async () => {
  const { timers, sweep, looks, add, all } = swept(3000);
  for (let i = 0; i < 100; i++) {
    sweep.remove(all[i * 7]!);
    add(10_000 + i);
    await timers.advance(20n * MILLISECOND);
  }
  looks.length = 0;
  await timers.advance(1100n * MILLISECOND);
  const seen = new Set(looks.map(({ i }) => i));
  assert.equal(seen.size, 3000);
});

test("T-N03: however many come and go, those that stay are looked at in each round", async () => {
  const { clock, timers } = fakeWorld();
  const sweep = new Sweep(clock, timers);
  let ended = 0;
  for (let i = 0; i < 70; i++) {
    const since = clock.elapsed();
    const silent: Swept = {
      check: (now) => {
        if (now - since <= 10n * SECOND) return false;
        ended++;
        sweep.remove(silent);
        return true;
      },
    };
    sweep.add(silent);
  }
  const open: Swept[] = [];
  for (let passed = 0n; passed < 11_500n; passed += 10n) {
    for (let i = 0; i < 5; i++) {
      const brief = { check: () => false };
      sweep.add(brief);
      open.push(brief);
      if (open.length > 125) sweep.remove(open.shift()!);
    }
    await timers.advance(10n * MILLISECOND);
  }
  assert.equal(ended, 70);
  for (const brief of open) sweep.remove(brief);
});

/** Connections, each with requests that are over together. */
function sweptWithMany(connections: number, requests: number) {
  const { clock, timers } = fakeWorld();
  const sweep = new Sweep(clock, timers);
  const ends: { readonly i: number; readonly at: Nanos }[] = [];
  const left = Array.from({ length: connections }, () => requests);
  const maxima: number[] = [];
  for (const i of left.keys()) {
    sweep.add({
      check(now, max) {
        if (now <= LIMIT) return 0;
        maxima.push(max);
        const ended = Math.min(max, left[i] ?? 0);
        left[i]! -= ended;
        for (let n = 0; n < ended; n++) ends.push({ i, at: now });
        return ended;
      },
    });
  }
  return { timers, ends, maxima };
}

test("T-N03: requests that are over together end a few at a time, of one connection or of many", async () => {
  for (const [connections, requests, seconds] of [
    [1, 100, 1n],
    [100, 100, 5n],
    [300, 3, 1n],
  ] as const) {
    const { timers, ends, maxima } = sweptWithMany(connections, requests);
    await timers.advance(LIMIT + 500n * MILLISECOND + seconds * SECOND);
    assert.equal(ends.length, connections * requests);
    assert.ok(max(ends.map(({ at }) => at)) <= 64);
    assert.ok(maxima.every((few) => few >= 1 && few <= 8));
  }
});

test("T-N03: a connection with many of them does not keep the sweep from the others", async () => {
  const { timers, ends } = sweptWithMany(50, 20);
  await timers.advance(LIMIT + 500n * MILLISECOND + 200n * MILLISECOND);
  assert.equal(new Set(ends.map(({ i }) => i)).size, 50);
  assert.ok(ends.length < 1000, "though not all are over");
});

test("what has gone while it was looked at is not looked at again", async () => {
  const { clock, timers } = fakeWorld();
  const sweep = new Sweep(clock, timers);
  let looks = 0;
  const going: Swept = {
    check: (_now, max) => {
      looks++;
      sweep.remove(going);
      return max;
    },
  };
  const staying: Swept = { check: () => 0 };
  sweep.add(going);
  sweep.add(staying);
  await timers.advance(2n * SECOND);
  assert.equal(looks, 1);
  sweep.remove(staying);
  assert.equal(timers.armed, 0);
});
