// What threads have done comes in the order in which it was asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countRealWork, idle } from "./real-work.ts";

test("what threads do is handed out in the order in which it was asked for, and each when the one before is done with it", async () => {
  countRealWork();
  const seen: string[] = [];
  const sizes = [8_000_000, 1, 3_000_000, 1, 500_000, 1]; // those that are asked for first take longest
  const one = async (size: number, i: number) => {
    await crypto.subtle.digest("SHA-256", new Uint8Array(size));
    seen.push(`${i} begins`);
    for (let tick = 0; tick < 20; tick++) await Promise.resolve();
    seen.push(`${i} ends`);
  };
  const all = Promise.all(sizes.map(one));
  await idle();
  assert.deepEqual(
    seen,
    sizes.flatMap((_, i) => [`${i} begins`, `${i} ends`]),
  );
  await all;
});

test("one that fails holds up nobody", async () => {
  countRealWork();
  const failed = crypto.subtle.importKey("raw", new Uint8Array(3), "AES-GCM", false, ["encrypt"]);
  const fine = crypto.subtle.digest("SHA-256", new Uint8Array(1));
  await assert.rejects(failed);
  assert.equal((await fine).byteLength, 32);
  await idle();
});
