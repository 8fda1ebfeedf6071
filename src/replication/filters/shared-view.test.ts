// The shared tree without what a filter withholds, against one that is added up anew, while others write.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import { hex } from "@holdfast/shared/bytes";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import { Tree } from "../../storage/rows/merkle.ts";
import type { Store } from "../../storage/store.ts";
import { SharedView } from "./shared-view.ts";

const SCOPES = [CORE_SCOPE, Buffer.alloc(16, 1), Buffer.alloc(16, 2)] as const;
/** The last one is withheld. */
const lets = (scope: Uint8Array) => hex(scope) !== hex(SCOPES[2]);

interface Write {
  readonly key: number;
  readonly scope: number;
  /** Null deletes. */
  readonly value: number | null;
}

const write: fc.Arbitrary<Write> = fc.record({
  key: fc.nat(40),
  scope: fc.nat(2),
  value: fc.option(fc.nat(255)),
});
const transactions = fc.array(fc.array(write, { minLength: 1, maxLength: 4 }), { maxLength: 12 });

async function commit(store: Store, writes: readonly Write[]): Promise<void> {
  await store.write((tx) => {
    for (const { key, scope, value } of writes) {
      const name = `shared/rows/${key}`;
      if (value === null) tx.delete(name, SCOPES[scope]);
      else tx.put(name, Buffer.alloc(3, value), SCOPES[scope]);
    }
  });
}

function anew(store: Store): Tree {
  const tree = new Tree("shared");
  const view = store.view();
  for (const { slot, hash, scope } of view.leaves(null, 10_000)) {
    if (slot < 65_536 && lets(scope)) tree.replace(slot, null, hash);
  }
  view.close();
  return tree;
}

test("a view is the tree of what is sent, whatever is written before it is made, meanwhile and afterwards", async () => {
  await fc.assert(
    fc.asyncProperty(transactions, transactions, transactions, async (before, during, after) => {
      const { store, world } = await madeStore();
      for (const writes of before) await commit(store, writes);
      const view = new SharedView({ store, ...world, lets });
      const writing = during.map((writes) => commit(store, writes));
      await Promise.all([view.built, ...writing]);
      for (const writes of after) await commit(store, writes);
      const expected = anew(store);
      assert.deepEqual(view.tree.root(), expected.root());
      assert.deepEqual(view.total(), expected.total());
      assert.deepEqual(view.totalAt(store.index), expected.total());
      assert.equal(view.totalAt(store.index + 1n), null);
      assert.equal(view.isLost, false);
      view.close();
    }),
    { numRuns: 60 },
  );
});

test("a view that has not heard what a leaf was before is lost, and says so", async () => {
  const { store, world } = await madeStore();
  await commit(store, [{ key: 1, scope: 1, value: 1 }]);
  const view = new SharedView({ store, ...world, lets });
  await view.built;
  await store.mend(() => {
    const reads = store.view();
    const [leaf] = reads.leaves(null, 10).filter(({ slot }) => slot < 65_536);
    reads.close();
    const { slot, key, hash, scope } = leaf!;
    return { leaves: [{ slot, key, leaf: { hash, scope } }], sums: new Map(), meta: new Map() };
  });
  assert.equal(view.isLost, true);
  view.close();
});
