// Scopes by key are those of the leaves, or not known; never those of another key.

import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock, FakeTimers } from "../../tests/support/fake-world.ts";
import { hex } from "@holdfast/shared/bytes";
import { Slices } from "./commit/slices.ts";
import type { ScopeRow } from "./engines/engine.ts";
import { ScopesByKey } from "./scopes-by-key.ts";

function leaf(slot: number, key: string, scope: number): ScopeRow {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, scope);
  return { slot, key, scope: hex(bytes) };
}

function read(rows: readonly ScopeRow[], expected = rows.length): Promise<ScopesByKey> {
  const clock = new FakeClock();
  const scopes = (after: { slot: number; key: string } | null, limit: number) => {
    const at = after === null ? 0 : rows.indexOf(after as ScopeRow) + 1;
    return rows.slice(at, at + limit);
  };
  const world = { clock, timers: new FakeTimers(clock) };
  return ScopesByKey.read({ scopes }, expected, new Slices(world));
}

const known = (scopes: ScopesByKey, key: string) => {
  const scope = scopes.of(key);
  return scope === null ? null : hex(scope);
};

test("each key has the scope of its leaf, and one without a leaf has none", async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => leaf(i % 65_536, `shared/${i}/x`, i % 700));
  const scopes = await read(rows);
  assert.ok(rows.every(({ key, scope }) => known(scopes, key) === scope));
  assert.equal(known(scopes, "shared/lost"), null);
});

test("one key in two places is not known: its own leaf decides", async () => {
  const scopes = await read([
    leaf(1, "shared/a", 1),
    leaf(1, "shared/b", 1),
    leaf(2, "shared/a", 2),
  ]);
  assert.equal(known(scopes, "shared/a"), null);
  assert.equal(known(scopes, "shared/b"), leaf(1, "", 1).scope);
});

test("more leaves and more scopes than there is room for are not known, and the others are", async () => {
  const many = Array.from({ length: 3000 }, (_, i) => leaf(i, `local/${i}`, 3));
  const few = await read(many, 0);
  const found = many.filter(({ key }) => known(few, key) !== null).length;
  assert.equal(found, Math.floor(1024 * 0.75));
  const scoped = Array.from({ length: 65_600 }, (_, i) => leaf(i, `local/${i}`, i));
  const scopes = await read(scoped);
  const right = scoped.filter(({ key, scope }) => known(scopes, key) === scope).length;
  assert.equal(right, 0xfffe);
  assert.equal(known(scopes, "local/65599"), null);
});
