import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { RuntimeStats } from "./runtime-stats.ts";

test("a reading says what the process uses, in seconds and bytes", () => {
  const reading = new RuntimeStats().read();
  assert.ok(reading.cpuUser > 0 && reading.cpuUser < 10_000);
  assert.ok(reading.residentBytes > reading.heapUsedBytes);
  assert.ok(reading.heapLimitBytes > reading.heapUsedBytes);
  assert.ok(reading.uptimeSeconds > 0);
  assert.ok(reading.loopUtilization >= 0 && reading.loopUtilization <= 1);
  assert.equal(reading.loopDelay, null);
});

test("the host is named with its size, and nothing of the environment", () => {
  const host = new RuntimeStats().host();
  assert.ok(host.cpus >= 1);
  assert.ok(host.memoryTotalBytes > host.memoryFreeBytes);
  assert.equal(host.pid, process.pid);
  assert.match(host.runtime, /^node \d+\./);
});

test("a stretch that blocks the event loop shows as delay, in the next reading only", async () => {
  const stats = new RuntimeStats();
  stats.start();
  try {
    let longest = 0;
    // The first period after a reading is not counted, and a busy machine makes any of them the first.
    while (longest < 0.1) {
      await turnsFor(60);
      const end = performance.now() + 150;
      while (performance.now() < end);
      await turnsFor(60);
      longest = stats.read().loopDelay?.max ?? 0;
    }
    assert.ok(longest < 60, String(longest));
    // Soon there is a period without it; a busy machine may hold us up for as long once more.
    do await turnsFor(60);
    while ((stats.read().loopDelay?.max ?? longest) >= longest);
  } finally {
    stats.stop();
  }
  assert.equal(stats.read().loopDelay, null);
});

/** Lets the event loop go round until so many milliseconds have passed. */
async function turnsFor(millis: number): Promise<void> {
  const end = performance.now() + millis;
  while (performance.now() < end) await nextTurn();
}

test("how much the event loop worked of late is the share of a quarter of a second, and stays for as long", async () => {
  const stats = new RuntimeStats();
  const worksFor = (millis: number) => {
    const end = performance.now() + millis;
    while (performance.now() < end);
  };
  stats.recently();
  worksFor(300);
  await nextTurn();
  const busy = stats.recently();
  assert.ok(busy > 0.5 && busy <= 1, String(busy));
  assert.equal(stats.recently(), busy);
});
