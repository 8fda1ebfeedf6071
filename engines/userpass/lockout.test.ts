import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULT_LOCKOUT } from "@holdfast/plugin-sdk/lockout";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { Lockout } from "./lockout.ts";

const config = () => DEFAULT_LOCKOUT;

test("names are remembered up to a bound, the ones used last", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config, maxNames: 10 });
  for (let i = 0; i < 100; i += 1) await lockout.attempt(`name-${i}`, async () => null);
  assert.equal(lockout.size, 10);
});

test("who gets in leaves nothing behind", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config });
  await lockout.attempt("ada", async () => null);
  await lockout.attempt("ada", async () => "in");
  assert.equal(lockout.size, 0);
});

test("a fault of ours is no failure of theirs", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config });
  for (let i = 0; i < 9; i += 1) {
    await assert.rejects(
      lockout.attempt("ada", () => Promise.reject(new Error("storage"))),
      /storage/,
    );
  }
  assert.equal(await lockout.attempt("ada", async () => "in"), "in");
});
