import assert from "node:assert/strict";
import test from "node:test";
import type { Leaf } from "../engines/engine.ts";
import { RecentLeaves } from "./acceptance.ts";

const leaf = (n: number): Leaf => ({ hash: Buffer.alloc(32, n), scope: Buffer.alloc(16) });
const change = (key: string, value: Leaf | null) => ({ slot: 1, key, leaf: value });

test("it knows the last leaf of a key, and none of what was deleted", () => {
  const leaves = new RecentLeaves();
  leaves.accepted([change("local/a", leaf(1)), change("local/b", leaf(2))]);
  leaves.accepted([change("local/a", leaf(3))]);
  assert.deepEqual(leaves.get("local/a"), leaf(3));
  leaves.accepted([change("local/a", null)]);
  assert.equal(leaves.get("local/a"), undefined);
  assert.deepEqual(leaves.get("local/b"), leaf(2));
  leaves.clear();
  assert.equal(leaves.get("local/b"), undefined);
});

test("what was not written for the longest time goes first", () => {
  const leaves = new RecentLeaves();
  const many = Array.from({ length: 4096 }, (_, n) => change(`local/${n}`, leaf(1)));
  leaves.accepted(many);
  leaves.accepted([change("local/0", leaf(2)), change("local/more", leaf(1))]);
  assert.equal(leaves.get("local/1"), undefined);
  assert.deepEqual(leaves.get("local/0"), leaf(2));
});

test("what was taken over since is not known any more", () => {
  const leaves = new RecentLeaves();
  leaves.accepted([change("local/a", leaf(1)), change("local/b", leaf(2))]);
  leaves.forget([change("local/a", leaf(3)), change("local/c", leaf(4))]);
  assert.equal(leaves.get("local/a"), undefined);
  assert.equal(leaves.get("local/c"), undefined);
  assert.deepEqual(leaves.get("local/b"), leaf(2));
});
