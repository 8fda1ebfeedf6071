// When the log is copied while commits go on, when they wait for it, and when it is left for later.

import assert from "node:assert/strict";
import test from "node:test";
import { type Copier, LogCopying } from "./log-copying.ts";

const USUAL = 800;

/** A copier whose passes end when the test lets them. */
class HeldCopier implements Copier {
  passes = 0;
  #end: (found: { logPages: number; copied: number }) => void = () => {};

  copy(): Promise<{ logPages: number; copied: number }> {
    this.passes++;
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async ends(logPages: number, copied: number): Promise<void> {
    this.#end({ logPages, copied });
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }
}

test("commits go on while it is copied, and wait for the small rest alone", async () => {
  const copier = new HeldCopier();
  const copying = new LogCopying(copier, USUAL);
  assert.equal(await copying.next(800), "go on");
  assert.equal(await copying.next(1100), "go on");
  assert.equal(copier.passes, 1);
  await copier.ends(1100, 1050);
  assert.equal(await copying.next(1110), "finish");
  assert.equal(await copying.next(800), "go on", "and then from the beginning");
  assert.equal(copier.passes, 2);
});

test("where much was written meanwhile it is copied once more before anybody waits", async () => {
  const copier = new HeldCopier();
  const copying = new LogCopying(copier, USUAL);
  assert.equal(await copying.next(60_000), "go on");
  await copier.ends(60_300, 60_000);
  assert.equal(await copying.next(60_350), "go on");
  assert.equal(copier.passes, 2);
  await copier.ends(60_390, 60_300);
  assert.equal(await copying.next(60_395), "finish");
});

test("who writes faster than it is copied waits: the log is bounded", async () => {
  const copier = new HeldCopier();
  const copying = new LogCopying(copier, USUAL);
  assert.equal(await copying.next(800), "go on");
  let answer = "";
  const waiting = copying.next(1200).then((next) => (answer = next));
  await Promise.resolve();
  assert.equal(answer, "");
  for (let pass = 0; pass < 4; pass++) {
    assert.equal(copier.passes, pass + 1);
    await copier.ends(1600 + 400 * pass, 800 + 400 * pass);
  }
  await waiting;
  assert.equal(answer, "finish", "it does not run after them without end");
});

test("what a view needs is left for later", async () => {
  const copier = new HeldCopier();
  const copying = new LogCopying(copier, USUAL);
  assert.equal(await copying.next(800), "go on");
  await copier.ends(900, 100);
  await copier.ends(950, 100);
  assert.equal(await copying.next(960), "later");
  assert.equal(copier.passes, 2);
  assert.equal(await copying.next(1200), "go on");
  assert.equal(copier.passes, 3);
});

test("whoever closes waits until nothing is copied any more", async () => {
  const copier = new HeldCopier();
  const copying = new LogCopying(copier, USUAL);
  await copying.ended();
  await copying.next(800);
  let ended = false;
  const ending = copying.ended().then(() => (ended = true));
  await Promise.resolve();
  assert.equal(ended, false);
  await copier.ends(800, 800);
  await ending;
});
